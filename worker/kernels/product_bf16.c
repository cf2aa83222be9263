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
VINLINE void lanes_tile(const struct product_bf16 *p, int U, int T, const struct lane_ends *lanes,
                        uint32_t pixels, float *stack)
{
    const size_t w_u = p->w_u, w_k = p->w_k, x_k = p->x_k;
    const uint32_t slots = (pixels + 1) / 2, n_lanes = 1u << lanes->level;
    uint32_t begin = 0;

    for (uint32_t lane = 0; lane < n_lanes; begin = lanes->end[lane++]) {
        const uint32_t *w = p->w + begin * slots * w_k, *x = p->x + begin * slots * x_k;
        const uint32_t pairs = ((lanes->end[lane] - begin) * pixels + 1) / 2;
        vf acc[TILE_U][TILE_T];
        UNROLL for (int i = 0; i < U * T; i++) acc[i / T][i % T] = vzero();
        for (uint32_t k = 0; k < pairs; k++, w += w_k, x += x_k)
            pair_step(U, 0, T, acc, w, w_u, x, 1);
        float *top = stack;
        for (uint32_t carry = lane; carry & 1; carry >>= 1, top += U * T * VEC) {
            UNROLL for (int i = 0; i < U * T; i++) acc[i / T][i % T] =
                vadd(vload(top + i * VEC), acc[i / T][i % T]);
        }
        const bool last = lane + 1 == n_lanes;
        float *to = last ? p->dst : top;
        const size_t to_u = last ? p->dst_u : (size_t)(T * VEC);
        UNROLL for (int i = 0; i < U * T; i++)
            vstore(to + (size_t)(i / T) * to_u + i % T * VEC, acc[i / T][i % T]);
    }
}
#define LANES_FN(U, T)                                                                       \
    static void lanes_##U##_##T(const struct product_bf16 *p, const struct lane_ends *lanes, \
                                uint32_t pixels, float *stack)                               \
    {                                                                                        \
        lanes_tile(p, U, T, lanes, pixels, stack);                                           \
    }
#define LANES_ENTRY(U, T) lanes_##U##_##T,

TILE_FUNCTIONS(LANES_FN)
typedef void lanes_fn(const struct product_bf16 *p, const struct lane_ends *lanes, uint32_t pixels,
                      float *stack);
static lanes_fn *const lanes_fns[TILE_U][TILE_T] = TILE_TABLE(LANES_ENTRY);

static void product_bf16_run_lanes(const struct product_bf16 *p, int n_u, int n_t,
                                   const struct lane_ends *lanes, uint32_t pixels, float *stack)
{
    lanes_fns[n_u - 1][n_t - 1](p, lanes, pixels, stack);
}
#endif

typedef void product_fn(const struct product_bf16 *p);
#define PRODUCT_FN(U, T) \
    static void product_##U##_##T(const struct product_bf16 *p) { product_tile(p, U, T); }
#define PRODUCT_ENTRY(U, T) product_##U##_##T,

TILE_FUNCTIONS(PRODUCT_FN)
static product_fn *const product_fns[TILE_U][TILE_T] = TILE_TABLE(PRODUCT_ENTRY);

static void product_bf16_run(const struct product_bf16 *p, int n_u, int n_t)
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
    .run = product_bf16_run,
#ifndef FLUSH_BY_THREAD
    .run_lanes = product_bf16_run_lanes,
#endif
    .pairs = product_pairs,
};
