/*
 * Maps of few pixels give a weight few products a sample, less than loading and storing its sum
 * costs. Tap by tap this is a dense layer's gradient: the pixels that meet the tap, of all samples,
 * one after another, and the lanes' tree in registers.
 * A part of conv.c.
 */
#ifndef PACELINE_CONV_LANES_H
#define PACELINE_CONV_LANES_H

#include "worker/kernels/conv_taps.h"

struct lanes_work {
    const struct conv *c;
    const float *x, *dy; /* the block's first sample */
    const struct lane_ends *lanes;
    int samples;
    operand *xp, *dyp;
    float *stack;
};

/* A block of a map as outputs see it: output (oh, ow) of `reach` is row oh - h0 from `from`, column
 * left + ow*apart of width. */
struct seen_map {
    const float *from;
    size_t sample, row; /* floats */
    int left, apart, width;
};

/* Those pixels of all samples, as vectors `apart` operands from each other. */
static void pack_pixels(const struct lanes_work *k, const struct reach *v, operand *to,
                        size_t apart, struct seen_map map)
{
    for (int i = 0; i < k->samples; i++, map.from += map.sample) {
        const float *row = map.from;
        for (int h = v->h0; h < v->h1; h++, row += map.row) {
            for (int w = v->w0; w < v->w1; w += VALUES, to += apart)
                put_pixels(to, row, map.left + w * map.apart, map.left + (w + 1) * map.apart,
                           map.width);
        }
    }
}

static void lanes_product(const struct lanes_work *k, uint32_t pixels, const operand *dyp, int n_u,
                          int n, float *dw)
{
    struct product p = {
        .w = dyp,
        .w_u = VEC,
        .w_k = (size_t)n_u * VEC,
        .x_k = VEC,
        .dst_u = conv_weight_block(k->c),
    };
    const int pieces = piece_count(n, TILE_T);
    for (int i = 0; i < pieces; i++) {
        const int t0 = piece_begin(n, pieces, i), t1 = piece_begin(n, pieces, i + 1);
        p.x = k->xp + t0;
        p.dst = dw + t0 * VEC;
        TABLE(product).run_lanes(&p, n_u, t1 - t0, k->lanes, pixels, k->stack);
    }
    clear_padding(k->c, dw, n_u, n);
}

static void lanes_tap(const struct lanes_work *k, float *dw, int ob0, int ob1, int r, int s)
{
    const struct conv *c = k->c;
    const struct reach v = tap_outputs(c, r, s);
    const int steps = (v.h1 - v.h0) * ((v.w1 - v.w0 + VALUES - 1) / VALUES);
    const size_t block = (size_t)(k->samples * steps) * VEC;
    struct seen_map dy = {
        .sample = conv_out_floats(c),
        .row = (size_t)c->ow * VEC,
        .apart = 1,
        .width = c->ow,
    };
    struct seen_map x = {
        .sample = conv_in_floats(c),
        .row = (size_t)(c->stride_h * c->w) * VEC,
        .left = s - c->pad_l,
        .apart = c->stride_w,
        .width = c->w,
    };

    for (int ob = ob0; ob < ob1; ob++) {
        const int pair = (ob - ob0) / TILE_U * TILE_U, n_u = imin(TILE_U, ob1 - ob0 - pair);
        dy.from = k->dy + (size_t)(ob * c->oh + v.h0) * dy.row;
        pack_pixels(k, &v, k->dyp + (size_t)pair * block + (size_t)(ob - ob0 - pair) * VEC,
                    (size_t)n_u * VEC, dy);
    }
    for (int cb = 0; cb < blocks_of(c->c); cb++) {
        x.from = k->x + (ptrdiff_t)((cb * c->h + v.h0 * c->stride_h + r - c->pad_t) * c->w) * VEC;
        pack_pixels(k, &v, k->xp, VEC, x);
        for (int ob = ob0; ob < ob1; ob += TILE_U)
            lanes_product(k, (uint32_t)(steps * VALUES), k->dyp + (size_t)(ob - ob0) * block,
                          imin(TILE_U, ob1 - ob), block_channels(c, cb),
                          dw + (size_t)ob * conv_weight_block(c) + tap_weights(c, cb, r, s));
    }
}

static void conv_backward_weights_lanes(const struct conv *c, float *dw, const float *x,
                                        const float *dy, const struct lane_ends *lanes, int ob0,
                                        int ob1, float *scratch)
{
    const int samples = (int)lanes->end[(1U << lanes->level) - 1];
    const size_t block = (size_t)(samples * c->oh * c->ow) * VEC;
    struct lanes_work k = {
        .c = c,
        .x = x + lanes->begin * conv_in_floats(c),
        .dy = dy + lanes->begin * conv_out_floats(c),
        .lanes = lanes,
        .samples = samples,
        .xp = (operand *)scratch,
        .dyp = (operand *)scratch + block,
        .stack = scratch + (size_t)(ob1 - ob0 + 1) * block,
    };

    for (int tap = 0; tap < c->r * c->s; tap++)
        lanes_tap(&k, dw, ob0, ob1, tap % c->r, tap / c->r);
}

#endif
