/*
 * Batches of a set's samples, in an order that depends only on (seed, epoch). Knows no MPI.
 */
#ifndef PACELINE_BATCHER_H
#define PACELINE_BATCHER_H

#include "worker/data/batch/dataset.h"

/* Samples of one batch: this rank's part only. */
struct batch {
    int64_t epoch;          /* 0-based */
    uint32_t index;         /* of the batch in its epoch */
    uint32_t n_global;      /* samples in the whole batch */
    uint32_t first, n;      /* this rank has samples first .. first+n of the batch */
    float *x;               /* [n][c*h*w], normalised; of a text the words' numbers */
    const uint32_t *labels; /* [n][positions]; with values 0 */
    const float *values;    /* [n][values]; NULL: labels are classes */
    const uint32_t *ids;    /* [n] index of each sample in the dataset: the key of dropout */
    const struct err
        *failure; /* why there is no x: a stream cannot read a file; NULL: all is well */
};

/* Which samples of its index-th batch, of n, a rank has; given by the lanes (worker/lanes/lanes.h).
 */
typedef void batch_range_fn(void *arg, uint32_t index, uint32_t n, uint32_t *first,
                            uint32_t *count);

struct distribution; /* worker/data/batch/distribution.h */

enum batch_order {
    BATCHES_ALL,      /* file order, the last partial batch included: for evaluation */
    BATCHES_TRAINING, /* as job->dataset.shuffle, .augment and job->training.last_batch say */
    BATCHES_DRAWN,    /* the same, for who seeks each: none is made ahead */
};

/*
 * Walks the batches of all epochs, starting with (0, 0); a thread makes up to dataset.prefetch
 * batches ahead (0: made in batcher_next), beginning with the first call. index NULL: samples
 * 0..n-1. With BATCHES_TRAINING and lastBatch drop, n must be at least batchSize.
 * With a distribution (NULL: none) batch b of an epoch is of the share of worker b mod N, that
 * worker's next one, and empty where its share has no more; an epoch lasts until all shares have
 * been walked. All that is given by address must outlive the batcher; range may be called from the
 * thread. Cannot fail.
 */
struct batcher;
struct batcher *batcher_new(const struct dataset *set, const uint32_t *index, uint32_t n,
                            const struct normalizer *normalizer, struct distribution *distribution,
                            const struct job *job, enum batch_order order, batch_range_fn *range,
                            void *arg);
void batcher_free(struct batcher *b);
/* Continues with this batch; batch may be batcher_batches(b): the start of the next epoch. */
void batcher_seek(struct batcher *b, int64_t epoch, uint32_t batch);
/* Makes nothing until the next call: the normaliser may change. A seek has to follow. NULL is fine.
 */
void batcher_hold(struct batcher *b);
uint32_t batcher_batches(const struct batcher *b); /* per epoch, by lastBatch */
/* Samples, over all ranks, of n batches of an epoch from this one on. */
uint32_t batcher_samples(const struct batcher *b, uint32_t batch, uint32_t n);
/* The next batch, across epoch ends; valid until the following call. Fails only by its failure. */
const struct batch *batcher_next(struct batcher *b);
/* The bytes of one batch of this many samples, with the values of their labels, and the number of
 * batches in a batcher, including those made ahead. */
size_t batch_bytes(size_t pixels, size_t labels, size_t samples);
size_t batch_slots(const struct job *job, enum batch_order order);
size_t batcher_bytes(const struct batcher *b);
/* What making batches has taken so far, ahead or not: `making` by the clock, and in it `decoding`
 * and `converting` rows, added up over the threads that do so. */
struct batcher_seconds {
    double making, decoding, converting;
};
struct batcher_seconds batcher_seconds(struct batcher *b);

#endif
