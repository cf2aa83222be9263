/*
 * The internals of a reducer, for the algorithms of this folder.
 *
 * Submitted ranges collect in `pending` until they are worth a message, move to `queue`, and are
 * cut into chunks. A chunk is a small state machine of one algorithm. Several run at once, each
 * with its own buffers, so receive buffers do not grow with the model. Every rank cuts the same
 * chunks in the same order.
 *
 * The size of a chunk depends on the transport. On one host a message is a copy, so few large
 * chunks cost least. Over a network Open MPI asks before it sends more than its eager limit, and
 * reports a message as complete only after everything that it has queued. Large chunks, which
 * should overlap, would then wait for each other, and the line would be idle until the next
 * request. So over a network messages stay below the limit, and more of them are under way.
 */
#ifndef PACELINE_COMM_REDUCER_H
#define PACELINE_COMM_REDUCER_H

#include <pthread.h>
#include <semaphore.h>

#include "worker/comm/world.h"

#define IN_FLIGHT_MIN 4 /* chunks */
#define IN_FLIGHT_MAX 16
#define SEGMENT_MAX ((size_t)64 * 1024) /* floats that one rank sums of a chunk, at most */
#define SEGMENT_MIN ((size_t)16 * 1024)
#define EAGER_BYTES ((size_t)63 * 1024) /* with its header below btl_tcp_eager_limit, 64 KB */
#define SEGMENT_LEAST ((size_t)256)     /* of a small chunk */
#define ALIGN_FLOATS ((size_t)16)
#define FUSION_MIN ((size_t)1024) /* floats */
#define FOLD_TILE ((size_t)2048)  /* floats summed at a time, so that they stay in the L1 cache */

struct range {
    size_t offset, n;
};

/* items[head..n) are there. */
struct ranges {
    struct range *items;
    size_t head, n, cap;
};

struct chunk {
    bool active;
    unsigned number; /* in the order of start; the same on every rank */
    size_t offset, n;
    int step; /* how far the algorithm is */
    int n_requests;
    MPI_Request *requests; /* this chunk's share of the reducer's */
    size_t *received;      /* of each request, bytes that it brings */
    int n_open, n_held;    /* messages under way, and messages held back (shaper) */
    double ready;          /* simulated network: nothing is acted on before this time */
    unsigned char *buffer;
};

/* One algorithm. */
struct reducer_ops {
    bool local_fold;                 /* a rank first sums its own blocks; only the sums travel */
    bool cut_is_order;               /* where chunks are cut changes the order of the sum */
    void (*plan)(struct reducer *r); /* sets piece_max, buffer_bytes and max_requests */
    void (*start)(struct reducer *r, struct chunk *p);
    /* Called when the chunk's messages have arrived. Returns true when the chunk is done. */
    bool (*advance)(struct reducer *r, struct chunk *p);
};
extern const struct reducer_ops tree_ops, ring_ops, mpi_ops, doubling_ops, naive_ops;

/* A block of any rank, and where its values of the running chunk are. */
struct leaf {
    int rank;
    float *data;          /* a block of this rank, or what was received */
    const uint16_t *wire; /* not NULL: what was received, as bf16 */
};

struct reducer {
    struct comm *comm;
    MPI_Comm world;
    const struct reduce_kernels *kernels;
    const struct reducer_ops *ops;
    struct reducer_config config;
    int rank, size;
    struct lane_tree tree;
    size_t n;

    /* The blocks of all ranks in lane order; this rank's are first_mine .. + n_mine. */
    int n_leaves, first_mine, n_mine;
    struct leaf *leaves;
    struct lane_block *leaf_blocks;
    bool *present;
    struct lane_add *adds;
    int n_adds, sum; /* sum: the leaf that ends up with it, -1: none is present */
    float *scratch;  /* bf16: FOLD_TILE floats per leaf */

    /* Per chunk, from ops->plan. */
    size_t segment, chunk_max; /* floats: what one rank sums at most, and all of it */
    size_t buffer_bytes;
    int in_flight, max_requests;
    MPI_Op bf16_sum;   /* mpi.c */
    size_t wire_bytes; /* of one value */
    MPI_Datatype wire_type;

    /* The running step. */
    uint32_t present_of; /* samples or batches that `present` and `adds` were made for */
    float *blocks[LANES_MAX_BLOCKS];
    bool finished;
    size_t pending_floats;
    struct ranges pending, queue, done;
    unsigned next_number;
    struct chunk chunks[IN_FLIGHT_MAX];
    MPI_Request *requests; /* max_requests for each chunk */
    int *finished_requests;
    MPI_Status *statuses; /* of these */
    struct held *held;    /* a ring of n_held from held_head, in order; chunk.c */
    size_t held_room, held_head, n_held;

    double wait_seconds;
    pthread_t thread;
    bool has_thread;
    atomic_bool stop;
    sem_t wake;
};

static inline bool is_mine(const struct reducer *r, int leaf)
{
    return leaf >= r->first_mine && leaf < r->first_mine + r->n_mine;
}

/* Sets in_flight, segment and piece_max for the transport. Chunks in flight, of `buffers` segments
 * each, stay below one slab where the least of them allow it. */
void plan_segments(struct reducer *r, size_t buffers);

/* Room for the sums of bf16 leaves; by `plan`. */
void reducer_need_scratch(struct reducer *r);

/* The index-th of the equal parts of a chunk, one per rank, counted from the chunk's start. */
struct range chunk_segment(const struct reducer *r, const struct chunk *p, int index);

/* Room for the chunks and their messages, after `plan`. */
void chunks_init(struct reducer *r);
void chunks_release(struct reducer *r);

/* Tests once whether messages of any chunk have arrived. MPI makes progress only in a call that
 * finds nothing complete, so a message that it finds then is reported by the next call. There is
 * one call for all chunks, because each call polls the network and yields the core where ranks are
 * many.
 */
bool chunks_poll(struct reducer *r);
/* Whether the last chunks_poll found all messages of the chunk; if so, the chunk has none left. */
bool chunk_arrived(struct chunk *p);
static inline bool chunk_waits(const struct chunk *p) { return p->n_open > 0 || p->n_held > 0; }

/* Where MPI puts the request of the chunk's next message, which brings so many bytes. */
MPI_Request *chunk_request(const struct reducer *r, struct chunk *p, size_t received);

/* Send or receive n values. Tags tell apart messages that two ranks have under way at once. */
void chunk_send(struct reducer *r, struct chunk *p, const void *values, size_t n, int rank,
                int tag);
void chunk_receive(struct reducer *r, struct chunk *p, void *values, size_t n, int rank, int tag);

/* Points this rank's leaves at floats offset.. of its blocks. */
void fold_locate_mine(struct reducer *r, size_t offset);

/* Each leaf of another rank has a segment at the beginning of a chunk's buffer, with its values as
 * they were sent. leaf_buffer returns that place; fold_locate_received points the leaves there. */
unsigned char *leaf_buffer(const struct reducer *r, const struct chunk *p, int leaf);
void fold_locate_received(struct reducer *r, const struct chunk *p);

/* Sums n values of all present leaves in tree order into out; zeros when none is present. */
void fold_leaves(struct reducer *r, size_t n, float *out);

/* acc[i] += wire[i]; wire has floats or bf16. */
void wire_add(const struct reducer *r, float *acc, const void *wire, size_t n);

/* Rounds x to bf16 in place and writes the rounded values to wire, too. */
void wire_round(const struct reducer *r, uint16_t *wire, float *x, size_t n);

#endif
