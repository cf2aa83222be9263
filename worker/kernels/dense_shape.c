/* Scratch sizes of dense layers; no arithmetic. The widest tile of any ISA is assumed. */
#include "worker/kernels/dense.h"

#define TILE_FLOATS (2 * 14 * 16)
#define STACK_FLOATS (TILE_FLOATS * 12)

size_t dense_sums_floats(const struct dense *d, int n)
{
    const int outputs = d->out < DENSE_GROUP * 16 ? d->out : DENSE_GROUP * 16;

    return (size_t)n * (size_t)(d->in <= DENSE_PACKED ? 2 * 16 : outputs);
}

size_t dense_forward_scratch(const struct dense *d, int n)
{
    /* the narrowest tile has 4 samples: n/4 + 1 packed tiles by 16 */
    return dense_sums_floats(d, n) + (size_t)(n / 4 + 1) * DENSE_PACKED * 16;
}

size_t dense_backward_scratch(const struct dense *d, int n)
{
    size_t gather = (size_t)DENSE_CHUNK * (size_t)d->out;
    size_t rows = (size_t)n * DENSE_CHUNK + STACK_FLOATS;
    return gather > rows ? gather : rows;
}

size_t dense_bf16_scratch_floats(const struct dense *d, int n)
{
    const size_t data = TILE_FLOATS + DENSE_CHUNK * (size_t)d->out / 2;
    const size_t weights = (size_t)n * DENSE_CHUNK + STACK_FLOATS;

    return data > weights ? data : weights;
}
