/*
 * Datasets (source.h has the kinds), checked strictly, held once per host as bytes, cut into
 * batches in an order that depends only on (seed, epoch). Knows no MPI.
 */
#ifndef PACELINE_DATA_H
#define PACELINE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/net.h"
#include "paceline/spec.h"
#include "worker/data/batch/normalize.h"

/* n samples of c*h*w bytes and their labels, or rows of words (text.h); memory is shared by the
 * ranks of a host. */
struct dataset {
    uint32_t n;
    struct shape shape;
    int classes;   /* of the named set; idx, arrays: 1 + the largest training label, or the values;
                      text: the words */
    int positions; /* labels of a sample */
    int values;    /* of arrays: numbers, or bits, that a label is of; 0: labels are classes */
    int number;    /* of the set, SET_TRAIN or SET_TEST */
    const uint8_t *images;  /* with a stream: room for those that are kept */
    const float *rows;      /* in place of images: as the model sees them (dataset.rowConvert) */
    const uint16_t *labels; /* NULL with values, which arrays.h reads */
    uint64_t values_digest; /* of all of them */
    const uint32_t *tokens; /* text: numbers of words, streams * stream_length of them */
    uint32_t streams;
    size_t stream_length;
    const struct arrays *arrays; /* numbers in files (arrays.h) instead of images, or NULL */
    struct image_stream *stream; /* decodes when asked (image_stream.h); NULL: images are there */
    int readers;                 /* threads that this rank may decode with */
};

/* The three sets of a job: train, validation (possibly empty) and test. Index lists refer to
 * `train` and ascend; validation is drawn from (seed) once, never overlapping the training list.
 * Both come from the first dataset.limit samples. A text has files of its own for each set, and no
 * lists: their samples are in order. */
struct datasets {
    struct dataset train, validation, test;
    uint32_t *train_index, n_train;
    uint32_t *validation_index, n_validation;
    void *mapping;         /* owner of the bytes */
    struct arrays *arrays; /* owner of the files and labels, where there are some */
    /* The names of train.classes classes, of a text its words: each ended by a NUL, one after the
     * other. NULL: they have none. */
    const char *class_names;
    char *own_names; /* the same, where nobody else owns them */
    size_t mapping_bytes;
    double read_seconds; /* that loading took; set by who times it */
};

/*
 * Loads the sets that job->dataset names. With local_size > 1 the ranks of a host share one copy:
 * local rank 0 inflates into shared memory named after run_id, the others wait for it (and fail
 * when it died or failed); the name is gone once all have mapped it. run_id "" with
 * local_size 1: private memory. Errors: ERR_NOT_FOUND (names the file looked for and how to get
 * it), ERR_DAMAGED (file, what was found, what is allowed), ERR_IO. On failure *d is empty.
 */
MUST_CHECK int datasets_load(struct datasets *d, const struct job *job, const char *run_id,
                             int local_rank, int local_size, struct err *err);
void datasets_release(struct datasets *d);

/* Only the sample shape and the sizes of the two sets, without reading the samples: for validate.
 * Errors as datasets_load. */
MUST_CHECK int datasets_peek(const struct job *job, struct shape *shape, uint32_t *n_train,
                             uint32_t *n_test, struct err *err);

/* Divides `all` samples into those to train with and those to validate with. ERR_INVALID: one part
 * would be empty, or less than a whole batch is left to train with. */
MUST_CHECK int datasets_divide(const struct job *job, uint32_t all, uint32_t *n_train,
                               uint32_t *n_validation, struct err *err);

/* The same of who has no files: the shape and all samples as published; false: nobody knows. */
bool datasets_published(const struct job *job, struct shape *shape, uint32_t *n);

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
