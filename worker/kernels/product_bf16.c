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

#ifndef FLUSH_BY_THREAD
/* One tile over the lanes of a block, as in product.c. */
VINLINE void lanes_tile(const struct product_bf16 *p, int U, int T, const uint32_t *end, int level,
                        float *stack)
{
    const size_t w_u = p->w_u, w_k = p->w_k, x_k = p->x_k;
    uint32_t begin = 0;

    for (uint32_t lane = 0; lane < 1u << level; begin = end[lane++]) {
        const uint32_t *w = p->w + begin * w_k, *x = p->x + begin * x_k;
        vf acc[TILE_U][TILE_T];
        UNROLL for (int i = 0; i < U * T; i++) acc[i / T][i % T] = vzero();
        for (uint32_t k = begin; k < end[lane]; k += 2, w += w_k, x += x_k)
            pair_step(U, 0, T, acc, w, w_u, x, 1);
        float *top = stack;
        for (uint32_t carry = lane; carry & 1; carry >>= 1, top += U * T * VEC) {
            UNROLL for (int i = 0; i < U * T; i++) acc[i / T][i % T] =
                vadd(vload(top + i * VEC), acc[i / T][i % T]);
        }
        const bool last = lane + 1 == 1u << level;
        float *to = last ? p->dst : top;
        const size_t to_u = last ? p->dst_u : (size_t)(T * VEC);
        UNROLL for (int i = 0; i < U * T; i++)
            vstore(to + (size_t)(i / T) * to_u + i % T * VEC, acc[i / T][i % T]);
    }
}
#define LANES_FN(U, T)                                                                        \
    static void lanes_##U##_##T(const struct product_bf16 *p, const uint32_t *end, int level, \
                                float *stack)                                                 \
    {                                                                                         \
        lanes_tile(p, U, T, end, level, stack);                                               \
    }
#define LANES_ENTRY(U, T) lanes_##U##_##T,

TILE_FOR_EACH(LANES_FN, 1)
#if TILE_U > 1
TILE_FOR_EACH(LANES_FN, 2)
#endif
typedef void lanes_fn(const struct product_bf16 *p, const uint32_t *end, int level, float *stack);
static lanes_fn *const lanes_fns[TILE_U][TILE_T] = {
    {TILE_FOR_EACH(LANES_ENTRY, 1)},
#if TILE_U > 1
    {TILE_FOR_EACH(LANES_ENTRY, 2)},
#endif
};

static void product_run_lanes(const struct product_bf16 *p, int n_u, int n_t, const uint32_t *end,
                              int level, float *stack)
{
    lanes_fns[n_u - 1][n_t - 1](p, end, level, stack);
}
#endif

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
#ifndef FLUSH_BY_THREAD
    .run_lanes = product_run_lanes,
#endif
    .pairs = product_pairs,
};
