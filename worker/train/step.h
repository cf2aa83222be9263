/* What the steps of strategies are made of. */
#ifndef PACELINE_STEP_H
#define PACELINE_STEP_H

#include "worker/train/trainer.h"

/* The next batch of a batcher. A rank that cannot read its samples ends the world, because the
 * others wait for its messages. */
const struct batch *step_next(const struct trainer *t, struct batcher *batches);
/* The next batch of this rank to train with. */
const struct batch *step_batch(struct trainer *t);
/* A pass's i-th lane block: the samples of each lane of b in a batch of n, counted from the batch's
 * sample `from`, with which the pass begins. */
void step_cut(struct trainer *t, int i, struct lane_block b, uint32_t n, uint32_t from);
/*
 * Computes losses and scores per lane (t->lane_values) for the lanes l of a batch of n, from the
 * outputs y of their samples b, and adds them to the tally unless it is NULL. dy is overwritten. If
 * n_mean is not 0, dy gets the gradient of the outputs for a mean over n_mean samples, and the side
 * outputs' losses are added. For a text a sample's loss is the sum over its words.
 */
void step_losses(struct trainer *t, const struct lanes *l, uint32_t n, const struct batch *b,
                 const float *y, float *dy, uint32_t n_mean, struct tally *tally);
/* Before step_losses of a training batch, on the worker of a side output at least: the losses of
 * the side outputs that are here, to t->side_losses, and their gradients, for a mean over n_mean.
 */
void step_side_losses(struct trainer *t, const struct batch *b, uint32_t n_mean);
/* Side output k's in t->side_losses: one for each position of the rank's samples. */
double *step_side_row(const struct trainer *t, int k);
/* Outputs, losses and scores of its samples (t->lane_values), and the gradient of the outputs: that
 * of the mean loss of an update of n_update samples. */
void step_forward(struct trainer *t, const struct batch *b, uint32_t n_update);
/* The gradient of the weights, to t->sink. */
void step_backward(struct trainer *t, const struct batch *b);
/* Updates n parameters of one tensor by their gradient; arg: the trainer. Fit for a sink. */
void step_apply(void *arg, size_t offset, size_t n, const float *gradient, enum param_kind kind);
/* Updates the weights of [offset, offset + n) by a slab of gradients. */
void step_update(struct trainer *t, size_t offset, size_t n, const float *gradients);
/* The same for all of them, scaled down where the norm is beyond training.clipNorm. */
void step_update_clipped(struct trainer *t, const float *gradients);

/* The sums of n samples from the values of each lane; of a text their words are counted. */
struct totals step_fold(const struct trainer *t, uint32_t n, const double *values);
/* Of one batch of n samples from its sums, as they travel. */
struct totals step_totals(const struct trainer *t, uint32_t n, const double *values);
void step_add(struct totals *sum, struct totals one);
/* Collective: ERR_DIVERGED, naming the layer that went wrong: the lowest over all ranks. */
MUST_CHECK int step_diverged(struct trainer *t, double loss, struct err *err);

#endif
