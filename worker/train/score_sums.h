/*
 * Sums per class or per output over a set that is evaluated, beside its totals; scores of the whole
 * set are computed from them (scores.h). Counts are integers, which may be added in any order.
 * Squared errors are doubles and are kept lane by lane until the end of the set.
 */
#ifndef PACELINE_SCORE_SUMS_H
#define PACELINE_SCORE_SUMS_H

#include "worker/data/data.h"
#include "worker/model/loss.h"
#include "worker/train/scores.h"

struct score_sums {
    enum label_kind kind;
    int n; /* classes or outputs */
    int lanes;
    int64_t *confusion; /* classes: [label][predicted]; NULL with more than METRIC_CLASSES_MAX */
    struct bit_counts *bits; /* bits: [n]; else NULL */
    double *errors;          /* numbers: [lane][n], of this rank's lanes; else NULL */
    double *spread;          /* numbers: [n] of the whole set, which the owner fills in */
};

void score_sums_init(struct score_sums *t, enum label_kind kind, int n, int lanes);
void score_sums_release(struct score_sums *t);
size_t score_sums_bytes(const struct score_sums *t);

void score_sums_clear(struct score_sums *t);
/* Adds a sample (or word) of a lane: its number in the batch of this rank, its outputs and its
 * result. */
void score_sums_add(struct score_sums *t, int lane, const struct batch *b, size_t sample,
                    const float *y, const struct loss_result *r);

/* The counts as one list of integers, to be summed over ranks; NULL, with *n 0, if there are none.
 */
int64_t *score_sums_counts(const struct score_sums *t, size_t *n);

/* The scores of everything added. errors: [n] for numbers, summed over all lanes; otherwise NULL.
 */
struct scores score_sums_scores(const struct score_sums *t, const double *errors);

#endif
