/*
 * The taps of a kernel over a blocked map, as the gradient of weights goes through them: tap by
 * tap, outputs one after another. A part of conv.c.
 */
#ifndef PACELINE_CONV_TAPS_H
#define PACELINE_CONV_TAPS_H

#include "worker/kernels/conv.h"
#include "worker/kernels/operand.h"

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

/* The outputs that a tap goes through: where they are paired all of a row, as one at its end may
 * have its second one outside of the reach. */
static struct reach tap_outputs(const struct conv *c, int r, int s)
{
    struct reach v = tap_reach(c, r, s);
    if (VALUES > 1) {
        v.w0 = 0;
        v.w1 = c->ow;
    }
    return v;
}

#if defined(BF16)
VINLINE vf pixel_or_zero(const float *row, int column, int width)
{
    return column >= 0 && column < width ? vload(row + column * VEC) : vzero();
}
/* Two columns of a row of a map as pairs; each is +0 where it is outside. */
VINLINE void put_pixels(uint32_t *to, const float *row, int first, int second, int width)
{
    vistore(to, bf16_pair(pixel_or_zero(row, first, width), pixel_or_zero(row, second, width)));
}
#else
/* A column of a row of a map, which is inside. */
VINLINE void put_pixels(float *to, const float *row, int first, int second, int width)
{
    (void)second, (void)width;
    vstore(to, vload(row + first * VEC));
}
#endif

/*
 * The maps of a gradient of weights. Those of floats are x and dy as they are. Pairs are of pixels:
 * those of dy are columns 2i and 2i + 1 of a row; those of x, [C/16][H][columns][16], are what the
 * same two outputs read: column j is of the image's column j * apart - pad_l and of the one a
 * stride after it. A kernel of one column needs every other output's alone.
 */
struct tap_maps {
    const operand *x, *dy;
    int outputs, columns; /* of a row of dy, and of x */
    int step;             /* columns of x from one output to the next */
    int left;             /* of padding that columns of x do not have */
};

#if defined(BF16)
static struct tap_maps tap_maps(const struct conv *c, const float *x, const float *dy, int blocks,
                                operand *room)
{
    const int outputs = (c->ow + 1) / 2, apart = c->s == 1 ? 2 * c->stride_w : 1;
    const int step = 2 * c->stride_w / apart, columns = (outputs - 1) * step + c->s;
    operand *xp = room, *dyp = room + (size_t)(blocks_of(c->c) * c->h * columns) * VEC;
    const struct tap_maps m = {
        .x = xp, .dy = dyp, .outputs = outputs, .columns = columns, .step = step};

    for (int row = 0; row < blocks_of(c->c) * c->h; row++, x += c->w * VEC) {
        for (int j = 0; j < columns; j++, xp += VEC) {
            const int first = j * apart - c->pad_l;
            put_pixels(xp, x, first, first + c->stride_w, c->w);
        }
    }
    for (int row = 0; row < blocks * c->oh; row++, dy += c->ow * VEC) {
        for (int ow = 0; ow < c->ow; ow += 2, dyp += VEC)
            put_pixels(dyp, dy, ow, ow + 1, c->ow);
    }
    return m;
}
#else
static struct tap_maps tap_maps(const struct conv *c, const float *x, const float *dy, int blocks,
                                operand *room)
{
    (void)blocks, (void)room;
    return (struct tap_maps){
        .x = x, .dy = dy, .outputs = c->ow, .columns = c->w, .step = c->stride_w, .left = c->pad_l};
}
#endif

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
