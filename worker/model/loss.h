/*
 * Losses: for one sample its loss, the gradient of its outputs, and the scores that metrics need.
 *
 * Every function is plain C in double, in the order of the outputs, with the elementary functions
 * of kernels/math.h: the same bytes on every CPU. Gradients are of the mean over n_global samples;
 * those below 2^-60 become 0, and the padding of a row is zero.
 */
#ifndef PACELINE_LOSS_H
#define PACELINE_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/losses.h"
#include "worker/kernels/kernels.h"

/*
 * The result for one sample. The meaning of scores depends on the labels:
 *     classes   1 if the largest output is the label's (the first of equals); 1 if the label is
 *               among the five largest
 *     numbers   the mean over the outputs of |error|; of error^2
 *     bits      1 if all outputs are right; the share that is. An output above 0 says 1.
 */
struct loss_result {
    double loss;
    double scores[2];
    int predicted; /* classes: the largest output */
};

/*
 * For labels that are classes: one sample, or one word of a text. y has n_classes outputs in a row
 * of `row` floats; dy (may be NULL) gets their gradient. probabilities has [n_classes]; if dy is
 * not NULL it may be NULL or dy.
 *     softmaxCrossEntropy   log(sum exp y) - y[label]
 *     squaredError          half the squared distance to the one-hot label
 */
struct loss_result loss_sample(enum loss_type type, const struct kernels *k, const float *y,
                               size_t row, int n_classes, int label, uint32_t n_global, float *dy,
                               float *probabilities);

/*
 * For labels with a value t for each of the n outputs. Losses and gradients are means over the
 * outputs, as PyTorch's with reduction="mean" (MSELoss, L1Loss, HuberLoss, BCEWithLogitsLoss). With
 * d = y - t:
 *
 *     mse                   d^2
 *     mae                   |d|, with the gradient 0 at 0
 *     huber                 d^2 / 2, beyond delta: delta * (|d| - delta / 2)
 *     sigmoidCrossEntropy   log(1 + e^y) - t * y
 */
struct loss_result loss_values(enum loss_type type, double delta, const float *y, size_t row, int n,
                               const float *t, uint32_t n_global, float *dy);

/* The gradient of a side output, times its weight. */
void loss_weigh(float *dy, int n, double weight);

#endif
