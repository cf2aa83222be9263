/*
 * Checkpoints of a trainer: weights, statistics of the data, optimiser state and position in one
 * safetensors file. Its bytes do not depend on the number of ranks and threads.
 *
 * Usually every rank has all of the state, so any rank may write a checkpoint. Where tensors have
 * owners (trainer_is_apart), all ranks take part: the owners send them one by one to the ranks that
 * write. One rank reads a checkpoint and sends it to the others, tensor by tensor.
 */
#ifndef PACELINE_CHECKPOINT_H
#define PACELINE_CHECKPOINT_H

#include "paceline/err.h"
#include "worker/train/trainer.h"

/* Writes dir/checkpoint-<step>.safetensors; *path (freed by the caller) is its name. Removes older
 * checkpoints beyond checkpoint.keep. best: also links it as dir/best.safetensors. Where tensors
 * have owners, the ranks that do not write call checkpoint_supply at the same time. */
MUST_CHECK int checkpoint_write(struct trainer *t, const char *dir, bool best, char **path,
                                struct err *err);

/* Sends this rank's tensors to the ranks that write. Does nothing where no tensor has an owner. */
void checkpoint_supply(struct trainer *t);

/* The digest of weights and optimiser state, as in the metadata of a checkpoint. Where tensors have
 * owners it is collective, and right only on the ranks that write. */
uint64_t checkpoint_digest(struct trainer *t);

/* Collective. Loads the checkpoint of the largest step that any rank has. A rank looks in dir,
 * which it may share with others, and in durable (NULL on all ranks: there is none). The lowest
 * rank that has the checkpoint reads it, from dir if it is there. Fails with ERR_NOT_FOUND if there
 * is none, with ERR_DAMAGED, and with ERR_INVALID if it is of another model, batch size, seed or
 * optimiser. With if_any a damaged checkpoint is logged and the next older one is tried; if there
 * is none, the trainer stays as it was and the call succeeds. */
MUST_CHECK int checkpoint_resume(struct trainer *t, const char *dir, const char *durable,
                                 bool if_any, struct err *err);

/* Collective. Loads the weights only, by tensor name, for spec.model.initialWeights. */
MUST_CHECK int checkpoint_load_weights(struct trainer *t, const char *path, struct err *err);
/* Collective. Loads the weights and the statistics that normalise samples, for evaluation. */
MUST_CHECK int checkpoint_load_model(struct trainer *t, const char *path, struct err *err);

#endif
