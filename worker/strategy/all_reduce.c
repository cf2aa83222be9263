/*
 * AllReduce: gradients are summed over the ranks, and every rank makes the same update; or, with
 * owners, whoever sums a parameter's gradient updates it, alone, and what goes back is the weight.
 * That is the sharded optimiser, whose owners are the workers, and the synchronous ParameterServer,
 * whose owners may be servers: ranks without lanes, which walk their layers over no sample.
 *
 * split: all workers share a batch; what is summed over the ranks are lane blocks. join, and
 * whoever is alone: workers have whole batches of an update, and the tree over the ranks is one of
 * batches.
 */
#include <math.h>

#include "paceline/mem.h"
#include "worker/strategy/accumulator.h"
#include "worker/strategy/servers.h"
#include "worker/strategy/strategies.h"
#include "worker/train/step.h"

struct all_reduce {
    struct reducer *reducer; /* NULL: one rank */
    struct lane_tree tree;   /* of which the ranks have blocks */
    struct accumulator sums; /* joined: of the rank's batches */
    float *slabs;            /* split: of its lane blocks */
    float *blocks[LANES_MAX_BLOCKS];
    double *values;                /* LANE_VALUES of each own leaf */
    struct reducer_servers owners; /* where the optimiser is sharded */
    bool last;                     /* the running batch is the rank's last one of the update */
};

/* An update, and what of it is this rank's. */
struct update {
    uint32_t at, batches, samples; /* at: the first of them in the epoch */
    int first, end; /* its batches; none: it walks the last one, of which it has no sample */
};

static bool is_joined(const struct trainer *t)
{
    return t->workers == 1 || t->job->strategy.batch == BATCH_JOIN;
}

static void all_reduce_share(struct trainer *t)
{
    struct lane_tree whole = {.total = t->lane_tree.total, .workers = 1};

    if (is_joined(t))
        lanes_init(&t->lanes, whole, comm_rank(t->comm) < t->workers ? 0 : 1);
    else
        t->lanes = t->shared;
}

static bool all_reduce_takes(const struct trainer *t, uint32_t batch)
{
    const struct lane_tree tree =
        lane_tree_of_batches((int)t->job->training.accumulate, t->workers);
    int first, count, of_update = (int)(batch % (uint32_t)tree.batches);

    lane_tree_share(tree, comm_rank(t->comm), &first, &count);
    return of_update >= first && of_update < first + count;
}

/* Thread 0: the running batch's gradient is final there. */
static void all_reduce_ready(void *arg, size_t offset, size_t n)
{
    struct trainer *t = arg;
    struct all_reduce *a = t->own;

    if (a->tree.batches)
        accumulator_add(&a->sums, offset, n);
    if (a->last && a->reducer)
        reducer_submit(a->reducer, offset, n);
    else if (a->last && t->job->training.clip_norm == 0)
        step_update(t, offset, n, a->blocks[0]);
}

static void all_reduce_poll_reducer(void *arg) { reducer_poll(arg); }

static void update_summed(void *arg, size_t offset, size_t n, const float *gradients)
{
    step_update(arg, offset, n, gradients);
}

static void all_reduce_init_reducer(struct trainer *t, struct all_reduce *a)
{
    const struct job *job = t->job;
    const struct reducer_config config = {
        .algorithm = job->strategy.algorithm,
        .wire = job->strategy.wire,
        .schedule = job->strategy.schedule,
        .fusion_bytes = (size_t)job->strategy.fusion_bytes,
        .thread = job->strategy.communication_thread,
        .servers = t->sharded ? &a->owners : NULL,
    };

    a->owners = (struct reducer_servers){
        .placement = &t->placement, .weights = t->model.weights, .update = update_summed, .arg = t};
    a->reducer = reducer_new(t->comm, t->kernels, &config, a->tree, t->model.n_floats);
    t->pass.poll = all_reduce_poll_reducer;
    t->pass.poll_arg = a->reducer;
    t->gradient_floats += t->model.n_floats; /* what is on its way */
}

static void init_slabs(struct trainer *t, struct all_reduce *a)
{
    const size_t n = t->model.n_floats;
    int slabs = t->lanes.n_blocks ? t->lanes.n_blocks : 1; /* a server's is for the sums */

    if (a->tree.batches) {
        accumulator_init(&a->sums, t->kernels->reduce, a->tree, comm_rank(t->comm), n);
        slabs = a->sums.n_slabs;
    } else {
        a->slabs = xaligned(n * (size_t)slabs * sizeof *a->slabs);
    }
    for (int i = 0; i < slabs && i < LANES_MAX_BLOCKS; i++)
        a->blocks[i] = (a->tree.batches ? a->sums.slabs : a->slabs) + n * (size_t)i;
    memcpy(t->sink.blocks, a->blocks, sizeof a->blocks);
    t->gradient_floats += n * (size_t)slabs;
}

static void all_reduce_init(struct trainer *t)
{
    const struct job *job = t->job;
    const int batches = (int)job->training.accumulate;
    struct all_reduce *a = t->own = xcalloc(1, sizeof *a);

    a->tree = is_joined(t) ? lane_tree_of_batches(batches, t->workers) : t->lane_tree;
    a->values = xcalloc((size_t)a->tree.total * LANE_VALUES, sizeof *a->values);
    t->sink.arg = t;
    t->sink.n_blocks = t->lanes.n_blocks;
    /* Nothing has to be waited for: no other rank, no other batch, no norm of the whole. */
    if (comm_size(t->comm) == 1 && batches == 1 && job->training.clip_norm == 0) {
        t->sink.apply = step_apply;
        return;
    }
    t->sink.ready = all_reduce_ready;
    init_slabs(t, a);
    if (comm_size(t->comm) > 1)
        all_reduce_init_reducer(t, a);
}

static void all_reduce_release(struct trainer *t)
{
    struct all_reduce *a = t->own;

    reducer_free(a->reducer);
    accumulator_release(&a->sums);
    free(a->slabs);
    free(a->values);
    free(a);
}

static struct update next_update(const struct trainer *t, const struct all_reduce *a)
{
    const uint32_t per_epoch = trainer_batches_per_epoch(t), at = t->at.batch % per_epoch;
    const uint32_t left = per_epoch - at, most = (uint32_t)t->job->training.accumulate;
    struct update u = {.at = at, .batches = left < most ? left : most, .first = 0, .end = 1};

    u.samples = batcher_samples(t->batches, at, u.batches);
    if (!a->tree.batches)
        return u;
    lane_tree_share(a->tree, comm_rank(t->comm), &u.first, &u.end);
    u.end += u.first;
    if (u.end > (int)u.batches)
        u.end = (int)u.batches;
    if (u.first >= u.end) {
        u.end = (int)u.batches;
        u.first = u.end - 1;
    }
    return u;
}

/* The values of one batch: of its lanes, or folded. */
static void keep_values(struct trainer *t, struct all_reduce *a, int place)
{
    struct totals sum;

    if (!a->tree.batches) {
        memcpy(a->values, t->lane_values, (size_t)t->lanes.count * LANE_VALUES * sizeof *a->values);
        return;
    }
    if (!t->lanes.count)
        return;
    sum = step_fold(t, t->pass.n, t->lane_values);
    memcpy(a->values + place * LANE_VALUES,
           (double[]){sum.loss, sum.scores[0], sum.scores[1], t->wish},
           LANE_VALUES * sizeof *a->values);
}

/* Forward and backward of a batch; after the rank's last one its sums go to the others. */
static void walk(struct trainer *t, const struct update *u, const struct batch *b, int i)
{
    struct all_reduce *a = t->own;

    a->last = i + 1 == u->end;
    if (a->tree.batches && !t->sink.apply)
        t->sink.blocks[0] = accumulator_begin(&a->sums, i, u->end);
    step_forward(t, b, u->samples);
    keep_values(t, a, i - u->first);
    if (a->last) {
        comm_lanes_begin(t->comm, a->tree, a->values, LANE_VALUES);
        if (a->reducer)
            reducer_begin(a->reducer, a->tree.batches ? u->batches : u->samples, a->blocks);
    }
    step_backward(t, b);
}

/* Waits for the other ranks' gradients and updates each range as it comes; with clipping the norm
 * over all of them is needed first. */
static void reduce_and_update(struct trainer *t, const struct all_reduce *a)
{
    const double clip = t->job->training.clip_norm;
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    size_t offset, n;

    if (a->reducer) {
        reducer_finish(a->reducer);
        while (reducer_take(a->reducer, &offset, &n))
            if (clip == 0 && !t->sharded)
                step_update(t, offset, n, a->blocks[0]);
    }
    phases_leave(&t->phases, was);
    if (clip > 0)
        step_update_clipped(t, a->blocks[0]);
}

/* The sums over all samples of the update, batch by batch. */
static struct totals sum_values(struct trainer *t, const struct all_reduce *a,
                                const struct update *u)
{
    const double *values = t->all_lane_values;
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    struct totals sum = {0};

    comm_lanes_end(t->comm, t->all_lane_values);
    phases_leave(&t->phases, was);
    t->orders = trainer_read_orders(t, 0, values[LANE_ORDERS]);
    if (!a->tree.batches)
        return step_fold(t, u->samples, values);
    for (uint32_t i = 0; i < u->batches; i++) {
        uint32_t n = batcher_samples(t->batches, u->at + i, 1);
        step_add(&sum, step_totals(t, n, values + i * LANE_VALUES));
    }
    return sum;
}

static int all_reduce_step(struct trainer *t, struct err *err)
{
    struct all_reduce *a = t->own;
    const struct update u = next_update(t, a);

    optimizer_begin_step(&t->optimizer, t->at.step + 1, trainer_learning_rate(t), 1);
    for (int i = 0; i < (int)u.batches; i++) {
        const struct batch *b = step_batch(t);

        if (i >= u.first && i < u.end)
            walk(t, &u, b, i);
    }
    reduce_and_update(t, a);

    struct totals sum = sum_values(t, a, &u);
    if (!isfinite(sum.loss))
        return step_diverged(t, sum.loss / (double)sum.samples, err);
    step_add(&t->at.epoch_totals, sum);
    t->at.step++;
    t->at.batch = u.at + u.batches;
    return 0;
}

/* Workers have all weights; servers after them their own. */
static void all_reduce_gather(struct trainer *t)
{
    if (t->sharded && t->placement.first > 0)
        servers_gather(t);
}

const struct strategy all_reduce = {
    .share = all_reduce_share,
    .takes = all_reduce_takes,
    .init = all_reduce_init,
    .release = all_reduce_release,
    .step = all_reduce_step,
    .gather = all_reduce_gather,
    .collect = servers_collect,
};
