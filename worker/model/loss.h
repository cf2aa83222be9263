/* Losses over a batch: per-sample loss, the gradient of the outputs, and the count of hits. */
#ifndef PACELINE_LOSS_H
#define PACELINE_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/net.h"
#include "worker/kernels/kernels.h"

struct loss_result {
    double loss; /* of one sample */
    int correct; /* 1: the largest output is the label's (the first of equals) */
    int top5;    /* 1: the label is among the five largest */
    int predicted;
};

/*
 * One sample, or one word of a text: y has n_classes outputs in a row of `row` floats. dy (may be
 * NULL) gets the gradient of the batch's mean loss, divided by n_global, 0 below 2^-60; its padding
 * is zero. probabilities: [n_classes]; may be NULL or dy where dy is not NULL. Softmax
 * cross-entropy: log(sum exp y)
 * - y[label]. Squared error: half the squared distance to the one-hot label.
 */
struct loss_result loss_sample(enum loss_type type, const struct kernels *k, const float *y,
                               size_t row, int n_classes, int label, uint32_t n_global, float *dy,
                               float *probabilities);
/* The same of a side output, times its weight: its gradient, which dy gets, and its loss. */
double loss_side(enum loss_type type, const struct kernels *k, const float *y, size_t row,
                 int n_classes, int label, uint32_t n_global, float *dy, double weight);

#endif
