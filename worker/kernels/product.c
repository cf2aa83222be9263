/* Products over a register tile; see product.h. */
#include "worker/kernels/product.h"

#include "worker/kernels/operand.h"

VINLINE void product_tile(const struct product *p, int U, int T, size_t x_t)
{
    vf acc[TILE_U][TILE_T];

    UNROLL for (int u = 0; u < U; u++)
    {
        UNROLL for (int t = 0; t < T; t++) acc[u][t] =
            p->accumulate ? vload(p->dst + (size_t)u * p->dst_u + t * VEC) : vzero();
    }
    const size_t w_u = p->w_u, w_k = p->w_k, x_k = p->x_k;
    const int n_k = p->k;
    for (int row = 0; row < p->rows; row++) {
        const operand *w = (const operand *)p->w + (size_t)row * p->w_row;
        const operand *x = (const operand *)p->x + (size_t)row * p->x_row;
        for (int k = 0; k < n_k; k++) {
            operand_step(U, 0, T, acc, w, w_u, x, x_t);
            w += w_k;
            x += x_k;
        }
    }
    UNROLL for (int u = 0; u < U; u++)
    {
        UNROLL for (int t = 0; t < T; t++)
            vstore(p->dst + (size_t)u * p->dst_u + t * VEC, acc[u][t]);
    }
}

typedef void product_fn(const struct product *p);
#define PRODUCT_FN(U, T) \
    static void product_##U##_##T(const struct product *p) { product_tile(p, U, T, 1); }
#define PRODUCT_ENTRY(U, T) product_##U##_##T,

TILE_FUNCTIONS(PRODUCT_FN)
static product_fn *const product_fns[TILE_U][TILE_T] = TILE_TABLE(PRODUCT_ENTRY);

#ifndef FLUSH_BY_THREAD
/* One tile over the lanes of a block: lane sums meet in the binary tree through a stack of tiles,
 * left + right. */
VINLINE void lanes_tile(const struct product *p, int U, int T, const struct lane_ends *lanes,
                        uint32_t pixels, float *stack)
{
    const size_t w_u = p->w_u, w_k = p->w_k, x_k = p->x_k;
    const uint32_t slots = (pixels + VALUES - 1) / VALUES, n_lanes = 1u << lanes->level;
    uint32_t begin = 0;

    for (uint32_t lane = 0; lane < n_lanes; begin = lanes->end[lane++]) {
        const operand *w = (const operand *)p->w + begin * slots * w_k;
        const operand *x = (const operand *)p->x + begin * slots * x_k;
        const uint32_t n_k = ((lanes->end[lane] - begin) * pixels + VALUES - 1) / VALUES;
        vf acc[TILE_U][TILE_T];
        UNROLL for (int i = 0; i < U * T; i++) acc[i / T][i % T] = vzero();
        for (uint32_t k = 0; k < n_k; k++, w += w_k, x += x_k)
            operand_step(U, 0, T, acc, w, w_u, x, 1);
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

typedef void lanes_fn(const struct product *p, const struct lane_ends *lanes, uint32_t pixels,
                      float *stack);
#define LANES_FN(U, T)                                                                  \
    static void lanes_##U##_##T(const struct product *p, const struct lane_ends *lanes, \
                                uint32_t pixels, float *stack)                          \
    {                                                                                   \
        lanes_tile(p, U, T, lanes, pixels, stack);                                      \
    }
#define LANES_ENTRY(U, T) lanes_##U##_##T,

TILE_FUNCTIONS(LANES_FN)
static lanes_fn *const lanes_fns[TILE_U][TILE_T] = TILE_TABLE(LANES_ENTRY);

static void product_run_lanes(const struct product *p, int n_u, int n_t,
                              const struct lane_ends *lanes, uint32_t pixels, float *stack)
{
    lanes_fns[n_u - 1][n_t - 1](p, lanes, pixels, stack);
}
#endif

#if defined(BF16)

static void product_run(const struct product *p, int n_u, int n_t)
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

#else

/* Scalars of a tile two apart: first convolutions of stride 2. */
#define APART_FN(U, T) \
    static void apart_##U##_##T(const struct product *p) { product_tile(p, U, T, 2); }
#define APART_ENTRY(U, T) apart_##U##_##T,

TILE_FUNCTIONS(APART_FN)
static product_fn *const apart_fns[TILE_U][TILE_T] = TILE_TABLE(APART_ENTRY);

/* Any distance between them. */
static void product_strided(const struct product *p, int n_u, int n_t)
{
    for (int u = 0; u < n_u; u++) {
        for (int t = 0; t < n_t; t++) {
            struct product one = *p;
            one.w = (const float *)p->w + (size_t)u * p->w_u;
            one.x = (const float *)p->x + (size_t)t * p->x_t;
            one.dst += (size_t)u * p->dst_u + (size_t)t * VEC;
            product_fns[0][0](&one);
        }
    }
}

static void product_run(const struct product *p, int n_u, int n_t)
{
    if (p->x_t == 1)
        product_fns[n_u - 1][n_t - 1](p);
    else if (p->x_t == 2)
        apart_fns[n_u - 1][n_t - 1](p);
    else
        product_strided(p, n_u, n_t);
}

#if defined(ISA_AVX512)
#define DOT_K 4
#define DOT_B 6
#elif defined(ISA_AVX2)
#define DOT_K 2
#define DOT_B 3
#else
#define DOT_K 2
#define DOT_B 2
#endif

/* Folds the sums of a tile, four at a time. */
VINLINE void dot_store(float *dst, size_t dst_b, vf acc[DOT_B][DOT_K], int BT)
{
    UNROLL for (int i = 0; i < BT * DOT_K; i += 4)
    {
        vf four[4];
        float sums[4];
        UNROLL for (int j = 0; j < 4; j++)
        {
            int at = i + j < BT * DOT_K ? i + j : i;
            four[j] = acc[at / DOT_K][at % DOT_K];
        }
        vfold4(sums, four);
        const int n = BT * DOT_K - i < 4 ? BT * DOT_K - i : 4;
        UNROLL for (int j = 0; j < n; j++)
            dst[(size_t)((i + j) / DOT_K) * dst_b + (size_t)((i + j) % DOT_K)] = sums[j];
    }
}

VINLINE void dot_tile(float *dst, size_t dst_b, const float *w, size_t w_ob, const float *y,
                      size_t y_b, int n_ob, int BT)
{
    vf acc[DOT_B][DOT_K];
    UNROLL for (int i = 0; i < BT * DOT_K; i++) acc[i / DOT_K][i % DOT_K] = vzero();
    for (int ob = 0; ob < n_ob; ob++) {
        vf wv[DOT_K];
        UNROLL for (int k = 0; k < DOT_K; k++) wv[k] = vload(w + k * VEC);
        UNROLL for (int b = 0; b < BT; b++)
        {
            vf yv = vload(y + (size_t)b * y_b);
            UNROLL for (int k = 0; k < DOT_K; k++) acc[b][k] = vfma(wv[k], yv, acc[b][k]);
        }
        w += w_ob;
        y += VEC;
    }
    dot_store(dst, dst_b, acc, BT);
}

static void product_dots(float *dst, size_t dst_b, const float *w, size_t w_tile, size_t w_ob,
                         int n_k, const float *y, size_t y_b, int n_b, int n_ob)
{
    for (int b = 0; b < n_b; b += b + DOT_B <= n_b ? DOT_B : 1) {
        const float *yb = y + (size_t)b * y_b;
        float *out = dst + (size_t)b * dst_b;
        for (int k = 0; k < n_k; k += DOT_K) {
            const float *wk = w + (size_t)(k / DOT_K) * w_tile;
            if (b + DOT_B <= n_b)
                dot_tile(out + k, dst_b, wk, w_ob, yb, y_b, n_ob, DOT_B);
            else
                dot_tile(out + k, dst_b, wk, w_ob, yb, y_b, n_ob, 1);
        }
    }
}

static void product_transpose(float *out, const float *in, size_t in_t, int n_t, int n_k)
{
    for (int k0 = 0; k0 < n_k; k0 += VEC) {
        for (int t = 0; t < n_t; t++) {
            const float *src = in + (size_t)t * in_t + k0;
            float *to = out + (size_t)k0 * VEC + t;
            for (int k = 0; k < VEC; k++)
                to[k * VEC] = src[k];
        }
    }
}

#endif

extern const struct product_kernels TABLE(product);
const struct product_kernels TABLE(product) = {
    .u = TILE_U,
    .t = TILE_T,
    .run = product_run,
#ifndef FLUSH_BY_THREAD
    .run_lanes = product_run_lanes,
#endif
#if defined(BF16)
    .pairs = product_pairs,
#else
    .dot_k = DOT_K,
    .dots = product_dots,
    .transpose = product_transpose,
#endif
};
