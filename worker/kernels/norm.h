/*
 * Batch normalisation of one channel block of one sample: [pixels][16].
 *
 * Sums over pixels are four interleaved partials (pixel mod 4) that start at +0 and are folded as
 * (0 + 1) + (2 + 3).
 */
#ifndef PACELINE_KERNEL_NORM_H
#define PACELINE_KERNEL_NORM_H

#include <stdbool.h>
#include <stddef.h>

struct norm_kernels {
    /* Of each channel: mean[16], and deviations[16], the sum of the squared distances from it. */
    void (*moments)(float *mean, float *deviations, const float *x, size_t pixels);
    /* y = (x - mean) * scale + shift, one rounding each; then ReLU if relu. y may be x. */
    void (*normalize)(float *y, const float *x, const float *mean, const float *scale,
                      const float *shift, size_t pixels, bool relu);
    /* sums[16] = sum of dy, products[16] = sum of dy * (x - mean); with y (or NULL) dy counts as
     * zero where y is not above zero (ReLU). */
    void (*gradient_sums)(float *sums, float *products, const float *dy, const float *x,
                          const float *y, const float *mean, size_t pixels);
    /* dx = scale * dy + (slope * (x - mean) + offset), dy as above; dx may be dy. */
    void (*backward)(float *dx, const float *dy, const float *x, const float *y, const float *mean,
                     const float *scale, const float *slope, const float *offset, size_t pixels);
};

#endif
