/*
 * Who has which samples, where each worker trains on a share of its own (spec.dataset.distribution;
 * study 001). By kind:
 *
 *     iid         drawn, all samples alike
 *     contiguous  pieces of the training set in its order
 *     byLabel     pieces of it sorted by label (as McMahan et al. 2017, arXiv 1602.05629)
 *     dirichlet   each worker has its own mix of the K labels, q ~ Dir(alpha * K * p), where p is
 *                 that of the whole set (Hsu et al. 2019, arXiv 1909.06335); with equal p that is
 *                 Dir(alpha). A label that has run out is left out of the mixes.
 *     replicated  every worker has all samples, in the epoch's order, each from another place on
 *
 * But for the last, each sample is in exactly one share; shares are as large as `sizes` asks, to
 * one sample. Pure: a function of (seed, round, samples, workers), the round being the epoch /
 * reshuffleEveryEpochs; so all ranks, and a run that is resumed, deal alike.
 */
#ifndef PACELINE_DISTRIBUTION_H
#define PACELINE_DISTRIBUTION_H

#include "worker/data/batch/dataset.h"

struct distribution {
    const struct job *job;
    uint32_t n;
    int workers, classes;
    uint32_t *begin, *size; /* of each worker's share, in an epoch's order */
    uint16_t *label;        /* of each sample */
    uint16_t *owner;        /* of each sample, in this round */
    int64_t round;          /* -1: of none yet */
    uint32_t *list, *next;  /* room to deal in */
    uint32_t *left;         /* of each label */
    double *weights;        /* each worker's urn */
};

/* Samples 0..n-1 are index[i] of the set (NULL: i), below 65536 workers. job outlives it. */
void distribution_init(struct distribution *d, const struct job *job, const struct dataset *set,
                       const uint32_t *index, uint32_t n, int workers);
void distribution_release(struct distribution *d);

/* Writes an epoch's order: the k-th sample of worker w, of its size[w], is order[(begin[w] + k) %
 * n]. Within a share samples come as in the shuffled epoch of a job without distribution, or
 * unshuffled. */
void distribution_order(struct distribution *d, uint32_t *order, uint32_t epoch);

#endif
