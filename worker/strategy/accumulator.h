/*
 * The gradients of a rank's batches of one update, summed in the order of the tree of batches
 * (worker/model/lanes.h), in as few slabs as that takes: one per block and one per level below.
 */
#ifndef PACELINE_ACCUMULATOR_H
#define PACELINE_ACCUMULATOR_H

#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/reduce.h"
#include "worker/model/lanes.h"

struct accumulator {
    const struct reduce_kernels *kernels;
    struct lanes batches; /* of this rank, as leaves */
    size_t n;             /* floats of a slab */
    int n_slabs;
    float *slabs; /* the first ones end up with the sums of the blocks */
    int running;  /* the slab of the batch under way */
    int adds;     /* so many slabs are then added into the one below */
};

/* For the batches that a rank has of the tree. A rank without any has one slab all the same. */
void accumulator_init(struct accumulator *a, const struct reduce_kernels *k, struct lane_tree tree,
                      int rank, size_t n);
void accumulator_release(struct accumulator *a);

/* Where the gradient of this batch goes: the rank's are begun in order, up to the last one below
 * `end`, the batches of the update. A batch of another rank is nowhere added to. */
float *accumulator_begin(struct accumulator *a, int batch, int end);

/* The running batch's gradient is final in [offset, offset + n). */
void accumulator_add(const struct accumulator *a, size_t offset, size_t n);

#endif
