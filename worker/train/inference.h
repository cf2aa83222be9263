/*
 * A trainer without training: the network, the weights and the normalisation of a checkpoint, to
 * ask it about samples. It has no data, no optimiser and no strategy, and needs none of their
 * memory.
 */
#ifndef PACELINE_INFERENCE_H
#define PACELINE_INFERENCE_H

#include "worker/train/trainer.h"

/*
 * Collective. For samples of shape in and, where the network is a built-in one, of so many classes;
 * passes have at most `samples` samples each. ERR_INVALID: the network does not fit, or the
 * checkpoint is of another one; ERR_DAMAGED, ERR_NOT_FOUND, ERR_IO: the checkpoint cannot be read.
 * trainer_release releases t, also where this failed.
 */
MUST_CHECK int inference_init(struct trainer *t, const struct job *job, struct comm *comm,
                              const struct kernels *kernels, struct shape in, int classes,
                              uint32_t samples, const char *checkpoint, struct err *err);

/* Scores of the last layer, [n][positions][inference_row], of n samples x as the model sees them.
 * begins: recurrent layers begin anew, instead of where sample i of the last pass ended. */
const float *inference_forward(struct trainer *t, const float *x, uint32_t n, bool begins);

/* Floats from one position's scores to the next: classes, padded. */
size_t inference_row(const struct trainer *t);

#endif
