#include "worker/strategy/local_update.h"

#include <math.h>

#include "paceline/mem.h"
#include "worker/train/step.h"

static bool local_update_is_alone(const struct trainer *t) { return t->workers == 1; }

void local_update_share(struct trainer *t)
{
    lanes_init(&t->lanes, (struct lane_tree){.total = t->lane_tree.total, .workers = 1}, 0);
}

bool local_update_takes(const struct trainer *t, uint32_t batch)
{
    return batch % (uint32_t)t->workers == (uint32_t)comm_rank(t->comm);
}

static void local_update_keep_gradient(void *arg, size_t offset, size_t n)
{
    (void)arg, (void)offset, (void)n;
}

static void init_sink(struct local_update *l, struct trainer *t)
{
    t->sink.arg = t;
    t->sink.n_blocks = t->lanes.n_blocks;
    if (t->job->training.clip_norm == 0) {
        t->sink.apply = step_apply;
        return;
    }
    l->gradients = xaligned(t->model.n_floats * sizeof *l->gradients);
    t->sink.ready = local_update_keep_gradient;
    t->sink.blocks[0] = l->gradients;
    t->gradient_floats += t->model.n_floats;
}

void local_update_init(struct local_update *l, struct trainer *t)
{
    const struct job *job = t->job;
    const struct reducer_config config = {
        .algorithm = ALGO_TREE,
        .wire = WIRE_FP32,
        .fusion_bytes = (size_t)job->strategy.fusion_bytes,
        .thread = job->strategy.communication_thread,
    };

    init_sink(l, t);
    l->notes = xcalloc((size_t)t->workers, sizeof *l->notes);
    if (local_update_is_alone(t))
        return;
    l->transport = ps_transport_new(t->comm, NULL, job->strategy.wait_seconds);
    l->sums = reducer_new(t->comm, t->kernels, &config,
                          lane_tree_of_batches(t->workers, t->workers), t->model.n_floats);
    t->gradient_floats += t->model.n_floats; /* what is on its way */
}

void local_update_release(struct local_update *l)
{
    if (l->transport)
        ps_transport_free(l->transport);
    reducer_free(l->sums);
    free(l->gradients);
    free(l->notes);
}

static uint32_t local_update_least(int64_t a, int64_t b) { return (uint32_t)(a < b ? a : b); }

/* How many updates a worker has made before this row: by its optimiser's count. */
static int64_t rows_before(const struct trainer *t)
{
    const int64_t n = t->workers, per_epoch = (trainer_batches_per_epoch(t) + n - 1) / n;

    return t->at.epoch * per_epoch + t->at.batch / n;
}

static void local_update_apply(struct trainer *t, struct local_update *l, const struct batch *b)
{
    struct totals sum;

    step_forward(t, b, b->n);
    sum = step_fold(t, b->n, t->lane_values);
    step_backward(t, b);
    if (l->gradients)
        step_update_clipped(t, l->gradients);
    step_add(&l->mine, sum);
    step_add(&t->at.epoch_totals, sum);
}

bool local_update_step(struct trainer *t, struct local_update *l, int64_t every)
{
    const uint32_t n = (uint32_t)t->workers, batches = trainer_batches_per_epoch(t);
    const uint32_t row_end = local_update_least((t->at.batch / n + 1) * n, batches);
    const uint32_t end = local_update_least(row_end, t->at.batch + (t->until - t->at.step));
    bool over;

    if (t->together) {
        t->began = t->at;
        l->mine = (struct totals){0};
    }
    optimizer_begin_step(&t->optimizer, rows_before(t) + 1, trainer_learning_rate(t), 1);
    for (uint32_t i = t->at.batch; i < end; i++) {
        const struct batch *b = step_batch(t);

        if (local_update_takes(t, i) && b->n > 0) /* its share may be over */
            local_update_apply(t, l, b);
    }
    t->at.step += end - t->at.batch;
    t->at.batch = end;
    over = end == batches || t->at.step == t->until || (end % n == 0 && end / n % every == 0);
    t->together = over || local_update_is_alone(t);
    return over;
}

/* Rank 0 hears all and tells all. */
static void exchange_notes(struct trainer *t, struct local_update *l)
{
    const size_t all = (size_t)t->workers * sizeof *l->notes;
    const int rank = comm_rank(t->comm);

    l->notes[rank] = (struct local_update_note){.totals = l->mine, .orders = t->wish};
    if (rank > 0) {
        ps_transport_tell(l->transport, 0, &l->notes[rank], sizeof *l->notes);
        ps_transport_hear(l->transport, 0, l->notes, all);
        return;
    }
    for (int w = 1; w < t->workers; w++)
        ps_transport_hear(l->transport, w, &l->notes[w], sizeof *l->notes);
    for (int w = 1; w < t->workers; w++)
        ps_transport_tell(l->transport, w, l->notes, all);
}

int local_update_meet(struct trainer *t, struct local_update *l, struct err *err)
{
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    const struct position end = t->at;
    struct totals sum = {0};

    exchange_notes(t, l);
    phases_leave(&t->phases, was);
    t->at = t->began;
    t->orders = trainer_read_orders(t, 0, (double)l->notes[0].orders);
    for (int w = 0; w < t->workers; w++)
        step_add(&sum, l->notes[w].totals);
    if (!isfinite(sum.loss))
        return step_diverged(t, sum.loss / (double)sum.samples, err);
    t->at = end;
    t->at.epoch_totals = t->began.epoch_totals;
    step_add(&t->at.epoch_totals, sum);
    return 0;
}

void local_update_sum(struct trainer *t, struct local_update *l, float *slab, float factor)
{
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    float *const blocks[LANES_MAX_BLOCKS] = {slab};
    size_t offset, n;

    if (l->sums)
        reducer_begin(l->sums, (uint32_t)t->workers, blocks);
    for (int i = 0; i < t->model.n_params; i++) {
        const struct param *p = &t->model.params[i];

        if (p->frozen)
            continue;
        if (factor != 1)
            t->kernels->reduce->scale(slab + p->offset, factor, p->floats);
        if (l->sums)
            reducer_submit(l->sums, p->offset, p->floats);
    }
    if (l->sums) {
        reducer_finish(l->sums);
        while (reducer_take(l->sums, &offset, &n))
            continue;
    }
    phases_leave(&t->phases, was);
}
