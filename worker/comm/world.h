/* The world's internals. Only files of this folder include it. */
#ifndef PACELINE_COMM_WORLD_H
#define PACELINE_COMM_WORLD_H

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>

#include <time.h>

#include "worker/comm/comm.h"
#include "worker/comm/shaper.h"

struct comm {
    int rank, size;
    int local_rank, local_size;
    MPI_Comm world; /* MPI_COMM_NULL: MPI was not started, size is 1 */
    int64_t patience;
    uint64_t *sent; /* bulk bytes to each rank of the whole world */
    int *ranks; /* of a part: its ranks' numbers in the whole world, whose `sent` it shares; else
                   NULL */

    /* A ticket lock. A thread holds it while it calls MPI or touches a reducer's lists. */
    atomic_uint next_ticket, serving;

    struct shaper shaper; /* of bulk messages */

    /* comm_lanes */
    MPI_Request lanes_request;
    double *lanes_mine, *lanes_all;
    size_t lanes_doubles, lanes_room;
    int *lanes_counts, *lanes_offsets; /* per rank */
};

/* A duplicate of the world for messages that their receiver checks. A message that is longer than
 * its buffer is an error that MPI returns; it does not abort. */
MPI_Comm comm_dup_checked(const struct comm *c);

/* Call after a receive from this rank is done, with MPI's return code. Ends the world unless the
 * message has exactly this many bytes. */
void comm_check_received(struct comm *c, int rank, int code, const MPI_Status *status, size_t bytes,
                         const char *what);

/* Call after a sum over all ranks, with MPI's return code. Ends the world unless it is MPI_SUCCESS.
 */
void comm_check_sum(struct comm *c, int code);

/* Counts bytes that are sent to a rank; to this rank itself if the receiver is unknown. */
static inline void comm_count(struct comm *c, int rank, uint64_t bytes)
{
    c->sent[c->ranks ? c->ranks[rank] : rank] += bytes;
}

static inline double comm_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void comm_lock(struct comm *c)
{
    unsigned ticket = atomic_fetch_add(&c->next_ticket, 1);

    while (atomic_load(&c->serving) != ticket)
        sched_yield();
}

static inline void comm_unlock(struct comm *c) { atomic_fetch_add(&c->serving, 1); }

#endif
