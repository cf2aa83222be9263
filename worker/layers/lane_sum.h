/* The binary tree over the lanes of one block, for gradients that fit a buffer per level. */
#ifndef PACELINE_LANE_SUM_H
#define PACELINE_LANE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/kernels.h"

/* A sum over lanes: `lane` writes the sum over samples [begin, end) of the rank to dst. */
struct lane_sum {
    const struct kernels *kernels;
    const struct lane_ends *block;
    void (*lane)(void *arg, uint32_t begin, uint32_t end, float *dst);
    void *arg;
    size_t n[2], at[2]; /* the two ranges of dst that are summed: weights and biases */
    float *levels;      /* block->level buffers of level_floats */
    size_t level_floats;
};

/* dst = the sum of the block; false (dst untouched) when it has no sample. */
bool lane_sum_run(const struct lane_sum *s, float *dst);

#endif
