/*
 * Convolution of one sample with operands rounded to bf16 and sums in fp32, for blocked maps:
 * conv.h says what is computed. Maps are floats, and rounded here: x where it is read, dy for the
 * gradients.
 *
 * Weights are rounded and packed once per pass, [K/16][S][C/16][R][8 in pairs][16 out], a pair
 * being two neighbouring channels; likewise those of the data gradient. Sum order of an output: as
 * in conv.h, so a sum differs from that of the fp32 kernels on rounded values in one thing alone:
 * subnormals are zeros (bf16.h).
 */
#ifndef PACELINE_KERNEL_CONV_BF16_H
#define PACELINE_KERNEL_CONV_BF16_H

#include "worker/kernels/conv.h"

/* Words of packed weights: half of the floats. */
static inline size_t conv_bf16_weight_words(const struct conv *c)
{
    return conv_weight_floats(c) / 2;
}
/* Floats of scratch that these kernels need, each at most. */
size_t conv_bf16_scratch_floats(const struct conv *c);

struct conv_bf16_kernels {
    /* The weights of output blocks [ob0, ob1), each in its place of all. */
    void (*pack)(const struct conv *c, uint32_t *packed, const float *w, int ob0, int ob1);
    /* Those of each conv_phase, for the data gradient: input blocks [cb0, cb1) are its outputs. */
    void (*pack_transposed)(const struct conv *c, uint32_t *packed, const float *w, int cb0,
                            int cb1);
    /* As conv_kernels.forward, from packed weights. */
    void (*forward)(const struct conv *c, float *y, uint8_t *argmax, const float *x,
                    const uint32_t *packed, const float *bias, bool relu, bool pool,
                    float *scratch);
    /* dx, of any stride, from pack_transposed's weights. Sum order: forward's, of the phase. */
    void (*backward_data)(const struct conv *c, float *dx, const float *dy, const uint32_t *packed,
                          float *scratch);
    /* As conv_kernels.backward_weights. Sum order: output rows, then columns in pairs. Outside the
     * image x is +0, and what an odd number of columns lacks is a pair's second that is +0 in dy:
     * these are added like others. */
    void (*backward_weights)(const struct conv *c, float *dw, const float *x, const float *dy,
                             bool first, int ob0, int ob1, float *scratch);
    /* As those of conv_kernels: the bytes of the above. Lanes: NULL where product_bf16_kernels have
     * no run_lanes. */
    void (*forward_samples)(const struct conv *c, int n, float *y, const float *x,
                            const uint32_t *packed, const float *bias, bool relu, float *scratch);
    void (*backward_data_samples)(const struct conv *c, int n, float *dx, const float *dy,
                                  const uint32_t *packed, float *scratch);
    void (*backward_weights_lanes)(const struct conv *c, float *dw, const float *x, const float *dy,
                                   const struct lane_ends *lanes, int ob0, int ob1, float *scratch);
};

#endif
