/* Scores of a whole evaluated set that are not means over its samples. Pure. */
#ifndef PACELINE_SCORES_H
#define PACELINE_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/losses.h"

/*
 * Precision, recall and F1 are macro averages, in which each class, or each output of bits, counts
 * alike. For one class: precision is the share of the samples predicted to be in it that are;
 * recall is the share of its samples that were predicted to be in it; F1 is their harmonic mean.
 * 0/0 counts as 0. A class that occurs neither as a label nor as a prediction is left out; of bits
 * every output counts. Both are as in scikit-learn (average="macro").
 *
 * R^2 is the mean over the outputs of 1 - (sum of squared errors) / (sum of squared distances of
 * the labels from their mean); where the labels are all the same it is 1 without any error, else 0:
 * as scikit-learn's r2_score.
 *
 * NaN: the labels have no such score, or nothing was counted.
 */
struct scores {
    double precision, recall, f1, r2;
};

/* counts: rows [label][predicted] of n classes. */
struct scores scores_of_classes(const int64_t *counts, int n);

/* For bits, how often an output ... */
struct bit_counts {
    int64_t right; /* said 1, and was 1 */
    int64_t named; /* said 1 */
    int64_t real;  /* was 1 */
};
struct scores scores_of_bits(const struct bit_counts *counts, int n);

/* errors and spread: for each of n outputs the sum of squared errors, and the sum of squared
 * distances of the labels from their mean. */
struct scores scores_of_numbers(const double *errors, const double *spread, int n);

extern const struct scores no_scores; /* all NaN */

#endif
