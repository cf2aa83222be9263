// LINK: common/err.c common/text.c common/mem.c worker/data/format/npy.c
/* NumPy's files: what is accepted lies within the bytes, first to last value. */
#include <string.h>

#include "paceline/mem.h"
#include "worker/data/format/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(auto_free) float *x = NULL;
    struct npy f;
    struct err err;

    if (npy_open(&f, data, size, "fuzz", &err))
        return 0;
    const size_t n = f.n_each * f.dims[0];
    if (f.values < data || f.values + n * (size_t)f.size != data + size)
        abort();
    x = xcalloc(f.n_each, sizeof *x);
    if (f.kind == 'f' || (f.kind == 'u' && f.size == 1))
        (void)!npy_floats(&f, f.dims[0] - 1, x);
    if (f.kind != 'f' && npy_integer(&f, n - 1) < 0 && f.kind == 'u' && f.size < 8)
        abort();
    return 0;
}
