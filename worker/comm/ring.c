/*
 * ring: each rank folds its own blocks, then a chunk's segments travel round the ring, first
 * collecting sums (steps 0..p-2), then carrying them to all (steps p-1..2p-3). The order depends
 * on the rank count, and on where chunks are cut. A rank without samples adds zeros.
 */
#include "worker/comm/reducer.h"

static bool is_gather(const struct reducer *r, int step) { return step >= r->size - 1; }

/* The segment that this rank sends in a step; what it receives is the one before. */
static int sent_segment(const struct reducer *r, int step)
{
    return (r->rank + 2 * r->size - step + is_gather(r, step) * r->size) % r->size;
}

static struct range received(const struct reducer *r, const struct chunk *p)
{
    return chunk_segment(r, p, (sent_segment(r, p->step) + r->size - 1) % r->size);
}

static float *sums(const struct reducer *r, const struct chunk *p, struct range s)
{
    return r->blocks[0] + p->offset + s.offset;
}

/* bf16 has two buffers: a step sends one and receives the other, which the next step sends. */
static uint16_t *ring_wire_buffer(const struct reducer *r, const struct chunk *p, int step)
{
    return (uint16_t *)(void *)p->buffer + (step % 2 ? r->segment : 0);
}

static void *receive_buffer(const struct reducer *r, const struct chunk *p)
{
    if (r->config.wire == WIRE_BF16)
        return ring_wire_buffer(r, p, p->step + 1);
    return is_gather(r, p->step) ? sums(r, p, received(r, p)) : (void *)p->buffer;
}

static void ring_start_step(struct reducer *r, struct chunk *p)
{
    struct range in = received(r, p), out = chunk_segment(r, p, sent_segment(r, p->step));
    const void *values = sums(r, p, out);
    int tag = (int)(p->number % 8192);

    if (in.n > 0)
        chunk_receive(r, p, receive_buffer(r, p), in.n, (r->rank + r->size - 1) % r->size, tag);
    if (out.n == 0)
        return;
    if (r->config.wire == WIRE_BF16) {
        values = ring_wire_buffer(r, p, p->step);
        if (!is_gather(r, p->step))
            r->kernels->to_bf16(ring_wire_buffer(r, p, p->step), sums(r, p, out), out.n);
    }
    chunk_send(r, p, values, out.n, (r->rank + 1) % r->size, tag);
}

static void ring_plan(struct reducer *r)
{
    plan_segments(r, 1);
    r->buffer_bytes = r->segment * sizeof(float); /* or two segments of bf16 */
    r->max_requests = 2;
}

static void ring_start(struct reducer *r, struct chunk *p)
{
    fold_locate_mine(r, p->offset);
    fold_leaves(r, p->n, r->blocks[0] + p->offset);
    ring_start_step(r, p);
}

static bool ring_advance(struct reducer *r, struct chunk *p)
{
    struct range in = received(r, p);
    bool bf16 = r->config.wire == WIRE_BF16;

    if (!is_gather(r, p->step)) {
        wire_add(r, sums(r, p, in), receive_buffer(r, p), in.n);
        if (bf16 && is_gather(r, p->step + 1))
            wire_round(r, ring_wire_buffer(r, p, p->step + 1), sums(r, p, in), in.n);
    } else if (bf16) {
        r->kernels->from_bf16(sums(r, p, in), receive_buffer(r, p), in.n);
    }
    if (++p->step == 2 * (r->size - 1))
        return true;
    ring_start_step(r, p);
    return false;
}

const struct reducer_ops ring_ops = {.local_fold = true,
                                     .cut_is_order = true,
                                     .plan = ring_plan,
                                     .start = ring_start,
                                     .advance = ring_advance};
