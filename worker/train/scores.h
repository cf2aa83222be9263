/* Precision, recall and F1 of a classification, from its confusion counts. Pure. */
#ifndef PACELINE_SCORES_H
#define PACELINE_SCORES_H

#include <stdint.h>

/*
 * Macro averages: the mean over classes, each counting alike. Of a class: precision, the share of
 * what was named it that is it; recall, the share of it that was named it; F1, their harmonic mean.
 * What would be 0/0 is 0, and a class that no sample has or was named is left out, as in
 * scikit-learn.
 */
struct scores {
    double precision, recall, f1;
};

/* counts: rows [label][predicted] of n classes. */
struct scores scores_macro(const int64_t *counts, int n);

#endif
