/*
 * Normalisation: what the values of a sample become. Of bytes b, by dataset.normalizeBy:
 *
 *     given    (b / 255 - mean) / std       of dataset.normalize
 *     channel  (b / 255 - mean_c) / std_c   of all pixels of the training set in channel c
 *     pixel    b / 255 - mean_k             of pixel k of channel, row and column (He et al. 2016)
 *
 * Of samples that are floats a value stands in the place of b / 255, and each input of the network
 * has channels of its own.
 *
 * Statistics of bytes are made of integer sums over bytes, which anybody may add in any order, so
 * they are the same numbers however many ranks share the adding. Those of floats are sums of
 * doubles in the order of the samples, which each rank makes for itself. They are part of a
 * checkpoint, as floats, and what is computed from then on follows from these floats alone. Knows
 * no MPI.
 */
#ifndef PACELINE_NORMALIZE_H
#define PACELINE_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/spec.h"

struct normalizer {
    enum normalize_by by;
    struct shape shape;
    bool floats;          /* samples are numbers, not bytes (dataset.name arrays) */
    size_t *ends;         /* [n_mean], of floats: where a channel, or pixel, ends in a sample */
    size_t n_mean, n_std; /* statistics of the training set; 0: none */
    float *mean, *std;    /* [c] and [c]; [c][h][w] and none */
    float *tables;        /* of bytes, [c][256] or one for all channels: what a byte becomes */
    float given_mean, given_std;
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
/* What gives each sample of a training set of floats, [c][h][w], in their order; -1: it cannot. */
typedef int normalizer_sample_fn(void *arg, uint32_t i, float *x, struct err *err);
/* Statistics of so many samples of floats (1 or more). -1: a sample could not be had. */
MUST_CHECK int normalizer_learn_floats(struct normalizer *n, normalizer_sample_fn *sample,
                                       void *arg, uint32_t samples, struct err *err);

/* After mean and std were written. */
void normalizer_use(struct normalizer *n);

void normalizer_apply(const struct normalizer *n, float *x, const uint8_t *bytes);
/* In place. */
void normalizer_apply_floats(const struct normalizer *n, float *x);

#endif
