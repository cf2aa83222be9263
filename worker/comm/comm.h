/*
 * Communication between ranks. This folder alone includes mpi.h.
 *
 * Start-up, small exchanges and aborting live in comm.c; gradient reduction in reducer.c with one
 * file per algorithm (tree.c, doubling.c, naive.c, ring.c, mpi.c). Only the thread that called
 * comm_init may call in. (MPI_THREAD_SERIALIZED: a reducer's communication thread takes turns with
 * it under one lock.)
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
#include "worker/model/placement.h"

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
/* Collective. A world of the ranks that say the same `part`, in their order; NULL to those who say
 * -1. Its messages take no simulated time. comm_part_free, also collective, takes NULL. */
struct comm *comm_part(struct comm *c, int part);
void comm_part_free(struct comm *part);
/* The name of this rank's host: PACELINE_HOST, else the system's. */
void comm_host(char name[COMM_HOST_MAX]);
/* Collective. The lowest rank on another host than rank 0; -1: all share one. */
int comm_rank_elsewhere(struct comm *c);
/* Ends every rank of the world with this exit code, printing nothing; does not return. c may be
 * NULL: no world yet. */
_Noreturn void comm_abort(struct comm *c, int exit_code);

/* Bulk messages of this rank (those of reducers, but of `mpi`, and of exchanges) from now on take
 * the time of a network of so many bytes per second in each direction (0: no limit), and so many
 * seconds more. */
void comm_simulate(struct comm *c, double bytes_per_second, double latency);

/* Bytes of bulk messages that this rank has sent to each so far, those of its parts included. MPI
 * hides to whom an all-reduce of its own sends: what is handed to it counts as sent to itself. */
const uint64_t *comm_sent(const struct comm *c);
uint64_t comm_bytes_sent(const struct comm *c); /* the sum */

/* The calls below wait so many seconds for other ranks, then end the world with one line that says
 * for what; at first, and with COMM_FOR_EVER, there is no end. Parts made later have the same. */
#define COMM_FOR_EVER INT64_MAX
void comm_set_patience(struct comm *c, int64_t seconds);

/* Blocking, small, collective; not between reducer_begin and the last reducer_take. */
void comm_barrier(struct comm *c);
void comm_broadcast(struct comm *c, void *bytes, size_t n, int root);
int64_t comm_max(struct comm *c, int64_t value);
/* n bytes of rank `from` to rank `to`; called by these two, which are not one. */
void comm_pass(struct comm *c, void *bytes, size_t n, int from, int to);
/* If the root fails, every rank gets its error. */
void comm_broadcast_err(struct comm *c, struct err *err, int root);
/* Over the ranks of this host alone. */
uint64_t comm_local_sum(struct comm *c, uint64_t value);
/* n bytes of each rank; all has room for them on the root, and may be NULL elsewhere. */
void comm_gather(struct comm *c, const void *mine, size_t n, void *all, int root);

/*
 * Ends the world because of a message that no rank of this program sends. One line names the
 * sender, by its rank in c, and says what it sent and what is allowed ("a note of kind 9; allowed:
 * 0 to 3"). Messages are not authenticated, so every index, size and kind in them is checked before
 * it is used.
 */
_Noreturn void comm_refuse(struct comm *c, int rank, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a yes or no that is neither 1 nor 0. Messages have no bool: to read one of another value
 * is undefined. */
void comm_check_flag(struct comm *c, int rank, uint8_t flag, const char *what);

/* Compares bytes (sum-order version, job, digests, ...) over all ranks: on a difference err
 * (ERR_INVALID) names the first rank that differs from rank 0, and both hosts; the same verdict on
 * every rank. bytes NULL, but on rank 0: this one has nothing to compare. */
MUST_CHECK int comm_agree(struct comm *c, const char *what, const void *bytes, size_t n,
                          struct err *err);
/* After what some ranks alone may have failed in: 0 if rc is 0 on all of them. Else -1, and the
 * error of the lowest rank that has one becomes everybody's: rank 0 is the one who tells. */
MUST_CHECK int comm_verdict(struct comm *c, int rc, struct err *err);

/*
 * Reduction of a gradient slab. The rank's gradient comes as one partial sum per lane block
 * (lanes.h): blocks[i][0..n). After reduction the sum over all ranks is in blocks[0][...] on
 * every rank, the same bytes everywhere; with `tree`, `recursiveDoubling` and `naive`, the bytes
 * that one rank would have (fp32 on the wire). Blocks without a sample are not read; the other
 * blocks are scratch afterwards.
 */
struct reducer;
struct reducer_config {
    enum algorithm algorithm;
    enum wire_type wire;
    enum comm_schedule schedule;           /* end: nothing is sent before reducer_finish */
    size_t fusion_bytes;                   /* ranges are sent together, so many bytes at a time */
    bool thread;                           /* a communication thread of its own */
    const struct reducer_servers *servers; /* NULL: sums go to every rank */
};
/* Parameters have owners, who alone update them: to `tree` the shards of the placement are what its
 * segments are else, and what goes back to the workers is weights. Servers are after the workers,
 * or the workers. bf16 is not for these. */
struct reducer_servers {
    const struct placement *placement;
    float *weights; /* of this rank; those of a submitted range change from then on */
    /* At the owner: [offset, offset + n) is summed. By the thread that polls. */
    void (*update)(void *arg, size_t offset, size_t n, const float *gradients);
    void *arg;
};
/* Collective; for slabs of n floats whose partial sums are blocks of this tree. All buffers are
 * allocated here, at most about one slab. */
struct reducer *reducer_new(struct comm *c, const struct kernels *k,
                            const struct reducer_config *config, struct lane_tree tree, size_t n);
/* Collective; not within a step. */
void reducer_free(struct reducer *r);

/* Starts a step over n samples, or batches (at least 1): which blocks of which rank are absent
 * follows from it. The pointers are copied; the slabs stay the reducer's until all is taken. */
void reducer_begin(struct reducer *r, uint32_t n, float *const *blocks);
/* The range's partial sums are final in all local blocks; every rank submits the same values in
 * the same order, in ranges of any length. Ranges of a step are disjoint. */
void reducer_submit(struct reducer *r, size_t offset, size_t n);
/* Moves things on without waiting; cheap; called between kernels. */
void reducer_poll(struct reducer *r);
/* No more ranges come: sends what is left. Then reducer_take gives back finished ranges in any
 * order, waiting for one if need be; false when all were taken, which ends the step. Together they
 * are what was submitted, but a range may be a part of a submitted one or span neighbours. */
void reducer_finish(struct reducer *r);
bool reducer_take(struct reducer *r, size_t *offset, size_t *n);

/* Seconds waited in reducer_take by this rank so far. */
double reducer_wait_seconds(const struct reducer *r);

/* Values of this rank's leaves -> those of all leaves on every rank, in order; n doubles per leaf.
 * Begins now (mine is copied), ends in comm_lanes_end, which waits; one may be under way. */
void comm_lanes_begin(struct comm *c, struct lane_tree tree, const double *mine, int n);
void comm_lanes_end(struct comm *c, double *all);

#endif
