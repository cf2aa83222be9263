/*
 * Dense layers over a batch. Weights are kept in chunks of 64 inputs, each contiguous:
 * [in/64][out/16][64 in][16 out] (the last chunk is shorter; in and out padded to 16 by zeros), so
 * that one chunk is read once per backward pass while data gradient, weight gradient and update
 * use it. Rows of x and y are samples, padded to 16.
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

/* Floats of scratch for n samples: forward (of them for sums), backward. */
size_t dense_sums_floats(const struct dense *d, int n);
size_t dense_forward_scratch(const struct dense *d, int n);
size_t dense_backward_scratch(const struct dense *d, int n);
/* Floats of the packed dy that pack_dy makes. */
size_t dense_packed_floats(const struct dense *d, int n);

struct dense_kernels {
    /* y[n][out] for output blocks [ob0, ob1): sum over inputs in order, + bias, ReLU if relu. */
    void (*forward)(const struct dense *d, float *y, const float *x, const float *w,
                    const float *bias, bool relu, int n, int ob0, int ob1, float *scratch);
    /* dx[n][in] of one chunk: 16 interleaved partials over outputs, folded 8-4-2-1. */
    void (*backward_data)(const struct dense *d, int chunk, float *dx, const float *dy,
                          const float *w, int n, float *scratch);
    /* The weights of one chunk in the order that backward_data reads them in, for those who use
     * them more than once: kept[out * inputs of the chunk]. */
    void (*keep_chunk)(const struct dense *d, int chunk, float *kept, const float *w);
    /* backward_data from these; the same bytes. */
    void (*backward_kept)(const struct dense *d, int chunk, float *dx, const float *dy,
                          const float *kept, int n);
    /* dy in the layout that backward_weights reads; once for all chunks. */
    void (*pack_dy)(const struct dense *d, float *packed, const float *dy, int n);
    /* dw of one chunk ([out/16][inputs][16]) for one block of lanes: samples in order inside a
     * lane, lanes in a binary tree, empty lanes skipped. x: [n][in], packed: all n samples. */
    void (*backward_weights)(const struct dense *d, int chunk, float *dw, const float *x,
                             const float *packed, int n, const struct lane_ends *lanes,
                             float *scratch);
};

#endif
