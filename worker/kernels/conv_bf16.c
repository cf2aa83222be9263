/* Convolution in bf16; see conv_bf16.h for layouts and sum orders. */
#include "worker/kernels/conv_bf16.h"

#include "worker/kernels/bf16.h"
#include "worker/kernels/product.h"

typedef uint32_t operand;
#define DEPTH PAIRS
#define CONV_STEP pair_step
VINLINE void turn_block(uint32_t *to, const float *from) { bf16_turn_block(to, from); }
VINLINE void put_channels(uint32_t *to, vf v) { bf16_store_pairs(to, v); }
#include "worker/kernels/conv_samples.h"
#include "worker/kernels/conv_taps.h"

extern const struct product_kernels K(product_bf16_kernels);

VINLINE vf pixel_or_zero(const float *row, int column, int width)
{
    return column >= 0 && column < width ? vload(row + column * VEC) : vzero();
}
VINLINE void put_pixels(uint32_t *to, const float *row, int first, int second, int width)
{
    vistore(to, bf16_pair(pixel_or_zero(row, first, width), pixel_or_zero(row, second, width)));
}
#ifndef FLUSH_BY_THREAD /* lanes meet outside of what makes subnormals zeros */
#define TAP_PIXELS 2
#define TAP_PRODUCTS K(product_bf16_kernels)
typedef struct product tap_product;
#include "worker/kernels/conv_lanes.h"
#endif

static void conv_pack(const struct conv *c, uint32_t *packed, const float *w, int ob0, int ob1)
{
    const size_t block = conv_weight_block(c);
    const float *from = w + (size_t)ob0 * block, *end = w + (size_t)ob1 * block;
    uint32_t *to = packed + (size_t)ob0 * block / 2;

    for (; from < end; from += 2 * VEC, to += VEC)
        vistore(to, bf16_pair(vload(from), vload(from + VEC)));
}

static void pair_channels(uint32_t *map, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VEC)
        put_channels(map + i / 2, vload(x + i));
}

/* Sums of both directions. Not inlined: the caller makes subnormals zeros before this call and
 * ends that after it. */
static __attribute__((noinline)) void conv_bf16_sum_rows(const struct conv *c, const uint32_t *x,
                                                         const uint32_t *w, int ob, int n_u, int oh,
                                                         int step, float *dst, size_t dst_u)
{
    for (int i = 0; i < step; i++)
        conv_row_blocked(c, x, w, ob, n_u, oh + i, dst + (size_t)(i * c->ow) * VEC, dst_u, VEC);
}
static __attribute__((noinline)) void sum_data(const struct conv *c, float *dx, const uint32_t *dy,
                                               const uint32_t *wt, int cb)
{
    data_blocks(c, dx, dy, wt, cb);
}

static void conv_bf16_forward(const struct conv *c, float *y, uint8_t *argmax, const float *x,
                              const uint32_t *packed, const float *bias, bool relu, bool pool,
                              float *scratch)
{
    const int blocks = blocks_of(c->k), step = pool ? 2 : 1;
    const size_t dst_u = 2 * (size_t)c->ow * VEC;
    uint32_t *map = (uint32_t *)(scratch + 2 * dst_u);

    pair_channels(map, x, conv_in_floats(c));
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        int n_u = imin(TILE_U, blocks - ob);
        for (int oh = 0; oh + step <= c->oh; oh += step) {
            const unsigned before = flush_begin();
            conv_bf16_sum_rows(c, map, packed, ob, n_u, oh, step, scratch, dst_u);
            flush_end(before);
            finish_rows(c, y, argmax, scratch, dst_u, bias, relu, pool, ob, n_u, oh);
        }
    }
}

static void conv_backward_data(const struct conv *c, float *dx, const float *dy,
                               const uint32_t *packed, float *scratch)
{
    const struct conv t = conv_transposed(c);

    if (c->stride_h == 1 && c->stride_w == 1) {
        conv_bf16_forward(&t, dx, NULL, dy, packed, NULL, false, false, scratch);
        return;
    }
    pair_channels((uint32_t *)scratch, dy, conv_out_floats(c));
    for (int cb = 0; cb < blocks_of(c->c); cb += TILE_U) {
        const unsigned before = flush_begin();
        sum_data(c, dx, (const uint32_t *)scratch, packed, cb);
        flush_end(before);
    }
}

/*
 * Pairs of pixels, for the weight gradient. Those of dy are columns 2i and 2i + 1 of a row. Those
 * of x, [C/16][H][columns][16], are what the same two outputs read: column j is of the image's
 * column j * apart - pad_l and of the one a stride after it. A kernel of one column needs every
 * other output's alone.
 */
struct pixel_pairs {
    int outputs;        /* pairs of a row of dy */
    int apart, columns; /* of x */
};

static struct pixel_pairs pixel_pairs(const struct conv *c)
{
    const int outputs = (c->ow + 1) / 2;

    if (c->s == 1)
        return (struct pixel_pairs){outputs, 2 * c->stride_w, outputs};
    return (struct pixel_pairs){outputs, 1, (outputs - 1) * 2 * c->stride_w + c->s};
}

static void conv_bf16_pair_columns(const struct conv *c, const struct pixel_pairs *p, uint32_t *to,
                                   const float *x)
{
    for (int row = 0; row < blocks_of(c->c) * c->h; row++, x += c->w * VEC) {
        for (int j = 0; j < p->columns; j++, to += VEC) {
            const int first = j * p->apart - c->pad_l;
            put_pixels(to, x, first, first + c->stride_w, c->w);
        }
    }
}

static void pair_outputs(const struct conv *c, uint32_t *to, const float *dy, int blocks)
{
    for (int row = 0; row < blocks * c->oh; row++, dy += c->ow * VEC) {
        for (int ow = 0; ow < c->ow; ow += 2, to += VEC)
            put_pixels(to, dy, ow, ow + 1, c->ow);
    }
}

/* dw of kernel row r, column s, channel block cb over output rows [oh0, oh1). */
static void weights_tap(const struct conv *c, const struct pixel_pairs *pairs, float *dw,
                        const uint32_t *x, const uint32_t *dy, int n_u, int cb, int r, int s,
                        int oh0, int oh1, bool first)
{
    const struct reach v = tap_reach(c, r, s);
    const int h0 = imax(oh0, v.h0), h1 = imin(oh1, v.h1);
    struct product p = {
        .w = dy + (ptrdiff_t)(h0 * pairs->outputs) * VEC,
        .w_u = (size_t)(c->oh * pairs->outputs) * VEC,
        .w_row = (size_t)pairs->outputs * VEC,
        .w_k = VEC,
        .x_row = (size_t)(c->stride_h * pairs->columns) * VEC,
        .x_k = (size_t)(2 * c->stride_w / pairs->apart) * VEC,
        .rows = imax(0, h1 - h0),
        .k = pairs->outputs,
        .dst_u = conv_weight_block(c),
        .accumulate = !first,
    };
    const ptrdiff_t at =
        (ptrdiff_t)((cb * c->h + h0 * c->stride_h + r - c->pad_t) * pairs->columns + s) * VEC;
    float *to = dw + tap_weights(c, cb, r, s);
    const int n = block_channels(c, cb), pieces = piece_count(n, TILE_T);
    for (int i = 0; i < pieces; i++) {
        const int t0 = piece_begin(n, pieces, i), t1 = piece_begin(n, pieces, i + 1);
        p.x = x + at + t0;
        p.dst = to + t0 * VEC;
        K(product_bf16_kernels).run(&p, n_u, t1 - t0);
    }
    if (first)
        clear_padding(c, to, n_u, n);
}

static void conv_bf16_backward_weights(const struct conv *c, float *dw, const float *x,
                                       const float *dy, bool first, int ob0, int ob1,
                                       float *scratch)
{
    const struct pixel_pairs p = pixel_pairs(c);
    const int row_bytes = (TILE_U * p.outputs + c->stride_h * p.columns) * VEC * 4;
    const int pieces = piece_count(c->oh, imax(1, conv_cache_bytes() / row_bytes));
    const int blocks = blocks_of(c->c), taps = c->r * c->s;
    uint32_t *xp = (uint32_t *)scratch, *dyp = xp + (size_t)(blocks * c->h * p.columns) * VEC;

    conv_bf16_pair_columns(c, &p, xp, x);
    pair_outputs(c, dyp, dy, ob1 - ob0);
    for (int ob = ob0; ob < ob1; ob += TILE_U) {
        const uint32_t *from = dyp + (size_t)((ob - ob0) * c->oh * p.outputs) * VEC;
        for (int i = 0; i < pieces; i++) {
            for (int tap = 0; tap < blocks * taps; tap++)
                weights_tap(c, &p, dw + (size_t)ob * conv_weight_block(c), xp, from,
                            imin(TILE_U, ob1 - ob), tap / taps, tap % c->r, tap % taps / c->r,
                            piece_begin(c->oh, pieces, i), piece_begin(c->oh, pieces, i + 1),
                            first && i == 0);
        }
    }
}

extern const struct conv_bf16_kernels K(conv_bf16_kernels);
const struct conv_bf16_kernels K(conv_bf16_kernels) = {
    .pack = conv_pack,
    .pack_transposed = turn_weights,
    .forward = conv_bf16_forward,
    .backward_data = conv_backward_data,
    .backward_weights = conv_bf16_backward_weights,
    .forward_samples = conv_forward_samples,
    .backward_data_samples = conv_backward_data_samples,
#ifndef FLUSH_BY_THREAD
    .backward_weights_lanes = conv_backward_weights_lanes,
#endif
};
