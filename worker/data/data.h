/*
 * Datasets (source.h has the kinds), checked strictly, held once per host as bytes, cut into
 * batches in an order that depends only on (seed, epoch). Knows no MPI.
 */
#ifndef PACELINE_DATA_H
#define PACELINE_DATA_H

#include "worker/data/batch/batcher.h"
#include "worker/data/store/kind.h"

/* The kind of data that job->dataset.name names. NULL, with *err (ERR_INVALID): there is none. */
const struct data_kind *datasets_kind(const struct job *job, struct err *err);

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

/* The facts of a set from its files, without reading samples; `whole`: labels and words are read,
 * too. Errors as datasets_load. */
MUST_CHECK int datasets_look(struct data_facts *f, const struct job *job, bool whole,
                             struct err *err);

/* Of n samples that are in order, those that dataset.limit leaves: whole batches. */
uint32_t datasets_whole_batches(const struct job *job, uint32_t n);

/* Divides `all` samples into those to train with and those to validate with. ERR_INVALID: one part
 * would be empty, or less than a whole batch is left to train with. */
MUST_CHECK int datasets_divide(const struct job *job, uint32_t all, uint32_t *n_train,
                               uint32_t *n_validation, struct err *err);

/* The same of who has no files: the shape and all samples as published; false: nobody knows. */
bool datasets_published(const struct job *job, struct shape *shape, uint32_t *n);

#endif
