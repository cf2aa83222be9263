/* Direct convolution; see conv.h for layouts and sum orders. */
#include "worker/kernels/conv.h"

#include "worker/kernels/conv_samples.h"
#include "worker/kernels/conv_taps.h"
#include "worker/kernels/product.h"

extern const struct product_kernels TABLE(product);

#ifndef FLUSH_BY_THREAD /* else lanes would meet inside of what makes subnormals zeros */
#include "worker/kernels/conv_lanes.h"
#endif

#if defined(BF16)

static void conv_pack(const struct conv *c, void *packed, const float *w, int ob0, int ob1)
{
    const size_t block = conv_weight_block(c);
    const float *from = w + (size_t)ob0 * block, *end = w + (size_t)ob1 * block;
    uint32_t *to = (uint32_t *)packed + (size_t)ob0 * block / 2;

    for (; from < end; from += 2 * VEC, to += VEC)
        vistore(to, bf16_pair(vload(from), vload(from + VEC)));
}

/* A map of n floats as operands. */
static const operand *operand_map(operand *to, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VEC)
        operand_channels(to + i / 2, vload(x + i));
    return to;
}

static const operand *conv_input(const struct conv *c, operand *to, const float *x)
{
    return operand_map(to, x, conv_in_floats(c));
}

static void conv_row(const struct conv *c, const operand *x, const operand *w, int ob, int n_u,
                     int oh, float *dst, size_t dst_u)
{
    conv_row_blocked(c, x, w, ob, n_u, oh, dst, dst_u, VEC);
}

#else

static const operand *operand_map(operand *to, const float *x, size_t n)
{
    (void)to, (void)n;
    return x;
}

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
            TABLE(product).run(&p, n_u, t1 - t0);
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

static const operand *conv_input(const struct conv *c, operand *to, const float *x)
{
    if (!c->plain)
        return x;
    extend_image(c, to, x);
    return to;
}

static void conv_row(const struct conv *c, const operand *x, const operand *w, int ob, int n_u,
                     int oh, float *dst, size_t dst_u)
{
    if (c->plain)
        conv_row_plain(c, x, extended_height(c), extended_width(c), w, ob, n_u, oh, dst, dst_u);
    else
        conv_row_blocked(c, x, w, ob, n_u, oh, dst, dst_u, VEC);
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
            TABLE(product).run(&p, n_u, t1 - t0);
        }
    }
}

#endif

/* Sums of `step` output rows from oh, for blocks ob .. ob+n_u: dst[u*dst_u + row*ow*16]. */
static __attribute__((noinline)) void conv_rows(const struct conv *c, const operand *x,
                                                const operand *w, int ob, int n_u, int oh, int step,
                                                float *dst, size_t dst_u)
{
    for (int i = 0; i < step; i++)
        conv_row(c, x, w, ob, n_u, oh + i, dst + (size_t)(i * c->ow) * VEC, dst_u);
}
static __attribute__((noinline)) void conv_data(const struct conv *c, float *dx, const operand *dy,
                                                const operand *wt, int cb)
{
    data_blocks(c, dx, dy, wt, cb);
}

/* The pixels that a 1x1 convolution reads, without those between them. */
static void gather_pixels(const struct conv *c, operand *to, const float *x)
{
    for (int row = 0; row < blocks_of(c->c) * c->oh; row++) {
        const int ih = row / c->oh * c->h + row % c->oh * c->stride_h;
        const float *from = x + (size_t)(ih * c->w) * VEC;
        for (int ow = 0; ow < c->ow; ow++, to += DEPTH)
            operand_channels(to, vload(from + (size_t)(ow * c->stride_w) * VEC));
    }
}

static void conv_forward(const struct conv *shape, float *y, uint8_t *argmax, const float *x,
                         const void *w, const float *bias, bool relu, bool pool, float *scratch)
{
    const struct conv joined = pool ? *shape : conv_joined(shape), *c = &joined;
    const int blocks = blocks_of(c->k), step = pool ? 2 : 1;
    const size_t dst_u = 2 * (size_t)c->ow * VEC;
    operand *room = (operand *)(scratch + 2 * dst_u);
    const operand *map = room;

    if (c->stride_w != shape->stride_w || c->stride_h != shape->stride_h)
        gather_pixels(shape, room, x);
    else
        map = conv_input(c, room, x);
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        int n_u = imin(TILE_U, blocks - ob);
        for (int oh = 0; oh + step <= c->oh; oh += step) {
            const unsigned before = flush_begin();
            conv_rows(c, map, w, ob, n_u, oh, step, scratch, dst_u);
            flush_end(before);
            finish_rows(c, y, argmax, scratch, dst_u, bias, relu, pool, ob, n_u, oh);
        }
    }
}

static void conv_backward_data(const struct conv *c, float *dx, const float *dy, const void *wt,
                               float *scratch)
{
    const struct conv t = conv_transposed(c);

    if (c->stride_h == 1 && c->stride_w == 1) {
        conv_forward(&t, dx, NULL, dy, wt, NULL, false, false, scratch);
        return;
    }
    const operand *map = operand_map((operand *)scratch, dy, conv_out_floats(c));
    for (int cb = 0; cb < blocks_of(c->c); cb += TILE_U) {
        const unsigned before = flush_begin();
        conv_data(c, dx, map, wt, cb);
        flush_end(before);
    }
}

/* dw of kernel row r, column s, channel block cb over output rows [oh0, oh1). */
static void weights_tap(const struct conv *c, const struct tap_maps *m, float *dw,
                        const operand *dy, int n_u, int cb, int r, int s, int oh0, int oh1,
                        bool first)
{
    const struct reach v = tap_outputs(c, r, s);
    const int h0 = imax(oh0, v.h0), h1 = imin(oh1, v.h1);
    struct product p = {
        .w = dy + (ptrdiff_t)(h0 * m->outputs + v.w0) * VEC,
        .w_u = (size_t)(c->oh * m->outputs) * VEC,
        .w_row = (size_t)m->outputs * VEC,
        .w_k = VEC,
        .x_row = (size_t)(c->stride_h * m->columns) * VEC,
        .x_k = (size_t)m->step * VEC,
        .x_t = 1,
        .rows = imax(0, h1 - h0),
        .k = (v.w1 - v.w0 + VALUES - 1) / VALUES,
        .dst_u = conv_weight_block(c),
        .accumulate = !first,
    };
    const int ih = h0 * c->stride_h + r - c->pad_t, iw = v.w0 * m->step + s - m->left;
    const operand *at = m->x + (ptrdiff_t)((cb * c->h + ih) * m->columns + iw) * VEC;
    float *to = dw + tap_weights(c, cb, r, s);
    const int n = block_channels(c, cb), pieces = piece_count(n, TILE_T);
    for (int i = 0; i < pieces; i++) {
        const int t0 = piece_begin(n, pieces, i), t1 = piece_begin(n, pieces, i + 1);
        p.x = at + t0;
        p.dst = to + t0 * VEC;
        TABLE(product).run(&p, n_u, t1 - t0);
    }
    if (first)
        clear_padding(c, to, n_u, n);
}

static void conv_backward_weights(const struct conv *c, float *dw, const float *x, const float *dy,
                                  bool first, int ob0, int ob1, float *scratch)
{
    const struct tap_maps m = tap_maps(c, x, dy, ob1 - ob0, (operand *)scratch);
    const int row_bytes = (TILE_U * m.outputs + c->stride_h * m.columns) * VEC * 4;
    const int pieces = piece_count(c->oh, imax(1, conv_cache_bytes() / row_bytes));
    const int taps = c->r * c->s;

#ifndef BF16
    if (c->plain)
        extend_image(c, scratch, x);
#endif
    for (int ob = ob0; ob < ob1; ob += TILE_U) {
        const int n_u = imin(TILE_U, ob1 - ob);
        float *to = dw + (size_t)ob * conv_weight_block(c);
        const operand *from = m.dy + (size_t)((ob - ob0) * c->oh * m.outputs) * VEC;
#ifndef BF16
        if (c->plain) {
            weights_plain(c, to, scratch, from, n_u, first);
            continue;
        }
#endif
        for (int i = 0; i < pieces; i++) {
            const int oh0 = piece_begin(c->oh, pieces, i), oh1 = piece_begin(c->oh, pieces, i + 1);
            for (int tap = 0; tap < blocks_of(c->c) * taps; tap++)
                weights_tap(c, &m, to, from, n_u, tap / taps, tap % c->r, tap % taps / c->r, oh0,
                            oh1, first && i == 0);
        }
    }
}

extern const struct conv_kernels TABLE(conv);
const struct conv_kernels TABLE(conv) = {
#if defined(BF16)
    .pack = conv_pack,
#endif
    .pack_transposed = turn_weights,
    .forward = conv_forward,
    .forward_samples = conv_forward_samples,
    .backward_data = conv_backward_data,
    .backward_data_samples = conv_backward_data_samples,
    .backward_weights = conv_backward_weights,
#ifndef FLUSH_BY_THREAD
    .backward_weights_lanes = conv_backward_weights_lanes,
#endif
};
