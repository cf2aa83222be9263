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
#include "worker/lanes/lanes.h"
#include "worker/lanes/placement.h"

struct comm;

#define COMM_HOST_MAX 256

/* Joins the world; once per process, with argc and argv as main got them. A process without a
 * launcher, or alone under its launcher, is a world of one rank and does not start MPI. A later MPI
 * error prints one line and ends every rank. */
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
/* Collective. Returns a world of the ranks that pass the same `part`, in their order; NULL on ranks
 * that pass -1. Its messages take no simulated time. comm_part_free is collective too, and accepts
 * NULL. */
struct comm *comm_part(struct comm *c, int part);
void comm_part_free(struct comm *part);
/* The name of this rank's host: PACELINE_HOST, else the system's. */
void comm_host(char name[COMM_HOST_MAX]);
/* Collective. The lowest rank on another host than rank 0; -1: all share one. */
int comm_rank_elsewhere(struct comm *c);
/* Ends every rank of the world with this exit code, printing nothing; does not return. c may be
 * NULL: no world yet. */
_Noreturn void comm_abort(struct comm *c, int exit_code);

/* Simulates a slower network for this rank's bulk messages, which are those of ps_transport and of
 * all reducers except `mpi`: each direction carries bytes_per_second (0: no limit), and each
 * message takes `latency` seconds more. */
void comm_simulate(struct comm *c, double bytes_per_second, double latency);

/* The bytes of bulk messages that this rank has sent to each rank so far, those of its parts
 * included. MPI does not say to whom its own all-reduce sends, so those bytes count as sent to this
 * rank itself. */
const uint64_t *comm_sent(const struct comm *c);
uint64_t comm_bytes_sent(const struct comm *c); /* the sum */

/* Sets how long the calls below wait for other ranks. After that they end the world with one line
 * that says what they waited for. The default is COMM_FOR_EVER, no limit. Parts that are made later
 * inherit the value. */
#define COMM_FOR_EVER INT64_MAX
void comm_set_patience(struct comm *c, int64_t seconds);

/* Blocking, small, collective; not between reducer_begin and the last reducer_take. */
void comm_barrier(struct comm *c);
void comm_broadcast(struct comm *c, void *bytes, size_t n, int root);
int64_t comm_max(struct comm *c, int64_t value);
/* Sends n bytes from rank `from` to rank `to`; called by these two ranks, which differ. */
void comm_pass(struct comm *c, void *bytes, size_t n, int from, int to);
/* If the root fails, every rank gets its error. */
void comm_broadcast_err(struct comm *c, struct err *err, int root);
/* The sum over the ranks of this host. */
uint64_t comm_local_sum(struct comm *c, uint64_t value);
/* Collects n bytes of each rank on the root. `all` has room for them there, and may be NULL on
 * other ranks. */
void comm_gather(struct comm *c, const void *mine, size_t n, void *all, int root);

/*
 * Ends the world because of a message that no rank of this program sends. One line names the
 * sender, by its rank in c, and says what it sent and what is allowed ("a note of kind 9; allowed:
 * 0 to 3"). Messages are not authenticated, so every index, size and kind in them is checked before
 * it is used.
 */
_Noreturn void comm_refuse(struct comm *c, int rank, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses (comm_refuse) a flag that is neither 0 nor 1. Messages carry flags as bytes, because
 * reading a bool of any other value is undefined. */
void comm_check_flag(struct comm *c, int rank, uint8_t flag, const char *what);

/* Compares bytes (sum-order version, job, digests, ...) over all ranks. On a difference every rank
 * fails with ERR_INVALID, which names the first rank that differs from rank 0, and both hosts. A
 * rank other than 0 that has nothing to compare passes NULL. */
MUST_CHECK int comm_agree(struct comm *c, const char *what, const void *bytes, size_t n,
                          struct err *err);
/* Agrees on the result of a step that may have failed on some ranks only. Returns 0 if rc is 0 on
 * all of them; else -1 with the error of the lowest rank that failed, the same on every rank, so
 * that rank 0 can report it. */
MUST_CHECK int comm_verdict(struct comm *c, int rc, struct err *err);

/*
 * Reduction of a gradient slab. Each rank passes one partial sum per lane block (lanes.h):
 * blocks[i][0..n). After the reduction blocks[0] has the sum over all ranks, the same bytes on
 * every rank. With `tree`, `recursiveDoubling` and `naive`, and fp32 on the wire, these are the
 * bytes that one rank alone would compute. Blocks without a sample are not read. The other blocks
 * are scratch afterwards.
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
/* For parameters that only their owner updates. `tree` then sums the shards of the placement
 * instead of equal segments, and sends weights instead of sums back to the workers. The owners are
 * the ranks after the workers, or the workers themselves. Not with bf16. */
struct reducer_servers {
    const struct placement *placement;
    float *weights; /* of this rank; a range's weights may change once the range is submitted */
    /* Called at the owner when [offset, offset + n) is summed, by the thread that polls. */
    void (*update)(void *arg, size_t offset, size_t n, const float *gradients);
    void *arg;
};
/* Collective. A reducer for slabs of n floats, whose partial sums are the blocks of this tree. It
 * allocates all its buffers here, about one slab at most. */
struct reducer *reducer_new(struct comm *c, const struct kernels *k,
                            const struct reducer_config *config, struct lane_tree tree, size_t n);
/* Collective; not within a step. */
void reducer_free(struct reducer *r);

/* Starts a step over n samples or batches (at least 1); n determines which blocks of which rank are
 * absent. Copies the pointers. The reducer may use the slabs until the last range is taken. */
void reducer_begin(struct reducer *r, uint32_t n, float *const *blocks);
/* Submits a range whose partial sums are final in all local blocks. Every rank submits the same
 * values in the same order, in ranges of any length. The ranges of a step are disjoint. */
void reducer_submit(struct reducer *r, size_t offset, size_t n);
/* Moves things on without waiting; cheap; called between kernels. */
void reducer_poll(struct reducer *r);
/* reducer_finish sends what is left; no range may be submitted after it. Then each reducer_take
 * returns a finished range, in any order, and waits for one if it has to. It returns false when all
 * are taken, which ends the step. A taken range may be a part of a submitted one or span
 * neighbours; together they cover what was submitted. */
void reducer_finish(struct reducer *r);
bool reducer_take(struct reducer *r, size_t *offset, size_t *n);

/* The seconds that this rank has waited in reducer_take so far. */
double reducer_wait_seconds(const struct reducer *r);

/* Gathers n doubles per leaf: from this rank's leaves to those of all leaves, in order, on every
 * rank. comm_lanes_begin copies `mine` and returns; comm_lanes_end waits. Only one gather may be
 * under way. */
void comm_lanes_begin(struct comm *c, struct lane_tree tree, const double *mine, int n);
void comm_lanes_end(struct comm *c, double *all);

#endif
