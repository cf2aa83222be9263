/*
 * Sums the gradients of a rank's batches of one update, in the order of the tree of batches
 * (worker/lanes/lanes.h). It needs few slabs: one per block and one per level below.
 */
#ifndef PACELINE_ACCUMULATOR_H
#define PACELINE_ACCUMULATOR_H

#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/reduce.h"
#include "worker/lanes/lanes.h"

struct accumulator {
    const struct reduce_kernels *kernels;
    struct lanes batches; /* this rank's batches, as leaves */
    size_t n;             /* floats of a slab */
    int n_slabs;
    float *slabs; /* the first ones get the sums of the blocks */
    int running;  /* the slab of the batch under way */
    int adds;     /* how many slabs are then added into the one below */
};

/* For this rank's batches of the tree. A rank without any still has one slab. */
void accumulator_init(struct accumulator *a, const struct reduce_kernels *k, struct lane_tree tree,
                      int rank, size_t n);
void accumulator_release(struct accumulator *a);

/* The slab for the gradient of this batch. The rank's batches are begun in order, up to the last
 * one below `end`, the number of batches of the update. A batch of another rank is not added
 * anywhere. */
float *accumulator_begin(struct accumulator *a, int batch, int end);

/* The running batch's gradient is final in [offset, offset + n). */
void accumulator_add(const struct accumulator *a, size_t offset, size_t n);

#endif
