/*
 * Dense layers over a batch. Weights are kept in chunks of 64 inputs, each contiguous:
 * [in/64][out/16][64 in][16 out] (the last chunk is shorter; in and out padded to 16 by zeros), so
 * that one chunk is read once per backward pass while data gradient, weight gradient and update
 * use it. Rows of x and y are samples, padded to 16.
 *
 * There are two tables of these functions. One multiplies floats. The other one (dense_bf16) rounds
 * weights and maps to bf16 and adds in fp32. Packed weights are then [in/64][out/16][in pairs]
 * [16 out], a pair being two neighbouring inputs. A sum differs from one in the same order on
 * rounded values in one thing alone: subnormals are zeros (bf16.h).
 */
#ifndef PACELINE_KERNEL_DENSE_H
#define PACELINE_KERNEL_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/lane_ends.h"

#define DENSE_CHUNK 64
#define DENSE_PACKED 256 /* inputs that the forward pass packs at a time */
#define DENSE_GROUP 64   /* blocks of 16 outputs whose sums wait for the next of them */

struct dense {
    int in, out; /* both multiples of 16 */
};

static inline int dense_chunks(const struct dense *d)
{
    return (d->in + DENSE_CHUNK - 1) / DENSE_CHUNK;
}
static inline int dense_chunk_inputs(const struct dense *d, int chunk)
{
    int left = d->in - chunk * DENSE_CHUNK;
    return left < DENSE_CHUNK ? left : DENSE_CHUNK;
}
static inline size_t dense_weight_index(const struct dense *d, int out, int in)
{
    int chunk = in / DENSE_CHUNK, kc = dense_chunk_inputs(d, chunk);
    return (size_t)chunk * DENSE_CHUNK * (size_t)d->out +
           (size_t)(out / 16 * kc + in % DENSE_CHUNK) * 16 + (size_t)(out % 16);
}

/* Words of 32 bits that pack_lanes makes of n samples; in bf16 those of packed weights, and of n
 * packed rows. */
static inline size_t dense_lane_words(const struct dense *d, int n)
{
    return (size_t)n * (size_t)d->out;
}
static inline size_t dense_bf16_weight_words(const struct dense *d)
{
    return (size_t)d->in * (size_t)d->out / 2;
}
static inline size_t dense_bf16_row_words(int n, int columns)
{
    return (size_t)n * (size_t)columns / 2;
}

/* Floats of scratch for n samples: forward (of them for sums), backward; in bf16 for both. */
size_t dense_sums_floats(const struct dense *d, int n);
size_t dense_forward_scratch(const struct dense *d, int n);
size_t dense_backward_scratch(const struct dense *d, int n);
size_t dense_bf16_scratch_floats(const struct dense *d, int n);

struct dense_kernels {
    /* bf16; NULL: not needed. The weights of chunks [chunk0, chunk1), each in its place of all. */
    void (*pack)(const struct dense *d, void *packed, const float *w, int chunk0, int chunk1);
    /* bf16; NULL: not needed. x[n][columns] as forward, and dy as backward_data reads it: columns
     * [from, to), both multiples of 16. */
    void (*pack_rows)(void *rows, const float *x, int n, int columns, int from, int to);
    /* y[n][out] for output blocks [ob0, ob1): sum over inputs in order, + bias, ReLU if relu. x and
     * w: packed, or as they are where nothing packs them. */
    void (*forward)(const struct dense *d, float *y, const void *x, const void *w,
                    const float *bias, bool relu, int n, int ob0, int ob1, float *scratch);
    /* dx[n][in] of one chunk: 16 interleaved partials over outputs, folded 8-4-2-1; in bf16 the sum
     * over outputs in order. dy: as x of forward. */
    void (*backward_data)(const struct dense *d, int chunk, float *dx, const void *dy,
                          const float *w, int n, float *scratch);
    /* The weights of one chunk in the order that backward_data reads them in, for those who use
     * them more than once: each chunk in the place of its weights among all. */
    void (*keep_chunk)(const struct dense *d, int chunk, void *kept, const float *w);
    /* backward_data from these; the same bytes. */
    void (*backward_kept)(const struct dense *d, int chunk, float *dx, const void *dy,
                          const void *kept, int n, float *scratch);
    /* dy of one block of lanes as backward_weights reads it; once for all chunks. Blocks do not
     * overlap in packed. */
    void (*pack_lanes)(const struct dense *d, void *packed, const float *dy, int n,
                       const struct lane_ends *lanes);
    /* dw of one chunk ([out/16][inputs][16]) for one block of lanes: samples in order inside a
     * lane, lanes in a binary tree, empty lanes skipped. x: [n][in], packed: all n samples. In bf16
     * samples are paired; what an odd number of them lacks is a pair's second that is +0, added
     * like others. */
    void (*backward_weights)(const struct dense *d, int chunk, float *dw, const float *x,
                             const void *packed, int n, const struct lane_ends *lanes,
                             float *scratch);
};

#endif
