/* The building blocks of a strategy's step. */
#ifndef PACELINE_STEP_H
#define PACELINE_STEP_H

#include "worker/train/trainer.h"

/* The next batch of a batcher. A rank that cannot read its samples ends the world, because the
 * others wait for its messages. */
const struct batch *step_next(const struct trainer *t, struct batcher *batches);
/* The next batch of this rank to train with. */
const struct batch *step_batch(struct trainer *t);
/* Sets the pass's i-th lane block to the samples of each lane of b in a batch of n. They are
 * counted from the batch's sample `from`, the first of the pass. */
void step_cut(struct trainer *t, int i, struct lane_block b, uint32_t n, uint32_t from);
/*
 * Computes losses and scores per lane (t->lane_values) for the lanes l of a batch of n, from the
 * outputs y of their samples b, and adds them to the sums unless they are NULL. dy is overwritten.
 * If n_mean is not 0, dy gets the gradient of the outputs for a mean over n_mean samples, and the
 * side outputs' losses are added. For a text a sample's loss is the sum over its words.
 */
void step_losses(struct trainer *t, const struct lanes *l, uint32_t n, const struct batch *b,
                 const float *y, float *dy, uint32_t n_mean, struct score_sums *sums);
/* Computes the losses of this worker's side outputs (t->side_losses) and their gradients for a mean
 * over n_mean samples. Called before step_losses of a training batch, at least on each worker that
 * has a side output. */
void step_side_losses(struct trainer *t, const struct batch *b, uint32_t n_mean);
/* The losses of side output k in t->side_losses: one for each position of the rank's samples. */
double *step_side_row(const struct trainer *t, int k);
/* Computes outputs, losses and scores of the batch's samples (t->lane_values), and the gradient of
 * the outputs for the mean loss of an update of n_update samples. */
void step_forward(struct trainer *t, const struct batch *b, uint32_t n_update);
/* Computes the gradient of the weights and passes it to t->sink. */
void step_backward(struct trainer *t, const struct batch *b);
/* Updates n parameters of one tensor by their gradient. arg is the trainer. Usable as a sink. */
void step_apply(void *arg, size_t offset, size_t n, const float *gradient, enum param_kind kind);
/* Updates the weights of [offset, offset + n) by a slab of gradients. */
void step_update(struct trainer *t, size_t offset, size_t n, const float *gradients);
/* Updates all weights; gradients are scaled down if their norm exceeds training.clipNorm. */
void step_update_clipped(struct trainer *t, const float *gradients);

/* The totals of n samples from the values of each lane. For a text, words are counted. */
struct totals step_fold(const struct trainer *t, uint32_t n, const double *values);
/* The totals of one batch of n samples from its sums, as messages carry them. */
struct totals step_totals(const struct trainer *t, uint32_t n, const double *values);
void step_add(struct totals *sum, struct totals one);
/* Collective. Fails with ERR_DIVERGED, naming the lowest layer that went wrong on any rank. */
MUST_CHECK int step_diverged(struct trainer *t, double loss, struct err *err);

#endif
