/* Whether all hosts hold the same data: a run never trains on several data sets of one name. */
#ifndef PACELINE_DATA_CHECK_H
#define PACELINE_DATA_CHECK_H

#include "worker/comm/comm.h"
#include "worker/data/data.h"

/*
 * Compares sizes, labels and samples (identity.h) of all sets. Collective. `reads`: this rank has
 * read them; the others see what such a one has. Where rank 0 is the only one, only what takes no
 * time is compared. ERR_INVALID: they differ; one sentence names the set, a rank and its host; else
 * the error of the lowest rank that cannot read a sample.
 */
MUST_CHECK int data_check(struct comm *comm, const struct job *job, const struct datasets *d,
                          bool reads, struct err *err);

/* comm_agree for what follows from the data. */
MUST_CHECK int data_check_derived(struct comm *comm, const struct job *job, const char *what,
                                  const void *bytes, size_t n, struct err *err);

#endif
