/*
 * Convolution of one sample, direct, in channel-blocked layout.
 *
 * A map is [C/16][H][W][16] (channels padded to 16 with zeros); the network's input is plain
 * [C][H][W]. Weights: [K/16][S][C/16][R][16 in][16 out], for plain input [K/16][C][R][S][16 out].
 * R, S: kernel height and width. Sum order of an output: s, channel block, r, channel (plain:
 * channel, r, s); of the padding after the last channel one step is enough, as each adds the same
 * zero. A tap outside the image is skipped; for plain input the image is extended by +0.
 *
 * There are two tables of these functions. One multiplies floats. The other one (conv_bf16), for
 * blocked maps alone, rounds to bf16 and adds in fp32: weights, which are packed once per pass,
 * [K/16][S][C/16][R][8 in pairs][16 out], a pair being two neighbouring channels; x where it is
 * read; dy for the gradients. A sum differs from that of the fp32 kernels on rounded values in one
 * thing alone: subnormals are zeros (bf16.h).
 */
#ifndef PACELINE_KERNEL_CONV_H
#define PACELINE_KERNEL_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/lane_ends.h"

struct conv {
    int c, h, w;   /* input */
    int k, oh, ow; /* output */
    int r, s;
    int stride_h, stride_w, pad_t, pad_l;
    bool plain; /* input is plain [C][H][W] */
};

static inline int blocks_of(int channels) { return (channels + 15) / 16; }
static inline size_t conv_in_floats(const struct conv *c)
{
    return (size_t)(c->plain ? c->c : blocks_of(c->c) * 16) * (size_t)(c->h * c->w);
}
static inline size_t conv_out_floats(const struct conv *c)
{
    return (size_t)blocks_of(c->k) * 16 * (size_t)(c->oh * c->ow);
}
/* Floats of the weight slab, padding included; the same per block of 16 outputs. */
static inline size_t conv_weight_block(const struct conv *c)
{
    return (size_t)(c->plain ? c->c : blocks_of(c->c) * 16) * (size_t)(c->r * c->s) * 16;
}
static inline size_t conv_weight_floats(const struct conv *c)
{
    return (size_t)blocks_of(c->k) * conv_weight_block(c);
}
/* Where weight [k][c][r][s] (PyTorch's order) lies in the slab. */
size_t conv_weight_index(const struct conv *c, int k, int ch, int r, int s);
/* The shape of transposed weights; of stride 1: the convolution that computes the data gradient
 * from them. */
struct conv conv_transposed(const struct conv *c);
/*
 * A phase of the data gradient: pixels (ih0 + i*stride_h, iw0 + j*stride_w), i and j from 0, meet
 * the same taps, and are the outputs (i, j) of this convolution of dy, of stride 1 and possibly
 * without a tap. Its weights start at *at of the transposed ones, in which one phase follows
 * another. ih0 < stride_h, iw0 < stride_w, both inside the image.
 */
struct conv conv_phase(const struct conv *c, int ih0, int iw0, size_t *at);
/* Words of packed weights in bf16: half of the floats. */
static inline size_t conv_bf16_weight_words(const struct conv *c)
{
    return conv_weight_floats(c) / 2;
}
/* Floats of scratch that these kernels need, each at most: in one direction, of fp32 (the other is
 * that of conv_transposed); in either, of bf16. */
size_t conv_scratch_floats(const struct conv *c);
size_t conv_bf16_scratch_floats(const struct conv *c);

/* A 1x1 convolution of the pixels that it reads, in fewer and longer rows; others as they are. Of
 * stride 1 the map has as many pixels as its output. */
struct conv conv_joined(const struct conv *c);

/* Samples to compute together: 1, or more where a row of one is too short for a register tile. */
int conv_samples(const struct conv *c);

/* The most samples of a block whose lanes backward_weights_lanes sums; 0: not of such a map, which
 * has enough pixels that a sample's products outweigh their sum. */
int conv_lanes_samples(const struct conv *c);
/* Blocks of outputs for one call of it, and its scratch for at most n samples. */
int conv_lanes_blocks(const struct conv *c, int n);
size_t conv_lanes_scratch_floats(const struct conv *c, int n);

/* What rows of dy and x may take together to stay in the first-level cache. Any value gives the
 * same bytes. */
int conv_cache_bytes(void);

struct conv_kernels {
    /* bf16; NULL: forward takes weights as they are. Those of output blocks [ob0, ob1), each in its
     * place of all. */
    void (*pack)(const struct conv *c, void *packed, const float *w, int ob0, int ob1);
    /* The weights of each conv_phase, for the data gradient; of stride 1 those of conv_transposed.
     * Input blocks [cb0, cb1) are its outputs. */
    void (*pack_transposed)(const struct conv *c, void *wt, const float *w, int cb0, int cb1);
    /*
     * y = conv(x) + bias, then ReLU if relu. With pool: 2x2 stride-2 max pooling of the sums before
     * bias and ReLU (the same values, as both are monotonic), y is [K/16][oh/2][ow/2][16] and
     * argmax gets the place 0..3 of each maximum (the first of equals). bias may be NULL.
     */
    void (*forward)(const struct conv *c, float *y, uint8_t *argmax, const float *x, const void *w,
                    const float *bias, bool relu, bool pool, float *scratch);
    /* The same bytes for n <= conv_samples samples, one after another; x is not plain. */
    void (*forward_samples)(const struct conv *c, int n, float *y, const float *x, const void *w,
                            const float *bias, bool relu, float *scratch);
    /* dx, of any stride, from pack_transposed's weights. Sum order of an element: forward's, of its
     * phase. */
    void (*backward_data)(const struct conv *c, float *dx, const float *dy, const void *wt,
                          float *scratch);
    /* dx of n samples. */
    void (*backward_data_samples)(const struct conv *c, int n, float *dx, const float *dy,
                                  const void *wt, float *scratch);
    /* dw += gradient of this sample for output blocks [ob0, ob1); first: dw = instead.
     * Sum order: output rows, then columns; in bf16 these in pairs. Outside the image x of a pair
     * is +0, and what an odd number of columns lacks is a pair's second that is +0 in dy: these are
     * added like others. dw points at block 0; dy at block ob0. */
    void (*backward_weights)(const struct conv *c, float *dw, const float *x, const float *dy,
                             bool first, int ob0, int ob1, float *scratch);
    /* dw of output blocks [ob0, ob1), all lanes of a block together: the bytes of backward_weights
     * over each lane's samples, added in the binary tree. x and dy: all samples of the rank, one
     * after another; no lane is empty; dw points at block 0. NULL: products have no run_lanes. */
    void (*backward_weights_lanes)(const struct conv *c, float *dw, const float *x, const float *dy,
                                   const struct lane_ends *lanes, int ob0, int ob1, float *scratch);
};

#endif
