/* Products of pairs over a register tile; see product_bf16.h. */
#include "worker/kernels/product_bf16.h"

#include "worker/kernels/bf16.h"

VINLINE void product_tile(const struct product_bf16 *p, int U, int T)
{
    vf acc[TILE_U][TILE_T];

    UNROLL for (int i = 0; i < U * T; i++) acc[i / T][i % T] =
        p->accumulate ? vload(p->dst + (size_t)(i / T) * p->dst_u + i % T * VEC) : vzero();
    for (int row = 0; row < p->rows; row++) {
        const uint32_t *w = p->w + (size_t)row * p->w_row, *x = p->x + (size_t)row * p->x_row;
        for (int k = 0; k < p->k; k++)
            pair_step(U, 0, T, acc, w + (size_t)k * p->w_k, p->w_u, x + (size_t)k * p->x_k, 1);
    }
    UNROLL for (int i = 0; i < U * T; i++)
        vstore(p->dst + (size_t)(i / T) * p->dst_u + i % T * VEC, acc[i / T][i % T]);
}

typedef void product_fn(const struct product_bf16 *p);
#define PRODUCT_FN(U, T) \
    static void product_##U##_##T(const struct product_bf16 *p) { product_tile(p, U, T); }
#define PRODUCT_ENTRY(U, T) product_##U##_##T,

TILE_FOR_EACH(PRODUCT_FN, 1)
#if TILE_U > 1
TILE_FOR_EACH(PRODUCT_FN, 2)
#endif
static product_fn *const product_fns[TILE_U][TILE_T] = {
    {TILE_FOR_EACH(PRODUCT_ENTRY, 1)},
#if TILE_U > 1
    {TILE_FOR_EACH(PRODUCT_ENTRY, 2)},
#endif
};

static void product_run(const struct product_bf16 *p, int n_u, int n_t)
{
    const unsigned before = flush_begin();

    product_fns[n_u - 1][n_t - 1](p);
    flush_end(before);
}

static void product_pairs(uint32_t *out, const float *first, const float *second, size_t n)
{
    for (size_t i = 0; i < n; i += VEC)
        vistore(out + i, bf16_pair(vload(first + i), second ? vload(second + i) : vzero()));
}

extern const struct product_bf16_kernels K(product_bf16_kernels);
const struct product_bf16_kernels K(product_bf16_kernels) = {
    .run = product_run,
    .pairs = product_pairs,
};
