/*
 * Checkpoints of a trainer: weights, optimiser state and position in one safetensors file, the same
 * bytes whatever the number of ranks and threads. Rank 0 writes and reads; the others get the state
 * from it.
 */
#ifndef PACELINE_SNAPSHOT_H
#define PACELINE_SNAPSHOT_H

#include "paceline/err.h"
#include "worker/train/trainer.h"

/* Rank 0 only. dir/checkpoint-<step>.safetensors; *path (freed by the caller) is its name. Older
 * ones beyond checkpoint.keep go; best: also linked as dir/best.safetensors. */
MUST_CHECK int snapshot_write(struct trainer *t, const char *dir, bool best, char **path,
                              struct err *err);

/* Collective. Loads the newest checkpoint of dir on every rank; ERR_NOT_FOUND when there is none,
 * ERR_INVALID when it is of another model, batch size, seed or optimiser. */
MUST_CHECK int snapshot_resume(struct trainer *t, const char *dir, struct err *err);

/* Collective. Weights only, by tensor name: for evaluation and spec.model.initialWeights. */
MUST_CHECK int snapshot_load_weights(struct trainer *t, const char *path, struct err *err);

#endif
