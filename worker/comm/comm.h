/*
 * Communication between ranks. This folder alone includes mpi.h.
 *
 * Start-up, small exchanges and aborting live in comm.c; gradient reduction in reducer.c with one
 * file per algorithm (tree.c, ring.c, mpi.c). Only the thread that called comm_init may call in.
 * (MPI_THREAD_SERIALIZED: a reducer's communication thread takes turns with it under one lock.)
 *
 * Transport is the launcher's choice: on one host pml ob1 with btl self,vader (Open MPI 5:
 * self,sm), and mpi_yield_when_idle when ranks x threads exceed the cores.
 */
#ifndef PACELINE_COMM_H
#define PACELINE_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/spec.h"
#include "worker/kernels/kernels.h"
#include "worker/model/lanes.h"

struct comm;

#define COMM_HOST_MAX 256

/* One world per process; argc, argv as main got them. A process that no launcher started, or that
 * is its launcher's only one, is a world of one rank and does not start MPI at all. An MPI error
 * later prints one line and ends every rank. */
struct comm *comm_init(int *argc, char ***argv);
/* Collective. */
void comm_finalize(struct comm *c);
int comm_rank(const struct comm *c);
int comm_size(const struct comm *c);
/* This rank among the ranks of its host, and how many those are. */
int comm_local_rank(const struct comm *c);
int comm_local_size(const struct comm *c);
/* The rank that a launcher has given this process, known before comm_init; 0 without a launcher. */
int comm_launched_rank(void);
/* The name of this rank's host: PACELINE_HOST, else the system's. */
void comm_host(char name[COMM_HOST_MAX]);
/* Collective. The lowest rank on another host than rank 0; -1: all share one. */
int comm_rank_elsewhere(struct comm *c);
/* Ends every rank of the world with this exit code, printing nothing; does not return. c may be
 * NULL: no world yet. */
_Noreturn void comm_abort(struct comm *c, int exit_code);

/* Blocking, small, collective; not between reducer_begin and the last reducer_take. */
void comm_barrier(struct comm *c);
void comm_broadcast(struct comm *c, void *bytes, size_t n, int root);
int64_t comm_max(struct comm *c, int64_t value);
/* n bytes of each rank; all has room for them on the root, and may be NULL elsewhere. */
void comm_gather(struct comm *c, const void *mine, size_t n, void *all, int root);

/* Compares bytes (world size, sum-order version, spec hash, ...) over all ranks: on a difference
 * err (ERR_INVALID) names the first rank that differs from rank 0; the same verdict on every
 * rank. */
MUST_CHECK int comm_agree(struct comm *c, const char *what, const void *bytes, size_t n,
                          struct err *err);

/*
 * Reduction of a gradient slab. The rank's gradient comes as one partial sum per lane block
 * (lanes.h): blocks[i][0..n). After reduction the sum over all ranks is in blocks[0][...] on
 * every rank, the same bytes everywhere; with `tree`, the bytes that one rank would have (fp32 on
 * the wire). Blocks without a sample are not read; the other blocks are scratch afterwards.
 */
struct reducer;
struct reducer_config {
    enum algorithm algorithm;
    enum wire_type wire;
    enum comm_schedule schedule; /* end: nothing is sent before reducer_finish */
    size_t fusion_bytes;         /* neighbouring ranges are sent together up to this size */
    bool thread;                 /* a communication thread of its own */
};
/* Collective; for slabs of n floats cut into so many lanes (at least comm_size). All buffers are
 * allocated here, at most about one slab. */
struct reducer *reducer_new(struct comm *c, const struct kernels *k,
                            const struct reducer_config *config, int lanes, size_t n);
/* Collective; not within a step. */
void reducer_free(struct reducer *r);

/* Starts a step over a batch of n_samples (at least 1): which blocks of which rank are absent
 * follows from it. The pointers are copied; the slabs stay the reducer's until all is taken. */
void reducer_begin(struct reducer *r, uint32_t n_samples, float *const *blocks);
/* The range's partial sums are final in all local blocks; every rank submits the same ranges in
 * the same order. Ranges of a step are disjoint. */
void reducer_submit(struct reducer *r, size_t offset, size_t n);
/* Moves things on without waiting; cheap; called between kernels. */
void reducer_poll(struct reducer *r);
/* No more ranges come: sends what is left. Then reducer_take gives back finished ranges in any
 * order, waiting for one if need be; false when all were taken, which ends the step. Together they
 * are what was submitted, but a range may be a part of a submitted one or span neighbours. */
void reducer_finish(struct reducer *r);
bool reducer_take(struct reducer *r, size_t *offset, size_t *n);

/* Bytes sent and seconds waited in reducer_take by this rank so far. `mpi` hides what it sends;
 * there the bytes handed to it are counted. */
struct reducer_stats {
    uint64_t bytes_sent;
    double wait_seconds;
};
struct reducer_stats reducer_stats(const struct reducer *r);

/* Per-lane values of this rank -> all lanes on every rank, in lane order; n doubles per lane.
 * Begins now (mine is copied), ends in comm_lanes_end, which waits; one may be under way. */
void comm_lanes_begin(struct comm *c, const struct lanes *l, const double *mine, int n);
void comm_lanes_end(struct comm *c, double *all);

#endif
