/*
 * A set of samples as everybody sees it who trains, evaluates or compares: sizes, labels, and
 * functions that give a sample. Each kind of data implements struct dataset_ops; nobody else asks
 * what kind a set is.
 */
#ifndef PACELINE_DATASET_H
#define PACELINE_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/net.h"
#include "paceline/spec.h"
#include "worker/data/batch/normalize.h"

enum { SET_TRAIN, SET_TEST, N_SETS };

/* n samples of c*h*w values and their labels. */
struct dataset {
    const struct dataset_ops *ops;
    const void *own; /* what the functions need beside what is here */
    uint32_t n;
    struct shape shape;
    int classes;   /* of the named set; idx, arrays: 1 + the largest training label, or the values;
                      text: the words */
    int positions; /* labels of a sample */
    int values;    /* numbers, or bits, that a label is of; 0: labels are classes */
    int number;    /* of the set, SET_TRAIN or SET_TEST */
    const uint8_t *images;  /* samples in memory, or room for those that are kept */
    const uint16_t *labels; /* NULL where the functions give them */
    uint64_t values_digest; /* of all labels that are values */
    int readers;            /* threads that this rank may read with; 0: one is enough */
};

/* What a thread needs to read samples, and how long that took. */
struct sample_reader {
    const struct dataset_ops *ops; /* of the set */
    float *room;                   /* of a sample as floats */
    uint8_t *bytes;                /* and as bytes */
    void *own;                     /* the kind's */
    double decoding, converting;   /* seconds */
};

/* Functions may be called from many threads at once, each with a reader of its own. Those that
 * return int return 0, or -1 with *err. */
struct dataset_ops {
    bool ordered; /* samples follow each other, so they are never shuffled */
    bool floats;  /* raw gives floats, not bytes */
    bool mapped;  /* samples may not be in memory yet, whatever the job says */

    /* A reader's own; NULL: none is needed. */
    void *(*reader_new)(const struct job *job);
    void (*reader_free)(void *own);

    /* The pixels of a sample, in memory or in the reader's room; NULL: *err says why. Without this
     * function samples are not augmented, and `row` gives them. */
    const uint8_t *(*bytes)(const struct dataset *set, uint32_t id, struct sample_reader *r,
                            struct err *err);
    /* x[c*h*w] as the model sees it. */
    int (*row)(const struct dataset *set, uint32_t id, struct sample_reader *r,
               const struct normalizer *n, float *x, struct err *err);
    /* A sample as its file or the host's memory has it, or will have it, c*h*w bytes or floats, in
     * memory or in the reader's room. NULL: *err says why. Nothing is kept. */
    const void *(*raw)(const struct dataset *set, uint32_t id, struct sample_reader *r,
                       const struct normalizer *n, struct err *err);

    /* The labels of a sample, set->positions of them; NULL: one, in set->labels. */
    void (*labels)(const struct dataset *set, uint32_t id, uint32_t *labels);
    /* A label that is set->values numbers; NULL: there are none. */
    int (*values)(const struct dataset *set, uint32_t id, float *values, struct err *err);

    /* The digest that hosts compare (identity.h); NULL: of raw samples. */
    int (*digest)(const struct dataset *set, const struct job *job, uint64_t *digest,
                  struct err *err);
};

static inline size_t dataset_pixels(const struct dataset *set)
{
    return (size_t)set->shape.c * (size_t)set->shape.h * (size_t)set->shape.w;
}

void sample_reader_init(struct sample_reader *r, const struct dataset *set, const struct job *job);
void sample_reader_release(struct sample_reader *r); /* also fit for AUTO */

/* Seconds of a clock that only goes on. */
double sample_seconds(void);

/*
 * For each value of the labels, the sum over n samples of the squared distance from the mean, added
 * up in the order of the samples. n is at least 1; index NULL: the first n samples. Fails as
 * ops->values.
 */
MUST_CHECK int dataset_spread(const struct dataset *set, const uint32_t *index, uint32_t n,
                              double *spread, struct err *err);

#endif
