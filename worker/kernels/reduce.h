/*
 * Reductions in the one order: 16 interleaved partials (i mod 16) folded 8-4-2-1 inside blocks of
 * 4,096 elements, blocks in one binary tree (node of 2^k blocks = left + right, absent skipped).
 */
#ifndef PACELINE_KERNEL_REDUCE_H
#define PACELINE_KERNEL_REDUCE_H

#include <stddef.h>
#include <stdint.h>

struct reduce_kernels {
    float (*sum)(const float *x, size_t n);
    double (*sum_squares)(const float *x, size_t n); /* partials in float, the tree in double */
    void (*add)(float *acc, const float *x, size_t n);              /* acc[i] = acc[i] + x[i] */
    void (*scale)(float *x, float factor, size_t n);
    int (*all_finite)(const float *x, size_t n);
    /* bf16 wire: round to nearest even, NaN kept; and back */
    void (*to_bf16)(uint16_t *y, const float *x, size_t n);
    void (*from_bf16)(float *y, const uint16_t *x, size_t n);
};

#endif
