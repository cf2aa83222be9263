/*
 * recursiveDoubling: the sums of the one tree on another schedule. In round k a rank exchanges all
 * it has with the rank 2^k away, so that the groups of ranks that have the same double; log2 p
 * messages of whole chunks one after another: for small ones, where latency counts.
 *
 * A group's ranks are neighbours, so its lanes are contiguous: a few aligned subtrees, whose sums
 * are what travels. Both sides of an exchange add the same two in tree order, which gives the
 * bytes of `tree`. Where p is no power of two, the first ranks go in pairs: the second of a pair
 * gives its sums to the first before round 0, and gets the result after the last round (the
 * scheme of Rabenseifner, 2004, for counts that are no power of two).
 *
 * bf16: who sends rounds, and goes on with the rounded values itself, so that both sides have the
 * same; the sum is rounded as everywhere.
 */
#include <assert.h>

#include "worker/comm/reducer.h"

/* The ranks of a chunk's step: those first .. first + n - 1 have the same sums. */
struct doubling_group {
    int first, n;
};

static int rounds(const struct reducer *r)
{
    int n = 0;

    while (2 << n <= r->size)
        n++;
    return n;
}

/* How many ranks are the second of a pair. */
static int n_pairs(const struct reducer *r) { return r->size - (1 << rounds(r)); }

/* The ranks that exchange are counted without the seconds: 0 .. 2^rounds - 1. */
static int doubling_number_of(const struct reducer *r, int rank)
{
    return rank < 2 * n_pairs(r) ? rank / 2 : rank - n_pairs(r);
}

static int rank_of(const struct reducer *r, int number)
{
    return number < n_pairs(r) ? 2 * number : number + n_pairs(r);
}

static bool is_second(const struct reducer *r, int rank)
{
    return rank < 2 * n_pairs(r) && rank % 2 == 1;
}

/* The group of 2^round numbers that has this one. */
static struct doubling_group group_of(const struct reducer *r, int number, int round)
{
    int begin = number >> round << round, first = rank_of(r, begin);

    return (struct doubling_group){first, rank_of(r, begin + (1 << round)) - first};
}

/* What a group has: of each leaf whether a sum is there, and which of r->adds are in these. */
struct holding {
    bool live[LANES_MAX], done[LANES_MAX];
};

/* An add needs both sides, each with all that belongs to it; the adds are in the tree's order. */
static void hold(const struct reducer *r, struct doubling_group g, struct holding *h)
{
    bool partial[LANES_MAX] = {false};

    for (int leaf = 0; leaf < r->n_leaves; leaf++) {
        int rank = r->leaves[leaf].rank;

        h->live[leaf] = r->present[leaf] && rank >= g.first && rank < g.first + g.n;
    }
    for (int k = 0; k < r->n_adds; k++) {
        int into = r->adds[k].into, from = r->adds[k].from;

        h->done[k] = h->live[into] && h->live[from] && !partial[into] && !partial[from];
        if (h->done[k])
            h->live[from] = false;
        else
            partial[into] = true;
    }
}

/* Segments: a float one per block of the others; with bf16 one of bf16 per block, and the sum's. */
static void doubling_plan(struct reducer *r)
{
    size_t leaves = (size_t)r->n_leaves, others = (size_t)(r->n_leaves - r->n_mine);

    plan_segments(r, leaves > 1 ? leaves - 1 : 1);
    r->chunk_max = r->segment;
    r->buffer_bytes = others * r->segment * sizeof(float);
    if (r->config.wire == WIRE_BF16)
        r->buffer_bytes += (leaves + 1) * r->segment * sizeof(uint16_t);
    r->max_requests = (int)leaves + 1;
}

static float *doubling_values_of(const struct reducer *r, const struct chunk *p, int leaf)
{
    int place = leaf < r->first_mine ? leaf : leaf - r->n_mine;

    if (is_mine(r, leaf))
        return r->blocks[leaf - r->first_mine] + p->offset;
    return (float *)(void *)p->buffer + (size_t)place * r->segment;
}

/* bf16 only; n_leaves: the sum's. */
static uint16_t *wire_of(const struct reducer *r, const struct chunk *p, int leaf)
{
    size_t others = (size_t)(r->n_leaves - r->n_mine);
    float *end = (float *)(void *)p->buffer + others * r->segment;

    return (uint16_t *)(void *)end + (size_t)leaf * r->segment;
}

static int doubling_tag_of(const struct chunk *p) { return (int)(p->number % 8192); }

static void send_values(struct reducer *r, struct chunk *p, float *values, int place, int rank)
{
    void *wire = values;

    if (r->config.wire == WIRE_BF16)
        wire_round(r, wire = wire_of(r, p, place), values, p->n);
    chunk_send(r, p, wire, p->n, rank, doubling_tag_of(p));
}

static void send_holding(struct reducer *r, struct chunk *p, struct doubling_group mine, int rank)
{
    struct holding h;

    hold(r, mine, &h);
    for (int leaf = 0; leaf < r->n_leaves; leaf++)
        if (h.live[leaf])
            send_values(r, p, doubling_values_of(r, p, leaf), leaf, rank);
}

static void receive_values(struct reducer *r, struct chunk *p, float *values, int place, int rank)
{
    bool bf16 = r->config.wire == WIRE_BF16;

    chunk_receive(r, p, bf16 ? (void *)wire_of(r, p, place) : values, p->n, rank,
                  doubling_tag_of(p));
}

static void receive_holding(struct reducer *r, struct chunk *p, struct doubling_group theirs,
                            int rank)
{
    struct holding h;

    hold(r, theirs, &h);
    for (int leaf = 0; leaf < r->n_leaves; leaf++)
        if (h.live[leaf])
            receive_values(r, p, doubling_values_of(r, p, leaf), leaf, rank);
}

/* What has come from another group becomes part of what this one has. */
static void unpack(struct reducer *r, struct chunk *p, struct doubling_group theirs)
{
    struct holding h;

    if (r->config.wire != WIRE_BF16)
        return;
    hold(r, theirs, &h);
    for (int leaf = 0; leaf < r->n_leaves; leaf++)
        if (h.live[leaf])
            r->kernels->from_bf16(doubling_values_of(r, p, leaf), wire_of(r, p, leaf), p->n);
}

/* Adds what neither half of the group could. */
static void add_up(struct reducer *r, struct chunk *p, struct doubling_group all,
                   struct doubling_group low, struct doubling_group high)
{
    struct holding whole, left, right;

    hold(r, all, &whole);
    hold(r, low, &left);
    hold(r, high, &right);
    for (size_t i = 0; i < p->n; i += FOLD_TILE) {
        size_t n = p->n - i < FOLD_TILE ? p->n - i : FOLD_TILE;

        for (int k = 0; k < r->n_adds; k++)
            if (whole.done[k] && !left.done[k] && !right.done[k])
                r->kernels->add(doubling_values_of(r, p, r->adds[k].into) + i,
                                doubling_values_of(r, p, r->adds[k].from) + i, n);
    }
}

/* Step 0: within pairs; 1 .. rounds: round step - 1; rounds + 1: back to the second of each pair.
 */
static bool is_last(const struct reducer *r, const struct chunk *p)
{
    return p->step == rounds(r) + 1;
}

/* Whom this rank exchanges sums with in this step, and what that one's group is. */
static struct doubling_group other_group(const struct reducer *r, const struct chunk *p, int *rank)
{
    int number = doubling_number_of(r, r->rank);

    if (p->step == 0) {
        *rank = r->rank ^ 1;
        return (struct doubling_group){*rank, 1};
    }
    *rank = rank_of(r, number ^ 1 << (p->step - 1));
    return group_of(r, doubling_number_of(r, *rank), p->step - 1);
}

/* This rank's group before the step. */
static struct doubling_group own_group(const struct reducer *r, const struct chunk *p)
{
    return p->step == 0 ? (struct doubling_group){r->rank, 1}
                        : group_of(r, doubling_number_of(r, r->rank), p->step - 1);
}

static void doubling_start_step(struct reducer *r, struct chunk *p)
{
    bool second = is_second(r, r->rank);
    float *sum = r->blocks[0] + p->offset;
    int rank = r->rank;

    if (is_last(r, p)) {
        if (second)
            receive_values(r, p, sum, r->n_leaves, rank - 1);
        else if (is_second(r, rank + 1))
            send_values(r, p, sum, r->n_leaves, rank + 1);
        return;
    }
    if (second && p->step > 0)
        return;

    struct doubling_group theirs = other_group(r, p, &rank);

    if (p->step > 0 || !second)
        receive_holding(r, p, theirs, rank);
    if (p->step > 0 || second)
        send_holding(r, p, own_group(r, p), rank);
}

/* The messages of the step have arrived. */
static void end_step(struct reducer *r, struct chunk *p)
{
    struct doubling_group mine = own_group(r, p);
    int rank;
    struct doubling_group theirs = other_group(r, p, &rank), all = {mine.first, mine.n + theirs.n};

    if (theirs.first < mine.first)
        all.first = theirs.first;
    unpack(r, p, theirs);
    add_up(r, p, all, mine, theirs);
}

static void keep_sum(struct reducer *r, struct chunk *p)
{
    float *sum = r->blocks[0] + p->offset, *values = doubling_values_of(r, p, r->sum);

    if (values != sum)
        memcpy(sum, values, p->n * sizeof *sum);
    if (r->config.wire == WIRE_BF16)
        wire_round(r, wire_of(r, p, r->n_leaves), sum, p->n);
}

static void doubling_start(struct reducer *r, struct chunk *p)
{
    const struct doubling_group mine = {r->rank, 1}, nobody = {0, 0};

    assert(r->sum >= 0);
    add_up(r, p, mine, nobody, nobody);
    p->step = r->rank < 2 * n_pairs(r) ? 0 : 1;
    doubling_start_step(r, p);
}

static bool doubling_advance(struct reducer *r, struct chunk *p)
{
    const bool second = is_second(r, r->rank);

    while (!is_last(r, p)) {
        if (!second)
            end_step(r, p);
        p->step++;
        if (is_last(r, p) && !second)
            keep_sum(r, p);
        doubling_start_step(r, p);
        if (chunk_waits(p))
            return false;
    }
    if (second && r->config.wire == WIRE_BF16)
        r->kernels->from_bf16(r->blocks[0] + p->offset, wire_of(r, p, r->n_leaves), p->n);
    return true;
}

const struct reducer_ops doubling_ops = {
    .plan = doubling_plan, .start = doubling_start, .advance = doubling_advance};
