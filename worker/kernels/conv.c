/* Direct convolution; see conv.h for layouts and sum orders. */
#include "worker/kernels/conv.h"

#include "worker/kernels/microtile.h"
#include "worker/kernels/product.h"

typedef float operand;
#define DEPTH VEC
#define CONV_STEP tile_step
VINLINE void turn_block(float *to, const float *from)
{
    vi rows[VEC];

    UNROLL for (int i = 0; i < VEC; i++) rows[i] = vfbits(vload(from + i * VEC));
    vtranspose(rows, VEC);
    UNROLL for (int i = 0; i < VEC; i++) vstore(to + i * VEC, vbits(rows[i]));
}
VINLINE void put_channels(float *to, vf v) { vstore(to, v); }
VINLINE unsigned flush_begin(void) { return 0; } /* subnormals stay */
VINLINE void flush_end(unsigned before) { (void)before; }
#include "worker/kernels/conv_samples.h"

extern const struct product_kernels K(product_kernels);

#define TAP_PIXELS 1
#define TAP_PRODUCTS K(product_kernels)
typedef struct product tap_product;
VINLINE void put_pixels(float *to, const float *row, int first, int second, int width)
{
    (void)second, (void)width; /* a tap's reach is inside */
    vstore(to, vload(row + first * VEC));
}
#include "worker/kernels/conv_lanes.h"

/* Plain input: xe is the image extended by zeros, [C][eh][ew]. */
static void conv_row_plain(const struct conv *c, const float *xe, int eh, int ew, const float *w,
                           int ob, int n_u, int oh, float *dst, size_t dst_u)
{
    int pieces = piece_count(c->ow, TILE_T);
    for (int i = 0; i < pieces; i++) {
        int t0 = piece_begin(c->ow, pieces, i), t1 = piece_begin(c->ow, pieces, i + 1);
        struct product p = {
            .w_u = conv_weight_block(c),
            .w_row = (size_t)c->s * VEC,
            .w_k = VEC,
            .x_row = (size_t)ew,
            .x_k = 1,
            .x_t = (size_t)c->stride_w,
            .rows = c->r,
            .k = c->s,
            .dst = dst + (size_t)t0 * VEC,
            .dst_u = dst_u,
        };
        for (int ch = 0; ch < c->c; ch++) {
            p.w = w + (size_t)ob * p.w_u + (size_t)(ch * c->r * c->s) * VEC;
            p.x = xe + ((size_t)ch * (size_t)eh + (size_t)(oh * c->stride_h)) * (size_t)ew +
                  (size_t)(t0 * c->stride_w);
            p.accumulate = ch > 0;
            K(product_kernels).run(&p, n_u, t1 - t0);
        }
    }
}

static int extended_height(const struct conv *c) { return (c->oh - 1) * c->stride_h + c->r; }
static int extended_width(const struct conv *c) { return (c->ow - 1) * c->stride_w + c->s; }

static void extend_image(const struct conv *c, float *xe, const float *x)
{
    int eh = extended_height(c), ew = extended_width(c);
    int n = imin(c->w, ew - c->pad_l);
    memset(xe, 0, sizeof(float) * (size_t)(c->c * eh * ew));
    for (int ch = 0; ch < c->c; ch++) {
        for (int h = 0; h < imin(c->h, eh - c->pad_t); h++)
            memcpy(xe + ((ch * eh + h + c->pad_t) * ew + c->pad_l), x + (ch * c->h + h) * c->w,
                   sizeof(float) * (size_t)n);
    }
}

/* Sums of `step` output rows from oh, for blocks ob .. ob+n_u: dst[u*dst_u + row*ow*16]. */
static void conv_rows(const struct conv *c, const float *x, const float *w, int ob, int n_u, int oh,
                      int step, float *dst, size_t dst_u)
{
    for (int i = 0; i < step; i++) {
        float *to = dst + (size_t)(i * c->ow) * VEC;
        if (c->plain)
            conv_row_plain(c, x, extended_height(c), extended_width(c), w, ob, n_u, oh + i, to,
                           dst_u);
        else
            conv_row_blocked(c, x, w, ob, n_u, oh + i, to, dst_u, VEC);
    }
}

/* The pixels that a 1x1 convolution reads, without those between them. */
static void gather_pixels(const struct conv *c, float *to, const float *x)
{
    for (int row = 0; row < blocks_of(c->c) * c->oh; row++) {
        const int ih = row / c->oh * c->h + row % c->oh * c->stride_h;
        const float *from = x + (size_t)(ih * c->w) * VEC;
        for (int ow = 0; ow < c->ow; ow++, to += VEC)
            vstore(to, vload(from + (size_t)(ow * c->stride_w) * VEC));
    }
}

static void conv_forward(const struct conv *shape, float *y, uint8_t *argmax, const float *x,
                         const float *w, const float *bias, bool relu, bool pool, float *scratch)
{
    const struct conv joined = pool ? *shape : conv_joined(shape), *c = &joined;
    const int blocks = blocks_of(c->k), step = pool ? 2 : 1;
    const size_t dst_u = 2 * (size_t)c->ow * VEC;
    float *map = scratch + 2 * dst_u;

    if (c->plain) {
        extend_image(c, map, x);
        x = map;
    } else if (c->stride_w != shape->stride_w || c->stride_h != shape->stride_h) {
        gather_pixels(shape, map, x);
        x = map;
    }
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        int n_u = imin(TILE_U, blocks - ob);
        for (int oh = 0; oh + step <= c->oh; oh += step) {
            conv_rows(c, x, w, ob, n_u, oh, step, scratch, dst_u);
            finish_rows(c, y, argmax, scratch, dst_u, bias, relu, pool, ob, n_u, oh);
        }
    }
}

/* dw of kernel row r, column s, channel block cb over output rows [oh0, oh1). */
static void weights_blocked_tap(const struct conv *c, float *dw, const float *x, const float *dy,
                                int n_u, int cb, int r, int s, int oh0, int oh1, bool first)
{
    const struct reach v = tap_reach(c, r, s);
    const int h0 = imax(oh0, v.h0), h1 = imin(oh1, v.h1);
    struct product p = {
        .w = dy + (ptrdiff_t)(h0 * c->ow + v.w0) * VEC,
        .w_u = (size_t)(c->oh * c->ow) * VEC,
        .w_row = (size_t)c->ow * VEC,
        .w_k = VEC,
        .x_row = (size_t)(c->stride_h * c->w) * VEC,
        .x_k = (size_t)c->stride_w * VEC,
        .x_t = 1,
        .rows = imax(0, h1 - h0),
        .k = v.w1 - v.w0,
        .dst_u = conv_weight_block(c),
        .accumulate = !first,
    };
    const int ih = h0 * c->stride_h + r - c->pad_t, iw = v.w0 * c->stride_w + s - c->pad_l;
    const float *at = x + (ptrdiff_t)((cb * c->h + ih) * c->w + iw) * VEC;
    float *to = dw + tap_weights(c, cb, r, s);
    const int n = block_channels(c, cb), pieces = piece_count(n, TILE_T);
    for (int i = 0; i < pieces; i++) {
        int t0 = piece_begin(n, pieces, i), t1 = piece_begin(n, pieces, i + 1);
        p.x = at + t0;
        p.dst = to + t0 * VEC;
        K(product_kernels).run(&p, n_u, t1 - t0);
    }
    if (first)
        clear_padding(c, to, n_u, n);
}

static void weights_blocked(const struct conv *c, float *dw, const float *x, const float *dy,
                            int n_u, int oh0, int oh1, bool first)
{
    for (int cb = 0; cb < blocks_of(c->c); cb++) {
        for (int s = 0; s < c->s; s++) {
            for (int r = 0; r < c->r; r++)
                weights_blocked_tap(c, dw, x, dy, n_u, cb, r, s, oh0, oh1, first);
        }
    }
}

static void weights_plain(const struct conv *c, float *dw, const float *xe, const float *dy,
                          int n_u, bool first)
{
    const int eh = extended_height(c), ew = extended_width(c);
    struct product p = {
        .w = dy,
        .w_u = (size_t)(c->oh * c->ow) * VEC,
        .w_row = (size_t)c->ow * VEC,
        .w_k = VEC,
        .x_row = (size_t)(c->stride_h * ew),
        .x_k = (size_t)c->stride_w,
        .x_t = 1,
        .rows = c->oh,
        .k = c->ow,
        .dst_u = conv_weight_block(c),
        .accumulate = !first,
    };
    int pieces = piece_count(c->s, TILE_T);
    for (int row = 0; row < c->c * c->r; row++) {
        for (int i = 0; i < pieces; i++) {
            int t0 = piece_begin(c->s, pieces, i), t1 = piece_begin(c->s, pieces, i + 1);
            p.x = xe + (size_t)((row / c->r) * eh + row % c->r) * (size_t)ew + t0;
            p.dst = dw + (size_t)(row * c->s + t0) * VEC;
            K(product_kernels).run(&p, n_u, t1 - t0);
        }
    }
}

static void conv_backward_weights(const struct conv *c, float *dw, const float *x, const float *dy,
                                  bool first, int ob0, int ob1, float *scratch)
{
    const size_t dy_block = (size_t)(c->oh * c->ow) * VEC;
    const int row_bytes = (TILE_U * c->ow + c->stride_h * c->w) * VEC * (int)sizeof(float);
    const int pieces = piece_count(c->oh, imax(1, conv_cache_bytes() / row_bytes));

    if (c->plain)
        extend_image(c, scratch, x);
    for (int ob = ob0; ob < ob1; ob += TILE_U) {
        int n_u = imin(TILE_U, ob1 - ob);
        float *to = dw + (size_t)ob * conv_weight_block(c);
        const float *from = dy + (size_t)(ob - ob0) * dy_block;
        if (c->plain) {
            weights_plain(c, to, scratch, from, n_u, first);
            continue;
        }
        for (int i = 0; i < pieces; i++)
            weights_blocked(c, to, x, from, n_u, piece_begin(c->oh, pieces, i),
                            piece_begin(c->oh, pieces, i + 1), first && i == 0);
    }
}

static void conv_backward_data_strided(const struct conv *c, float *dx, const float *dy,
                                       const float *wt)
{
    for (int cb = 0; cb < blocks_of(c->c); cb += TILE_U)
        data_blocks(c, dx, dy, wt, cb);
}

extern const struct conv_kernels K(conv_kernels);
const struct conv_kernels K(conv_kernels) = {
    .forward = conv_forward,
    .backward_weights = conv_backward_weights,
    .backward_weights_lanes = conv_backward_weights_lanes,
    .backward_data_strided = conv_backward_data_strided,
    .forward_samples = conv_forward_samples,
    .backward_data_samples = conv_backward_data_samples,
    .transpose_weights = turn_weights,
};
