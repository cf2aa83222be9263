/*
 * Normalisation: what the bytes of a sample become. By dataset.normalizeBy:
 *
 *     given    (b / 255 - mean) / std       of dataset.normalize
 *     channel  (b / 255 - mean_c) / std_c   of all pixels of the training set in channel c
 *     pixel    b / 255 - mean_k             of pixel k of channel, row and column (He et al. 2016)
 *
 * Statistics are made of integer sums over bytes, which anybody may add in any order, so they are
 * the same numbers however many ranks share the adding. They are part of a checkpoint, as floats,
 * and what is computed from then on follows from these floats alone. Knows no MPI.
 */
#ifndef PACELINE_NORMALIZE_H
#define PACELINE_NORMALIZE_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/spec.h"

struct normalizer {
    enum normalize_by by;
    struct shape shape;
    size_t n_mean, n_std; /* statistics of the training set; 0: none */
    float *mean, *std;    /* [c] and [c]; [c][h][w] and none */
    float *tables;        /* [c][256], or one for all channels: what a byte becomes */
};

/* Statistics, where there are some: mean 0, std 1. */
void normalizer_init(struct normalizer *n, const struct job *job, struct shape shape);
void normalizer_release(struct normalizer *n);

/* How many sums there are; 0: nothing is learnt from the samples. */
size_t normalizer_sums(const struct normalizer *n);
/* Adds a sample's bytes, [c][h][w], to the sums. */
void normalizer_add(const struct normalizer *n, uint64_t *sums, const uint8_t *bytes);
/* Statistics of so many samples (1 or more). A channel that is the same everywhere has std 1. */
void normalizer_learn(struct normalizer *n, const uint64_t *sums, uint64_t samples);
/* After mean and std were written. */
void normalizer_use(struct normalizer *n);

void normalizer_apply(const struct normalizer *n, float *x, const uint8_t *bytes);

#endif
