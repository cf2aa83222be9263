/* The verdict of a test under MPI: one rank that fails makes every rank fail. */
#ifndef PACELINE_MPI_TEST_H
#define PACELINE_MPI_TEST_H

#include "tests/test.h"
#include "worker/comm/comm.h"

/* Collective; ends the world. */
static inline int mpi_test_result(struct comm *c)
{
    int64_t failed = comm_max(c, test_result());

    if (test_failed)
        fprintf(stderr, "rank %d of %d: %d of %d checks failed\n", comm_rank(c), comm_size(c),
                test_failed, test_checked);
    comm_finalize(c);
    return failed != 0;
}

#endif
