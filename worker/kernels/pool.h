/* Pooling, sums and their ReLU, of one sample in channel-blocked layout [C/16][H][W][16]. */
#ifndef PACELINE_KERNEL_POOL_H
#define PACELINE_KERNEL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool {
    int blocks; /* channel blocks of 16 */
    int h, w, oh, ow;
    int kernel_h, kernel_w, stride_h, stride_w, pad_t, pad_l;
};

struct pool_kernels {
    /* The first of equal values wins; a NaN wins only in first place. Padding never takes part. */
    void (*max_forward)(const struct pool *p, float *y, const float *x);
    /* dx gets dy where x was the maximum; windows in row order. */
    void (*max_backward)(const struct pool *p, float *dx, const float *dy, const float *x);
    /* Mean over the taps inside the image. */
    void (*avg_forward)(const struct pool *p, float *y, const float *x);
    void (*avg_backward)(const struct pool *p, float *dx, const float *dy);
    /* Undoes conv's fused 2x2 pooling: dx [blocks][h][w][16] gets dy at the argmax, zero elsewhere;
     * where y is given and not above zero (ReLU), dy counts as zero. */
    void (*unpool2)(float *dx, const float *dy, const float *y, const uint8_t *argmax, int blocks,
                    int h, int w);
    /* sums[16 per block] (+)= dy summed over pixels in order; where y (if given) is above zero. */
    void (*channel_sums)(float *sums, const float *dy, const float *y, int blocks, int pixels,
                         bool first);
    /* y = a + b, then ReLU if relu; y may be a */
    void (*add)(float *y, const float *a, const float *b, size_t n, bool relu);
    /* Of a ReLU that was computed with what is before it. */
    void (*relu_backward)(float *dx, const float *dy, const float *y, size_t n);
};

#endif
