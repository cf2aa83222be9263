/*
 * The taps of a kernel over a blocked map, as the gradient of weights goes through them: tap by
 * tap, outputs one after another.
 */
#ifndef PACELINE_CONV_TAPS_H
#define PACELINE_CONV_TAPS_H

#include "worker/kernels/conv.h"
#include "worker/kernels/microtile.h"

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

/* Where in a block of outputs the weights of a tap of channel block cb are. */
static size_t tap_weights(const struct conv *c, int cb, int r, int s)
{
    return (size_t)((s * blocks_of(c->c) + cb) * c->r + r) * VEC * VEC;
}

/* Channels of block cb that are there. */
static int block_channels(const struct conv *c, int cb) { return imin(VEC, c->c - cb * VEC); }

/* The weights' gradients of the padding after them, of n_u blocks of outputs. */
static void clear_padding(const struct conv *c, float *dw, int n_u, int channels)
{
    for (int u = 0; u < n_u; u++)
        memset(dw + (size_t)u * conv_weight_block(c) + channels * VEC, 0,
               sizeof(float) * (size_t)((VEC - channels) * VEC));
}

#endif
