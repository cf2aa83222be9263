// LINK: common/err.c common/text.c common/mem.c worker/data/format/idx.c
/* IDX files, plain and gzip. The first byte chooses the number of dimensions. */
#include "paceline/mem.h"
#include "worker/data/format/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(auto_free) uint8_t *out = NULL;
    struct idx_file f;
    struct err err;

    if (!size || idx_open(&f, data + 1, size - 1, "fuzz", data[0] % IDX_MAX_DIMS + 1, &err))
        return 0;
    out = xmalloc(f.header + f.payload);
    if (idx_unpack(&f, out, &err))
        return 0;
    if (f.gzip && out[2] != 8) /* what was inflated is what was peeked at */
        abort();
    return 0;
}
