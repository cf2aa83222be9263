/*
 * Reductions in the one order: 16 interleaved partials (i mod 16) folded 8-4-2-1 inside blocks of
 * 4,096 elements, blocks in one binary tree (node of 2^k blocks = left + right, absent skipped).
 * Partials start at +0, so a sum is never -0 and an absent element changes nothing.
 *
 * All ISAs give the same bytes. When both operands are NaN, or infinities cancel, the result is a
 * NaN whose sign and payload are not promised (the compiler may swap operands of an addition).
 */
#ifndef PACELINE_KERNEL_REDUCE_H
#define PACELINE_KERNEL_REDUCE_H

#include <stddef.h>
#include <stdint.h>

struct reduce_kernels {
    float (*sum)(const float *x, size_t n);
    /* Partials and their fold in float (one fma per element), the tree of blocks in double.
     * Infinity when a block's sum exceeds the range of float. */
    double (*sum_squares)(const float *x, size_t n);
    void (*add)(float *acc, const float *x, size_t n); /* acc[i] = acc[i] + x[i] */
    void (*scale)(float *x, float factor, size_t n);
    int (*all_finite)(const float *x, size_t n);
    /* bf16 wire: round to nearest even, NaN stays NaN (made quiet); and back, which is exact. */
    void (*to_bf16)(uint16_t *y, const float *x, size_t n);
    void (*from_bf16)(float *y, const uint16_t *x, size_t n);
};

#endif
