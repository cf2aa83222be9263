/*
 * Products over a register tile: dst[u][t] (+)= sum over rows and k of w[u][row][k] * x[row][k][t].
 * One shape serves dense layers, both weight gradients and the first convolution. Operands are
 * floats, or pairs of bf16 in 32 bits (bf16.h): a step of k then adds both products of a pair, the
 * first one first.
 */
#ifndef PACELINE_KERNEL_PRODUCT_H
#define PACELINE_KERNEL_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/lane_ends.h"

struct product {
    const void *w; /* vectors of 16 operands: w + u*w_u + row*w_row + k*w_k */
    size_t w_u, w_row, w_k;
    const void *x;          /* operands: x + row*x_row + k*x_k + t*x_t */
    size_t x_row, x_k, x_t; /* of bf16 x_t is 1 */
    int rows, k;
    float *dst; /* vectors of 16: dst + u*dst_u + t*16 */
    size_t dst_u;
    bool accumulate; /* start from dst instead of from zero */
};

struct product_kernels {
    int u, t; /* the tile's limits on this ISA */
    /* Sum order of an element: rows, then k; n_u <= u, n_t <= t. */
    void (*run)(const struct product *p, int n_u, int n_t);
    /* The sum over the lanes of a block, none of which is empty, one row, x_t 1: a sample is as
     * many steps of k as it has pixels. Lanes meet in a binary tree. stack: level tiles of u*t
     * vectors. Of pairs a sample has one pixel or an even number; a lane's pairs, the second of an
     * odd number's last +0, begin at slot (k) ceil(pixels / 2) of each sample before it; where
     * lanes meet subnormals are none but themselves. NULL: not on this instruction set. */
    void (*run_lanes)(const struct product *p, int n_u, int n_t, const struct lane_ends *lanes,
                      uint32_t pixels, float *stack);
    /* Of floats alone. */
    int dot_k; /* outputs of a dots tile; n_k is a multiple of it */
    /* dst[b*dst_b + k] = fold16 over ob of w . y[b*y_b + ob*16 ..]: partial i holds the terms
     * i mod 16 in order, folded 8-4-2-1. The vector of (ob, k) is at
     * w + k/dot_k*w_tile + ob*w_ob + k%dot_k*16. */
    void (*dots)(float *dst, size_t dst_b, const float *w, size_t w_tile, size_t w_ob, int n_k,
                 const float *y, size_t y_b, int n_b, int n_ob);
    /* out[k*16 + t] = in[t*in_t + k] for t < n_t, k < n_k (n_k a multiple of 16) */
    void (*transpose)(float *out, const float *in, size_t in_t, int n_t, int n_k);
    /* Of bf16 alone: out[i] = the pair of first[i] and second[i] (NULL: +0), rounded; n a multiple
     * of 16. */
    void (*pairs)(uint32_t *out, const float *first, const float *second, size_t n);
};

#endif
