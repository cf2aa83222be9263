/*
 * naive: every rank sends the sums of its blocks to every other, and all fold the whole in tree
 * order: the bytes of `tree` for p (p - 1) times a chunk on the wire, in one exchange.
 *
 * bf16: what travels is rounded, and the sender goes on with the rounded values itself, so that
 * all fold the same; the sum is rounded as everywhere.
 */
#include "worker/comm/reducer.h"

/* Of segments: one per block of the others; with bf16 also one per own block, and the sum's. */
static void naive_plan(struct reducer *r)
{
    size_t others = (size_t)(r->n_leaves - r->n_mine), segments = others;

    plan_segments(r, r->n_leaves > 1 ? (size_t)r->n_leaves - 1 : 1);
    r->chunk_max = r->segment;
    if (r->config.wire == WIRE_BF16) {
        segments += (size_t)r->n_mine + 1;
        reducer_need_scratch(r);
    }
    r->buffer_bytes = segments * r->segment * r->wire_bytes;
    r->max_requests = (int)others + r->n_mine * (r->size - 1);
}

/* bf16 only: place 0..n_mine-1 are own blocks, n_mine the sum. */
static uint16_t *naive_wire_buffer(const struct reducer *r, const struct chunk *p, int place)
{
    size_t others = (size_t)(r->n_leaves - r->n_mine);

    return (uint16_t *)(void *)p->buffer + (others + (size_t)place) * r->segment;
}

static void naive_start(struct reducer *r, struct chunk *p)
{
    const int tag = (int)(p->number % 8192);

    for (int leaf = 0; leaf < r->n_leaves; leaf++)
        if (r->present[leaf] && !is_mine(r, leaf))
            chunk_receive(r, p, leaf_buffer(r, p, leaf), p->n, r->leaves[leaf].rank, tag);
    for (int i = 0; i < r->n_mine; i++) {
        float *values = r->blocks[i] + p->offset;
        void *wire = values;

        if (!r->present[r->first_mine + i])
            continue;
        if (r->config.wire == WIRE_BF16)
            wire_round(r, wire = naive_wire_buffer(r, p, i), values, p->n);
        for (int k = 1; k < r->size; k++)
            chunk_send(r, p, wire, p->n, (r->rank + k) % r->size, tag);
    }
}

static bool naive_advance(struct reducer *r, struct chunk *p)
{
    float *sum = r->blocks[0] + p->offset;

    fold_locate_mine(r, p->offset);
    fold_locate_received(r, p);
    fold_leaves(r, p->n, sum);
    if (r->config.wire == WIRE_BF16)
        wire_round(r, naive_wire_buffer(r, p, r->n_mine), sum, p->n);
    return true;
}

const struct reducer_ops naive_ops = {
    .plan = naive_plan, .start = naive_start, .advance = naive_advance};
