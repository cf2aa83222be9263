/*
 * Datasets (source.h has the kinds), checked strictly, held once per host as bytes, cut into
 * batches in an order that depends only on (seed, epoch). Knows no MPI.
 */
#ifndef PACELINE_DATA_H
#define PACELINE_DATA_H

#include "worker/data/batch/batcher.h"

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

#endif
