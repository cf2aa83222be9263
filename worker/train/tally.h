/*
 * Sums per class or per output over a set that is evaluated, beside its totals; scores of the whole
 * set are computed from them (scores.h). Counts are integers, which may be added in any order.
 * Squared errors are doubles and are kept lane by lane until the end of the set.
 */
#ifndef PACELINE_TALLY_H
#define PACELINE_TALLY_H

#include "worker/data/data.h"
#include "worker/model/loss.h"
#include "worker/train/scores.h"

struct tally {
    enum label_kind kind;
    int n; /* classes or outputs */
    int lanes;
    int64_t *confusion; /* classes: [label][predicted]; NULL with more than METRIC_CLASSES_MAX */
    struct bit_counts *bits; /* bits: [n]; else NULL */
    double *errors;          /* numbers: [lane][n], of this rank's lanes; else NULL */
    double *spread;          /* numbers: [n] of the whole set, which the tally's owner fills in */
};

void tally_init(struct tally *t, enum label_kind kind, int n, int lanes);
void tally_release(struct tally *t);
size_t tally_bytes(const struct tally *t);

void tally_clear(struct tally *t);
/* Adds a sample (or word) of a lane: its number in the batch of this rank, its outputs and its
 * result. */
void tally_add(struct tally *t, int lane, const struct batch *b, size_t sample, const float *y,
               const struct loss_result *r);

/* The counts as one list of integers, to be summed over ranks; NULL, with *n 0, if there are none.
 */
int64_t *tally_counts(const struct tally *t, size_t *n);

/* The scores of everything added. errors: [n] for numbers, summed over all lanes; otherwise NULL.
 */
struct scores tally_scores(const struct tally *t, const double *errors);

#endif
