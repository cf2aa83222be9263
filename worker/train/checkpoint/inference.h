/*
 * A trainer for inference: the network, the weights and the normalisation of a checkpoint. It has
 * no data, no optimiser and no strategy, and needs none of their memory.
 */
#ifndef PACELINE_INFERENCE_H
#define PACELINE_INFERENCE_H

#include "worker/train/trainer.h"

/*
 * Collective. in is the shape of a sample, classes the number of classes of a built-in network. A
 * pass has at most `samples` samples. ERR_INVALID: the network does not fit, or the checkpoint is
 * of another one; ERR_DAMAGED, ERR_NOT_FOUND, ERR_IO: the checkpoint cannot be read.
 * trainer_release releases t, also where this failed.
 */
MUST_CHECK int inference_init(struct trainer *t, const struct job *job, struct comm *comm,
                              const struct kernels *kernels, struct shape in, int classes,
                              uint32_t samples, const char *checkpoint, struct err *err);

/*
 * The scores of the last layer, [n][positions][inference_row], for n normalised samples x. begins:
 * recurrent layers start from zeros; otherwise sample i continues where sample i of the last pass
 * ended.
 */
const float *inference_forward(struct trainer *t, const float *x, uint32_t n, bool begins);

/* The distance in floats from one position's scores to the next: the number of classes, padded. */
size_t inference_row(const struct trainer *t);

#endif
