/*
 * Checkpoints of a trainer: weights, statistics of the data, optimiser state and position in one
 * safetensors file, the same bytes whatever the number of ranks and threads. Every rank has all of
 * the state, so any may write one; where tensors have owners (trainer_is_apart) they come to the
 * ranks that write one by one, and all ranks take part. One rank reads, the others get the state
 * from it, tensor by tensor.
 */
#ifndef PACELINE_CHECKPOINT_H
#define PACELINE_CHECKPOINT_H

#include "paceline/err.h"
#include "worker/train/trainer.h"

/* This rank alone, or with checkpoint_supply by those that do not write.
 * dir/checkpoint-<step>.safetensors; *path (freed by the caller) is its name. Older ones beyond
 * checkpoint.keep go; best: also linked as dir/best.safetensors. */
MUST_CHECK int checkpoint_write(struct trainer *t, const char *dir, bool best, char **path,
                                struct err *err);

/* The part of a rank that does not write, where its tensors are needed; else nothing. */
void checkpoint_supply(struct trainer *t);

/* Of weights and optimiser state, as in the metadata of a checkpoint. Where tensors have owners
 * collective, and right on the ranks that write. */
uint64_t checkpoint_digest(struct trainer *t);

/* Collective; each rank has a dir of its own, or shares one, and may find more in durable (NULL:
 * none, on all ranks alike). Loads the checkpoint of the largest step that any rank has, read by
 * the lowest rank that has it, in dir rather than in durable. ERR_NOT_FOUND when there is none,
 * ERR_DAMAGED, ERR_INVALID when it is of another model, batch size, seed or optimiser.
 * With if_any a damaged one is logged and the next one taken; without any the trainer stays as it
 * was and the call succeeds. */
MUST_CHECK int checkpoint_resume(struct trainer *t, const char *dir, const char *durable,
                                 bool if_any, struct err *err);

/* Collective. Weights only, by tensor name: for spec.model.initialWeights. */
MUST_CHECK int checkpoint_load_weights(struct trainer *t, const char *path, struct err *err);
/* Collective. And what its samples were normalised by: for evaluation. */
MUST_CHECK int checkpoint_load_model(struct trainer *t, const char *path, struct err *err);

#endif
