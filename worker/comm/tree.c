/*
 * tree: the one sum order at any rank count.
 *
 * A chunk is cut into one segment per rank (a small chunk is one rank's alone). Step 0: each rank
 * sends every segment's owner its block partials of it; the owner adds the blocks of all ranks in
 * tree order. Step 1: owners send their sums to all. With servers segments are shards, and what
 * their owners send to the workers are the weights that they have updated. A chunk that is smaller
 * still every rank owns: more bytes, and one message after another less.
 */
#include "worker/comm/reducer.h"

enum { STEP_REDUCE, STEP_GATHER };

#define SHARED_MAX ((size_t)2048) /* floats that a rank sends of a chunk that all sum */

/* Buffers of a chunk: partials of the others' blocks; with bf16 also what is sent (a slot of
 * piece_max per own block) and the sums (piece_max). */
static void tree_plan(struct reducer *r)
{
    size_t others = (size_t)(r->n_leaves - r->n_mine), peers = (size_t)r->size - 1;

    /* Ranks may own different numbers of blocks, but chunks must be the same everywhere. */
    plan_segments(r, r->n_leaves > 1 ? (size_t)r->n_leaves - 1 : 1);
    r->buffer_bytes = others * r->segment * r->wire_bytes;
    if (r->config.wire == WIRE_BF16) {
        r->buffer_bytes += ((size_t)r->n_mine + 1) * r->chunk_max * r->wire_bytes;
        reducer_need_scratch(r);
    }
    r->max_requests = (int)(others + (size_t)r->n_mine * peers);
    if (r->max_requests < (int)(2 * peers))
        r->max_requests = (int)(2 * peers);
}

/* Segments below 1 KB cost more than they carry; a chunk that has none fits into one. */
static bool has_segments(const struct reducer *r, const struct chunk *p)
{
    const size_t least = SEGMENT_LEAST * (size_t)r->size;

    return p->n > (least < SEGMENT_MIN ? least : SEGMENT_MIN);
}

/* What of a chunk is this rank's shard; a chunk has at most one of each server. */
static struct range shard_of(const struct reducer *r, const struct chunk *p, int rank)
{
    const struct placement *placement = r->config.servers->placement;
    const struct shard *s = placement_find(placement, p->offset);
    size_t begin = p->offset, piece_end = p->offset + p->n;

    for (; begin < piece_end; begin = s->offset + s->n, s++) {
        size_t shard_end = s->offset + s->n, end = shard_end < piece_end ? shard_end : piece_end;

        if (placement_owner(placement, s) == rank)
            return (struct range){begin - p->offset, end - begin};
    }
    return (struct range){0, 0};
}

/* Whether each rank sums all of a chunk. Not with bf16: owners go on with what they have rounded.
 */
static bool is_shared(const struct reducer *r, const struct chunk *p)
{
    return !r->config.servers && !has_segments(r, p) && r->config.wire == WIRE_FP32 &&
           p->n * (size_t)r->size <= SHARED_MAX;
}

/* The part of a chunk that a rank sums, counted from the chunk's start. */
static struct range segment_of(const struct reducer *r, const struct chunk *p, int rank)
{
    int owner = (int)(p->number % (unsigned)r->size);

    if (r->config.servers)
        return shard_of(r, p, rank);
    if (has_segments(r, p))
        return chunk_segment(r, p, rank);
    if (is_shared(r, p))
        return (struct range){0, p->n};
    return (struct range){0, owner == rank ? p->n : 0};
}

/* Whether what owners have made is sent to this rank. */
static bool takes_result(const struct reducer *r, int rank)
{
    return !r->config.servers || rank < r->tree.workers;
}

static int tree_tag_of(const struct chunk *p, int step)
{
    return (int)(p->number % 4096) * 2 + step;
}

/* bf16 only: place 0..n_mine-1 are own blocks, n_mine the sums. */
static uint16_t *tree_wire_buffer(const struct reducer *r, const struct chunk *p, int place)
{
    size_t others = (size_t)(r->n_leaves - r->n_mine);

    return (uint16_t *)(void *)p->buffer + others * r->segment + (size_t)place * r->chunk_max;
}

static void send_partials(struct reducer *r, struct chunk *p, int rank)
{
    struct range s = segment_of(r, p, rank);

    if (s.n == 0)
        return;
    for (int i = 0; i < r->n_mine; i++) {
        const float *values = r->blocks[i] + p->offset + s.offset;
        const void *wire = values;

        if (!r->present[r->first_mine + i])
            continue;
        if (r->config.wire == WIRE_BF16) {
            uint16_t *rounded = tree_wire_buffer(r, p, i) + s.offset;

            r->kernels->to_bf16(rounded, values, s.n);
            wire = rounded;
        }
        chunk_send(r, p, wire, s.n, rank, tree_tag_of(p, STEP_REDUCE));
    }
}

static void tree_start(struct reducer *r, struct chunk *p)
{
    struct range mine = segment_of(r, p, r->rank);

    for (int leaf = 0; leaf < r->n_leaves && mine.n > 0; leaf++)
        if (r->present[leaf] && !is_mine(r, leaf))
            chunk_receive(r, p, leaf_buffer(r, p, leaf), mine.n, r->leaves[leaf].rank,
                          tree_tag_of(p, STEP_REDUCE));
    for (int i = 1; i < r->size; i++)
        send_partials(r, p, (r->rank + i) % r->size);
}

/* Where what an owner has made of a segment is sent from or received into. */
static void *result_buffer(const struct reducer *r, const struct chunk *p, struct range s)
{
    if (r->config.servers)
        return r->config.servers->weights + p->offset + s.offset;
    if (r->config.wire == WIRE_BF16)
        return tree_wire_buffer(r, p, r->n_mine) + s.offset;
    return r->blocks[0] + p->offset + s.offset;
}

/* Sums the own segment and makes of it what the others get. */
static void make_result(struct reducer *r, struct chunk *p, struct range mine)
{
    const struct reducer_servers *servers = r->config.servers;

    fold_locate_mine(r, p->offset + mine.offset);
    fold_locate_received(r, p);
    fold_leaves(r, mine.n, r->blocks[0] + p->offset + mine.offset);
    if (servers)
        servers->update(servers->arg, p->offset + mine.offset, mine.n, r->blocks[0]);
    else if (r->config.wire == WIRE_BF16)
        wire_round(r, result_buffer(r, p, mine), r->blocks[0] + p->offset + mine.offset, mine.n);
}

static void start_gather(struct reducer *r, struct chunk *p)
{
    struct range mine = segment_of(r, p, r->rank);

    for (int i = 1; i < r->size && takes_result(r, r->rank); i++) {
        int rank = (r->rank + r->size - i) % r->size;
        struct range theirs = segment_of(r, p, rank);

        if (theirs.n > 0)
            chunk_receive(r, p, result_buffer(r, p, theirs), theirs.n, rank,
                          tree_tag_of(p, STEP_GATHER));
    }
    if (mine.n == 0)
        return;
    make_result(r, p, mine);
    for (int i = 1; i < r->size; i++) {
        int rank = (r->rank + i) % r->size;

        if (takes_result(r, rank))
            chunk_send(r, p, result_buffer(r, p, mine), mine.n, rank, tree_tag_of(p, STEP_GATHER));
    }
}

static bool tree_advance(struct reducer *r, struct chunk *p)
{
    if (is_shared(r, p)) {
        make_result(r, p, (struct range){0, p->n});
        return true;
    }
    if (p->step++ == STEP_REDUCE) {
        start_gather(r, p);
        return false;
    }
    if (r->config.wire == WIRE_BF16)
        for (int rank = 0; rank < r->size; rank++) {
            struct range s = segment_of(r, p, rank);

            if (rank != r->rank && s.n > 0)
                r->kernels->from_bf16(r->blocks[0] + p->offset + s.offset, result_buffer(r, p, s),
                                      s.n);
        }
    return true;
}

const struct reducer_ops tree_ops = {
    .plan = tree_plan, .start = tree_start, .advance = tree_advance};
