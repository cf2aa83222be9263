/*
 * Dense layers over a batch with operands rounded to bf16 and sums in fp32: dense.h says what is
 * computed. Maps and weights are floats, and rounded here.
 *
 * Packed weights are [in/64][out/16][in pairs][16 out], a pair being two neighbouring inputs. A sum
 * differs from one in the same order on rounded values in one thing alone: subnormals are zeros
 * (bf16.h).
 */
#ifndef PACELINE_KERNEL_DENSE_BF16_H
#define PACELINE_KERNEL_DENSE_BF16_H

#include "worker/kernels/dense.h"

/* Words of packed weights; of n packed rows; and of n samples' dy, packed by lanes. */
static inline size_t dense_bf16_weight_words(const struct dense *d)
{
    return (size_t)d->in * (size_t)d->out / 2;
}
static inline size_t dense_bf16_row_words(int n, int columns)
{
    return (size_t)n * (size_t)columns / 2;
}
static inline size_t dense_bf16_lane_words(const struct dense *d, int n)
{
    return (size_t)n * (size_t)d->out;
}
/* Floats of scratch that these kernels need for n samples, each at most. */
size_t dense_bf16_scratch_floats(const struct dense *d, int n);

struct dense_bf16_kernels {
    /* The weights of chunks [chunk0, chunk1), each in its place of all. */
    void (*pack)(const struct dense *d, uint32_t *packed, const float *w, int chunk0, int chunk1);
    /* x[n][columns] as forward, and dy as backward_data reads it: columns [from, to), both
     * multiples of 16. */
    void (*pack_rows)(uint32_t *rows, const float *x, int n, int columns, int from, int to);
    /* As dense_kernels.forward, from packed weights and rows: sum over inputs in order. */
    void (*forward)(const struct dense *d, float *y, const uint32_t *rows, const uint32_t *packed,
                    const float *bias, bool relu, int n, int ob0, int ob1, float *scratch);
    /* dx[n][in] of one chunk: sum over outputs in order. */
    void (*backward_data)(const struct dense *d, int chunk, float *dx, const uint32_t *rows,
                          const float *w, int n, float *scratch);
    /* As dense_kernels has them: the weights of one chunk, in the place of the chunk among all
     * (dense_bf16_weight_words), and backward_data from these. */
    void (*keep_chunk)(const struct dense *d, int chunk, uint32_t *kept, const float *w);
    void (*backward_kept)(const struct dense *d, int chunk, float *dx, const uint32_t *rows,
                          const uint32_t *kept, int n, float *scratch);
    /* dy of one block of lanes as backward_weights reads it; once for all chunks. Blocks do not
     * overlap in packed. */
    void (*pack_lanes)(const struct dense *d, uint32_t *packed, const float *dy, int n,
                       const struct lane_ends *lanes);
    /* As dense_kernels.backward_weights: samples in order inside a lane, in pairs, and what an odd
     * number of them lacks is a pair's second that is +0, added like others. */
    void (*backward_weights)(const struct dense *d, int chunk, float *dw, const float *x,
                             const uint32_t *packed, int n, const struct lane_ends *lanes,
                             float *scratch);
};

#endif
