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
#include "worker/kernels/conv_rows.h"

extern const struct product_kernels K(product_kernels);

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

/* The outputs, rows [h0, h1) and columns [w0, w1), whose tap (r, s) lies inside the image. */
struct reach {
    int h0, h1, w0, w1;
};

static struct reach tap_reach(const struct conv *c, int r, int s)
{
    struct reach v = {
        .h0 = imax(0, (c->pad_t - r + c->stride_h - 1) / c->stride_h),
        .h1 = imin(c->oh, (c->h - 1 + c->pad_t - r + c->stride_h) / c->stride_h),
        .w0 = imax(0, (c->pad_l - s + c->stride_w - 1) / c->stride_w),
        .w1 = imin(c->ow, (c->w - 1 + c->pad_l - s + c->stride_w) / c->stride_w),
    };
    v.h1 = imax(v.h0, v.h1);
    v.w1 = imax(v.w0, v.w1);
    return v;
}

/* Where in a block of x that tap of output (oh, ow) is. */
static ptrdiff_t tap_at(const struct conv *c, int r, int s, int oh, int ow)
{
    const int ih = oh * c->stride_h + r - c->pad_t, iw = ow * c->stride_w + s - c->pad_l;
    return (ptrdiff_t)(ih * c->w + iw) * VEC;
}

/* Where in a block of outputs the weights of a tap of channel block cb are. */
static size_t tap_weights(const struct conv *c, int cb, int r, int s)
{
    return (size_t)((s * blocks_of(c->c) + cb) * c->r + r) * VEC * VEC;
}

/* Channels of block cb that are there. */
static int block_channels(const struct conv *c, int cb) { return imin(VEC, c->c - cb * VEC); }

/* The weights' gradients of the padding behind them, of n_u blocks of outputs. */
static void clear_padding(const struct conv *c, float *dw, int n_u, int channels)
{
    for (int u = 0; u < n_u; u++)
        memset(dw + (size_t)u * conv_weight_block(c) + channels * VEC, 0,
               sizeof(float) * (size_t)((VEC - channels) * VEC));
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
    const float *at = x + (ptrdiff_t)(cb * c->h * c->w) * VEC + tap_at(c, r, s, h0, v.w0);
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

/*
 * Maps of few pixels give a weight few products a sample, less than loading and storing its sum
 * costs. Tap by tap this is a dense layer's gradient: the pixels that meet the tap, of all samples,
 * one behind another, and the lanes' tree in registers.
 */
struct lanes_work {
    const struct conv *c;
    const float *x, *dy; /* the block's first sample */
    const struct lane_ends *lanes;
    int samples;
    uint32_t *end; /* in pixels that meet the tap */
    float *xp, *dyp, *stack;
};

/* Those pixels of one block of a map, as vectors `apart` floats from each other: output (oh, ow)'s
 * is at from + oh*row + ow*column of the sample. */
static void pack_pixels(const struct lanes_work *k, const struct reach *v, float *to, size_t apart,
                        const float *from, size_t sample, size_t row, size_t column)
{
    for (int i = 0; i < k->samples; i++, from += sample) {
        for (int h = v->h0; h < v->h1; h++) {
            for (int w = v->w0; w < v->w1; w++, to += apart)
                vstore(to, vload(from + (size_t)(h - v->h0) * row + (size_t)(w - v->w0) * column));
        }
    }
}

static void lanes_product(const struct lanes_work *k, const float *dyp, int n_u, int n, float *dw)
{
    struct product p = {
        .w = dyp,
        .w_u = VEC,
        .w_k = (size_t)n_u * VEC,
        .x_k = VEC,
        .x_t = 1,
        .rows = 1,
        .dst_u = conv_weight_block(k->c),
    };
    const int pieces = piece_count(n, TILE_T);
    for (int i = 0; i < pieces; i++) {
        const int t0 = piece_begin(n, pieces, i), t1 = piece_begin(n, pieces, i + 1);
        p.x = k->xp + t0;
        p.dst = dw + t0 * VEC;
        K(product_kernels).run_lanes(&p, n_u, t1 - t0, k->end, k->lanes->level, k->stack);
    }
    clear_padding(k->c, dw, n_u, n);
}

static void lanes_tap(const struct lanes_work *k, float *dw, int ob0, int ob1, int r, int s)
{
    const struct conv *c = k->c;
    const struct reach v = tap_reach(c, r, s);
    const int pixels = (v.h1 - v.h0) * (v.w1 - v.w0);
    const size_t block = (size_t)(k->samples * pixels) * VEC;
    const size_t dy_row = (size_t)c->ow * VEC, x_block = (size_t)(c->h * c->w) * VEC;

    for (int i = 0; i < 1 << k->lanes->level; i++)
        k->end[i] = k->lanes->end[i] * (uint32_t)pixels;
    for (int ob = ob0; ob < ob1; ob++) {
        const int pair = (ob - ob0) / TILE_U * TILE_U, n_u = imin(TILE_U, ob1 - ob0 - pair);
        pack_pixels(k, &v, k->dyp + (size_t)pair * block + (size_t)(ob - ob0 - pair) * VEC,
                    (size_t)n_u * VEC,
                    k->dy + (size_t)(ob * c->oh + v.h0) * dy_row + (size_t)v.w0 * VEC,
                    conv_out_floats(c), dy_row, VEC);
    }
    for (int cb = 0; cb < blocks_of(c->c); cb++) {
        pack_pixels(k, &v, k->xp, VEC, k->x + (size_t)cb * x_block + tap_at(c, r, s, v.h0, v.w0),
                    conv_in_floats(c), (size_t)(c->stride_h * c->w) * VEC,
                    (size_t)c->stride_w * VEC);
        for (int ob = ob0; ob < ob1; ob += TILE_U)
            lanes_product(k, k->dyp + (size_t)(ob - ob0) * block, imin(TILE_U, ob1 - ob),
                          block_channels(c, cb),
                          dw + (size_t)ob * conv_weight_block(c) + tap_weights(c, cb, r, s));
    }
}

static void conv_backward_weights_lanes(const struct conv *c, float *dw, const float *x,
                                        const float *dy, const struct lane_ends *lanes, int ob0,
                                        int ob1, float *scratch)
{
    const int samples = (int)lanes->end[(1U << lanes->level) - 1];
    const size_t steps = (size_t)(samples * c->oh * c->ow);
    struct lanes_work k = {
        .c = c,
        .x = x + lanes->begin * conv_in_floats(c),
        .dy = dy + lanes->begin * conv_out_floats(c),
        .lanes = lanes,
        .samples = samples,
        .xp = scratch,
        .dyp = scratch + steps * VEC,
    };
    k.stack = k.dyp + (size_t)(ob1 - ob0) * steps * VEC;
    k.end = (uint32_t *)(k.stack + (size_t)lanes->level * TILE_U * TILE_T * VEC);
    for (int tap = 0; tap < c->r * c->s; tap++)
        lanes_tap(&k, dw, ob0, ob1, tap % c->r, tap / c->r);
}

/* One output pixel's work, of n samples side by side. */
struct samples_work {
    const float *x, *w; /* of the first valid tap */
    int n;
    int rows, columns; /* valid taps */
    size_t dst_u, dst_t;
};

/* The sums of one output pixel for T samples that lie side by side: no tap of it is padding. */
VINLINE void samples_tile(const struct conv *c, int U, int T, const struct samples_work *work,
                          int t0, float *dst)
{
    vf acc[TILE_U][TILE_T];
    struct conv g = *c;
    g.stride_w = 1;
    g.w *= work->n;
    const size_t w_s = (size_t)blocks_of(g.c) * (size_t)g.r * VEC * VEC;

    UNROLL for (int u = 0; u < U; u++) { UNROLL for (int t = 0; t < T; t++) acc[u][t] = vzero(); }
    for (int s = 0; s < work->columns; s++)
        conv_column(&g, U, T, 0, 0, acc, work->w + (size_t)s * w_s, conv_weight_block(&g),
                    work->x + (size_t)(s * work->n + t0) * VEC, work->rows);
    UNROLL for (int u = 0; u < U; u++)
    {
        UNROLL for (int t = 0; t < T; t++)
            vstore(dst + (size_t)u * work->dst_u + (size_t)t * work->dst_t, acc[u][t]);
    }
}

typedef void samples_fn(const struct conv *c, const struct samples_work *work, int t0, float *dst);
#define SAMPLES_FN(U, T)                                                                         \
    static void samples_##U##_##T(const struct conv *c, const struct samples_work *work, int t0, \
                                  float *dst)                                                    \
    {                                                                                            \
        samples_tile(c, U, T, work, t0, dst);                                                    \
    }
#define SAMPLES_ENTRY(U, T) samples_##U##_##T,

TILE_FOR_EACH(SAMPLES_FN, 1)
#if TILE_U > 1
TILE_FOR_EACH(SAMPLES_FN, 2)
#endif
static samples_fn *const samples_fns[TILE_U][TILE_T] = {
    {TILE_FOR_EACH(SAMPLES_ENTRY, 1)},
#if TILE_U > 1
    {TILE_FOR_EACH(SAMPLES_ENTRY, 2)},
#endif
};

/* [C/16][H][W][n][16] of n samples [C/16][H][W][16], one behind another. */
static void samples_beside(const struct conv *c, int n, float *to, const float *x)
{
    const size_t floats = conv_in_floats(c);
    for (size_t i = 0; i < floats; i += VEC) {
        for (int t = 0; t < n; t++)
            vstore(to + i * (size_t)n + (size_t)t * VEC, vload(x + (size_t)t * floats + i));
    }
}

/* The raw sums of pixel (oh, ow), blocks ob .. ob+n_u, of all samples: to dst[u*dst_u + t*dst_t].
 */
static void samples_pixel(const struct conv *c, int n, const float *x, const float *w, int ob,
                          int n_u, int oh, int ow, float *dst, size_t dst_u, size_t dst_t)
{
    const int ih0 = oh * c->stride_h - c->pad_t, iw0 = ow * c->stride_w - c->pad_l;
    const int r0 = imax(0, -ih0), r1 = imin(c->r, c->h - ih0);
    const int s0 = imax(0, -iw0), s1 = imin(c->s, c->w - iw0);
    const struct samples_work work = {
        .x = x + ((ptrdiff_t)(ih0 + r0) * c->w + iw0 + s0) * n * VEC,
        .w = w + (size_t)ob * conv_weight_block(c) +
             (size_t)((s0 * blocks_of(c->c)) * c->r + r0) * VEC * VEC,
        .n = n,
        .rows = imax(0, r1 - r0),
        .columns = imax(0, s1 - s0),
        .dst_u = dst_u,
        .dst_t = dst_t,
    };
    const int pieces = piece_count(n, TILE_T);
    for (int i = 0; i < pieces; i++) {
        int t0 = piece_begin(n, pieces, i), t1 = piece_begin(n, pieces, i + 1);
        samples_fns[n_u - 1][t1 - t0 - 1](c, &work, t0, dst + (size_t)t0 * dst_t);
    }
}

static void conv_forward_samples(const struct conv *c, int n, float *y, const float *x,
                                 const float *w, const float *bias, bool relu, float *scratch)
{
    const int blocks = blocks_of(c->k), pixels = c->oh * c->ow;
    const size_t out = conv_out_floats(c);

    samples_beside(c, n, scratch, x);
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        int n_u = imin(TILE_U, blocks - ob);
        for (int i = 0; i < pixels; i++)
            samples_pixel(c, n, scratch, w, ob, n_u, i / c->ow, i % c->ow,
                          y + (size_t)(ob * pixels + i) * VEC, (size_t)pixels * VEC, out);
        for (int i = 0; i < n_u * n; i++) {
            float *to = y + (size_t)(i / n_u) * out + (size_t)((ob + i % n_u) * pixels) * VEC;
            vf b = bias ? vload(bias + (ob + i % n_u) * VEC) : vzero();
            finish_row(to, to, pixels, b, relu);
        }
    }
}

static void conv_backward_data_samples(const struct conv *c, int n, float *dx, const float *dy,
                                       const float *wt, float *scratch)
{
    const struct conv back = conv_transposed(c);
    const int blocks = blocks_of(c->c), pixels = c->h * c->w;

    samples_beside(&back, n, scratch, dy);
    for (int cb = 0; cb < blocks; cb += TILE_U) {
        for (int i = 0; i < pixels; i++) {
            int ih = i / c->w, iw = i % c->w;
            size_t at;
            struct conv phase = conv_phase(c, ih % c->stride_h, iw % c->stride_w, &at);
            samples_pixel(&phase, n, scratch, wt + at, cb, imin(TILE_U, blocks - cb),
                          ih / c->stride_h, iw / c->stride_w, dx + (size_t)(cb * pixels + i) * VEC,
                          (size_t)pixels * VEC, conv_in_floats(c));
        }
    }
    if (c->stride_h == 1 && c->stride_w == 1) /* forward adds +0 where there is no bias */
        finish_row(dx, dx, (int)(conv_in_floats(c) / VEC) * n, vzero(), false);
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
