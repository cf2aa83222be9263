/* The tensors of a checkpoint, as saving and loading see them. Only these two include it. */
#ifndef PACELINE_CHECKPOINT_TENSORS_H
#define PACELINE_CHECKPOINT_TENSORS_H

#include "worker/train/trainer.h"

#define CHECKPOINT_DIGEST "digest" /* the key of the metadata */

struct checkpoint_sum; /* checkpoint_save.c's */

/* A tensor of a checkpoint: a parameter or an optimiser's state for it, or a statistic. */
struct checkpoint_tensor {
    struct trainer *t;
    int slot;
    const struct param *param;
    float *statistic; /* of the normaliser, which all ranks have; NULL: param it is */
    int n_dims;
    const int64_t *dims;
    int64_t own_dims[3];
    struct checkpoint_sum *sum; /* the digest that it goes into; or NULL */
    bool loaded;
    char name[160];
};

/* How much of a checkpoint. */
enum checkpoint_extent {
    CHECKPOINT_WEIGHTS, /* only these */
    CHECKPOINT_MODEL,   /* and what makes its input of bytes */
    CHECKPOINT_ALL      /* and the optimiser's state */
};

/* The slab of slot -1 (weights) or of an optimiser slot. */
float *checkpoint_slab_of(struct trainer *t, int slot);

/* All of them, in the order of a checkpoint; freed by the caller. */
struct checkpoint_tensor *checkpoint_tensors(struct trainer *t, enum checkpoint_extent extent,
                                             size_t *n);
size_t checkpoint_tensor_bytes(const struct checkpoint_tensor *s);

#endif
