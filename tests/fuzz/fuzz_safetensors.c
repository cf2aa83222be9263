// LINK: common/err.c common/text.c common/mem.c common/buf.c common/file.c common/json.c
// LINK: worker/checkpoint/safetensors.c
/* safetensors files; every byte that a tensor claims is read. */
#include "paceline/mem.h"
#include "worker/checkpoint/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(st_close) struct st_file f;
    struct err err;
    uint64_t sum = 0, bytes = 0;

    if (st_parse(&f, data, size, "fuzz", &err))
        return 0;
    for (size_t i = 0; i < f.n; i++) {
        const struct st_tensor *t = &f.tensors[i];
        for (size_t k = 0; k < t->bytes; k++)
            sum += ((const uint8_t *)t->data)[k];
        bytes += t->bytes;
        if (!st_find(&f, t->name))
            abort();
    }
    if (bytes > size || sum > 255 * bytes)
        abort();
    return 0;
}
