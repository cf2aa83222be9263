/* Checks that all hosts hold the same data, so that no run trains on different data of one name. */
#ifndef PACELINE_DATA_CHECK_H
#define PACELINE_DATA_CHECK_H

#include "worker/comm/comm.h"
#include "worker/data/data.h"

/*
 * Collective. Compares sizes, labels and samples (identity.h) of all sets between the ranks that
 * have read them (`reads`); the other ranks see the memory of such a rank. If rank 0 is the only
 * one that reads, only cheap comparisons are made. Fails with ERR_INVALID if the data differ: one
 * sentence names the set, a rank and its host. Otherwise it may fail with the error of the lowest
 * rank that cannot read a sample.
 */
MUST_CHECK int data_check(struct comm *comm, const struct job *job, const struct datasets *d,
                          bool reads, struct err *err);

/* Compares values that are derived from the data, like comm_agree. */
MUST_CHECK int data_check_derived(struct comm *comm, const struct job *job, const char *what,
                                  const void *bytes, size_t n, struct err *err);

#endif
