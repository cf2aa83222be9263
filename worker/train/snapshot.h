/*
 * Checkpoints of a trainer: weights, optimiser state and position in one safetensors file, the same
 * bytes whatever the number of ranks and threads. Every rank has all of the state, so any may write
 * one; one rank reads, the others get the state from it.
 */
#ifndef PACELINE_SNAPSHOT_H
#define PACELINE_SNAPSHOT_H

#include "paceline/err.h"
#include "worker/train/trainer.h"

/* This rank alone. dir/checkpoint-<step>.safetensors; *path (freed by the caller) is its name.
 * Older ones beyond checkpoint.keep go; best: also linked as dir/best.safetensors. */
MUST_CHECK int snapshot_write(struct trainer *t, const char *dir, bool best, char **path,
                              struct err *err);

/* Makes dir when it is not there, and removes what writers that were killed have left in it. */
void snapshot_prepare(const char *dir);

/* Of weights and optimiser state, as in the metadata of a checkpoint. */
uint64_t snapshot_digest(struct trainer *t);

/* Collective; each rank has a dir of its own, or shares one. Loads the checkpoint of the largest
 * step that any rank has, read by the lowest rank that has it. ERR_NOT_FOUND when there is none,
 * ERR_DAMAGED, ERR_INVALID when it is of another model, batch size, seed or optimiser.
 * With if_any a damaged one is logged and the next one taken; without any the trainer stays as it
 * was and the call succeeds. */
MUST_CHECK int snapshot_resume(struct trainer *t, const char *dir, bool if_any, struct err *err);

/* Collective. Weights only, by tensor name: for evaluation and spec.model.initialWeights. */
MUST_CHECK int snapshot_load_weights(struct trainer *t, const char *path, struct err *err);

#endif
