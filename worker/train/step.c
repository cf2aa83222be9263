/* One update, and one evaluation; see trainer.h. */
#include <math.h>
#include <time.h>

#include "paceline/digest.h"
#include "paceline/mem.h"
#include "worker/model/loss.h"
#include "worker/train/slowness.h"
#include "worker/train/step.h"
#include "worker/train/telemetry/events.h"
#include "worker/train/telemetry/watchdog.h"

/* The samples that the rank's lanes of a batch are cut from: where it has the batch to itself, it
 * may be another's. */
static uint32_t cut_samples(const struct trainer *t, const struct batch *b)
{
    return t->lanes.count == t->lanes.total ? b->n : b->n_global;
}

void step_cut(struct trainer *t, int i, struct lane_block b, uint32_t n, uint32_t from)
{
    const int total = t->lanes.total;
    struct lane_ends *e = &t->block_ends[i];
    uint32_t *end = t->lane_ends + (e->end - t->lane_ends);
    uint32_t begin = lane_begin(total, b.first, n);

    e->begin = begin - from;
    e->level = b.level;
    e->full = true;
    for (int lane = 0; lane < 1 << b.level; lane++) {
        end[lane] = lane_begin(total, b.first + lane + 1, n) - begin;
        e->full = e->full && end[lane] > (lane ? end[lane - 1] : 0);
    }
}

/* The samples of each lane of this rank in a batch of n. */
static void cut_lanes(struct trainer *t, uint32_t n)
{
    for (int i = 0; i < t->lanes.n_blocks; i++)
        step_cut(t, i, t->lanes.blocks[i], n, lane_begin(t->lanes.total, t->lanes.first, n));
}

struct loss_task {
    const struct trainer *t;
    const struct batch *b;
    const float *y;
    float *dy;
    uint32_t n, n_mean;
};

/* The loss of position i of the rank's samples, for its kind of label. */
static struct loss_result position_loss(const struct loss_task *task, int i, const float *y,
                                        size_t row, float *dy, float *probabilities)
{
    const struct trainer *t = task->t;
    const enum loss_type type = t->job->model.loss;
    const int n = t->model.classes;
    const float *values = task->b->values;

    if (values)
        return loss_values(type, t->job->model.huber_delta, y, row, n,
                           values + (size_t)i * (size_t)n, task->n_mean, dy);
    return loss_sample(type, t->kernels, y, row, n, (int)task->b->labels[i], task->n_mean, dy,
                       probabilities);
}

double *step_side_row(const struct trainer *t, int k)
{
    return t->side_losses + (size_t)k * t->model.max_samples * (size_t)t->model.positions;
}

static void side_losses_share(void *arg, int thread, int n_threads)
{
    const struct loss_task *task = arg;
    const struct trainer *t = task->t;
    const struct model *m = &t->model;
    const int n = (int)task->n * m->positions, begin = share_begin(n, thread, n_threads),
              end = share_begin(n, thread + 1, n_threads);

    for (int k = 0; k < m->n_sides; k++) {
        const struct layer *l = &m->layers[m->sides[k]];
        const size_t row = l->out_floats / (size_t)m->positions;

        for (int i = begin; i < end && !l->remote; i++) {
            float *dy = model_side_gradient(m, k) + (size_t)i * row;
            const float *y = m->activations[m->sides[k]] + (size_t)i * row;

            step_side_row(t, k)[i] = l->loss_weight * position_loss(task, i, y, row, dy, NULL).loss;
            loss_weigh(dy, m->classes, l->loss_weight);
        }
    }
}

void step_side_losses(struct trainer *t, const struct batch *b, uint32_t n_mean)
{
    struct loss_task task = {.t = t, .b = b, .n = b->n, .n_mean = n_mean};

    if (t->model.n_sides)
        threads_run(t->threads, side_losses_share, &task);
}

/* What the side outputs add to the loss of position i, in their order. */
static double step_sum_side_losses(const struct trainer *t, int i)
{
    double sum = 0;

    for (int k = 0; k < t->model.n_sides; k++)
        sum += step_side_row(t, k)[i];
    return sum;
}

/* Of all samples of the rank, each position by itself. */
static void losses_share(void *arg, int thread, int n_threads)
{
    const struct loss_task *task = arg;
    const struct trainer *t = task->t;
    const struct model *m = &t->model;
    const size_t row = m->layers[m->n_layers - 1].out_floats / (size_t)m->positions;
    const int n = (int)task->n * m->positions, end = share_begin(n, thread + 1, n_threads);

    for (int i = share_begin(n, thread, n_threads); i < end; i++) {
        float *p = task->dy + (size_t)i * row;
        t->losses[i] =
            position_loss(task, i, task->y + (size_t)i * row, row, task->n_mean ? p : NULL, p);
        if (task->n_mean)
            t->losses[i].loss += step_sum_side_losses(t, i);
    }
}

void step_losses(struct trainer *t, const struct lanes *l, uint32_t n, const struct batch *b,
                 const float *y, float *dy, uint32_t n_mean, struct score_sums *sums)
{
    const uint32_t first = lane_begin(l->total, l->first, n);
    const uint32_t positions = (uint32_t)t->model.positions;
    const size_t row = t->model.layers[t->model.n_layers - 1].out_floats / positions;
    struct loss_task task = {t, b, y, dy, lane_samples(l->total, l->first, l->count, n), n_mean};

    threads_run(t->threads, losses_share, &task);
    for (int lane = 0; lane < l->count; lane++) {
        double *v = t->lane_values + lane * LANE_VALUES;
        uint32_t end = (lane_begin(l->total, l->first + lane + 1, n) - first) * positions;
        uint32_t i = (lane_begin(l->total, l->first + lane, n) - first) * positions;
        memset(v, 0, LANE_VALUES * sizeof *v);
        for (; i < end; i++) {
            const struct loss_result *r = &t->losses[i];

            v[0] += r->loss;
            v[1] += r->scores[0];
            v[2] += r->scores[1];
            if (sums)
                score_sums_add(sums, l->first + lane, b, i, y + i * row, r);
        }
    }
}

struct totals step_totals(const struct trainer *t, uint32_t n, const double *values)
{
    return (struct totals){.loss = values[0],
                           .samples = (int64_t)n * t->model.positions,
                           .scores = {values[1], values[2]}};
}

struct totals step_fold(const struct trainer *t, uint32_t n, const double *values)
{
    double column[LANES_MAX], sums[LANE_ORDERS];

    for (int v = 0; v < LANE_ORDERS; v++) {
        for (int lane = 0; lane < t->lane_tree.total; lane++)
            column[lane] = values[lane * LANE_VALUES + v];
        sums[v] = lanes_fold(t->lane_tree.total, n, column);
    }
    return step_totals(t, n, sums);
}

void step_add(struct totals *sum, struct totals one)
{
    sum->loss += one.loss;
    sum->samples += one.samples;
    for (size_t i = 0; i < ARRAY_LEN(sum->scores); i++)
        sum->scores[i] += one.scores[i];
}

void step_apply(void *arg, size_t offset, size_t n, const float *gradient, enum param_kind kind)
{
    struct trainer *t = arg;
    const enum phase was = phases_enter(&t->phases, PHASE_UPDATE);
    const int layer = profile_enter(t->pass.profile, -1, PROFILE_UPDATE);
    float *w = t->model.weights + offset;

    if (kind == PARAM_STATE)
        memcpy(w, gradient, n * sizeof *w);
    else if (kind == PARAM_STATISTIC)
        t->kernels->reduce->add(w, gradient, n);
    else
        optimizer_update(&t->optimizer, w, gradient, offset, n, kind == PARAM_WEIGHT);
    profile_leave(t->pass.profile, layer);
    phases_leave(&t->phases, was);
}

/* Tensor by tensor: weights and biases decay differently. */
void step_update(struct trainer *t, size_t offset, size_t n, const float *gradients)
{
    for (int i = 0; i < t->model.n_params; i++) {
        const struct param *p = &t->model.params[i];
        size_t begin = offset > p->offset ? offset : p->offset;
        size_t end = offset + n < p->offset + p->floats ? offset + n : p->offset + p->floats;
        if (begin < end && !p->frozen) {
            const int was = profile_enter(t->pass.profile, p->layer, PROFILE_UPDATE);

            step_apply(t, begin, end - begin, gradients + begin, p->kind);
            profile_leave(t->pass.profile, was);
        }
    }
}

static double squares(const struct trainer *t, const struct param *p, const float *slab,
                      bool weights_only)
{
    bool counts =
        !p->frozen && (p->kind == PARAM_WEIGHT || (p->kind == PARAM_BIAS && !weights_only));
    return counts ? t->kernels->reduce->sum_squares(slab + p->offset, p->floats) : 0;
}

static double step_sum_squares(const struct trainer *t, const float *slab, bool weights_only)
{
    double sum = 0;
    for (int i = 0; i < t->model.n_params; i++)
        sum += squares(t, &t->model.params[i], slab, weights_only);
    return sum;
}

double trainer_l2(struct trainer *t)
{
    const size_t n = (size_t)t->model.n_params, ranks = (size_t)comm_size(t->comm);
    const double l2 = t->job->training.l2;
    AUTO(auto_free) double *mine = xcalloc(n, sizeof *mine);
    AUTO(auto_free) double *all = NULL;
    double sum = 0;

    if (!l2)
        return 0;
    if (!t->owners)
        return l2 / 2 * step_sum_squares(t, t->model.weights, true);
    for (size_t i = 0; i < n; i++)
        mine[i] = squares(t, &t->model.params[i], t->model.weights, true);
    all = xcalloc(n * ranks, sizeof *all);
    comm_gather(t->comm, mine, n * sizeof *mine, all, 0);
    for (size_t i = 0; i < n; i++) /* in the order of the tensors; all but the owner have 0 */
        for (size_t r = 0; r < ranks; r++)
            sum += all[r * n + i];
    return l2 / 2 * sum;
}

void step_update_clipped(struct trainer *t, const float *gradients)
{
    const enum phase was = phases_enter(&t->phases, PHASE_UPDATE);
    double scale = clip_scale(step_sum_squares(t, gradients, false), t->job->training.clip_norm);

    optimizer_begin_step(&t->optimizer, t->at.step + 1, trainer_learning_rate(t), scale);
    step_update(t, 0, t->model.n_floats, gradients);
    phases_leave(&t->phases, was);
}

int step_diverged(struct trainer *t, double loss, struct err *err)
{
    const char *mine = model_first_nonfinite(&t->model, t->pass.n);
    int64_t index = -(int64_t)t->model.n_layers;
    for (int i = 0; mine && i < t->model.n_layers; i++) {
        if (t->model.layers[i].name == mine)
            index = -i;
    }
    const int64_t layer = -comm_max(t->comm, index);
    return err_set(err, ERR_DIVERGED,
                   "step %lld: the loss is %f; the first layer with NaN or infinity is %s; try a "
                   "smaller spec.training.optimizer.learningRate or set spec.training.clipNorm",
                   (long long)t->at.step + 1, loss,
                   layer >= 0 && layer < t->model.n_layers ? t->model.layers[layer].name
                                                           : "the loss");
}

const struct batch *step_next(const struct trainer *t, struct batcher *batches)
{
    const struct batch *b = batcher_next(batches);

    if (b->failure) {
        event_error(err_exit_code(b->failure->code), b->failure->msg);
        comm_abort(t->comm, err_exit_code(b->failure->code));
    }
    return b;
}

const struct batch *step_batch(struct trainer *t)
{
    const enum phase was = phases_enter(&t->phases, PHASE_DATA);
    const struct batch *b = step_next(t, t->batches);

    phases_leave(&t->phases, was);
    return b;
}

void step_forward(struct trainer *t, const struct batch *b, uint32_t n_update)
{
    const enum phase was = phases_enter(&t->phases, PHASE_FORWARD);
    const uint32_t n = cut_samples(t, b);
    struct pass *p = &t->pass;

    t->computing = trainer_seconds();
    p->n = b->n;
    p->n_update = n_update;
    p->training = true;
    p->row = b->first;
    p->begins = b->index == 0;
    p->epoch = (uint32_t)b->epoch;
    p->ids = b->ids;
    cut_lanes(t, n);
    const float *y = model_forward(&t->model, p, b->x);
    step_side_losses(t, b, n_update);
    step_losses(t, &t->lanes, n, b, y, model_output_gradient(&t->model), n_update, NULL);
    /* Asynchronous workers do not see every step. */
    if (t->job->debug.fail_nan && t->at.step >= 2 && t->lanes.first == 0)
        t->lane_values[0] = NAN;
    if (t->lanes.first == 0)
        t->lane_values[LANE_ORDERS] = t->wish;
    phases_leave(&t->phases, was);
}

#define NAP_SECONDS 0.0002

static void nap(double seconds)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds,
                                 .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)},
              NULL);
}

/* A rank that others wait for serves them while it waits. */
static void sleep_for(const struct trainer *t, double seconds)
{
    const double end = trainer_seconds() + seconds;

    while (seconds > 0) {
        nap(t->serves && seconds > NAP_SECONDS ? NAP_SECONDS : seconds);
        if (t->serves)
            pass_poll(&t->pass);
        seconds = end - trainer_seconds();
    }
}

/* spec.debug: sleeps as if this worker had computed for so long at least, and then so many times
 * slower. */
static void slow_down(const struct trainer *t, const struct batch *b)
{
    const double factor = slowness(t->job, comm_rank(t->comm), t->at.step);
    const double share = (double)b->n / (double)t->job->training.batch_size;
    const double computed = trainer_seconds() - t->computing;
    const double seconds =
        fmax(computed, share * t->job->debug.gradient_seconds) * factor - computed;

    sleep_for(t, seconds);
}

void step_backward(struct trainer *t, const struct batch *b)
{
    const enum phase was = phases_enter(&t->phases, PHASE_BACKWARD);

    model_backward(&t->model, &t->pass, b->x);
    slow_down(t, b);
    phases_leave(&t->phases, was);
}

int trainer_step(struct trainer *t, struct err *err) { return t->strategy->step(t, err); }

double trainer_learning_rate(const struct trainer *t)
{
    return schedule_rate(t->job, (double)t->at.step / trainer_updates_per_epoch(t));
}

uint32_t trainer_batches_per_epoch(const struct trainer *t) { return batcher_batches(t->batches); }

void trainer_check_position(const struct trainer *t, int rank, const struct position *at)
{
    const uint32_t batches = trainer_batches_per_epoch(t);

    if (at->step < 0 || at->epoch < 0 || at->batch > batches)
        comm_refuse(t->comm, rank, "step %lld, epoch %lld, batch %u; allowed: batches 0 to %u",
                    (long long)at->step, (long long)at->epoch, at->batch, batches);
    if (at->losses.n < 0 || at->losses.n > LOSSES_MAX)
        comm_refuse(t->comm, rank, "the losses of %d epochs; allowed: 0 to %d", at->losses.n,
                    LOSSES_MAX);
    if ((unsigned)at->switched.reason > SWITCH_FALLBACK)
        comm_refuse(t->comm, rank, "a switch for reason %d; allowed: 0 to %d",
                    (int)at->switched.reason, SWITCH_FALLBACK);
}

int trainer_read_orders(const struct trainer *t, int rank, double orders)
{
    /* The first comparison also refuses what is no number, which cannot be converted. */
    if (!(orders >= 0 && orders <= ORDERS_ALL) || orders != (int)orders)
        comm_refuse(t->comm, rank, "orders of %g; allowed: 0 to %d", orders, ORDERS_ALL);
    return (int)orders;
}

uint32_t trainer_samples_per_epoch(const struct trainer *t)
{
    return batcher_samples(t->batches, 0, batcher_batches(t->batches));
}

uint32_t trainer_updates_per_epoch(const struct trainer *t)
{
    const uint32_t each = (uint32_t)t->job->training.accumulate;

    return (batcher_batches(t->batches) + each - 1) / each;
}

int64_t trainer_planned_steps(const struct trainer *t)
{
    const int64_t steps = t->job->training.steps;

    return steps ? steps : t->job->training.epochs * (int64_t)trainer_updates_per_epoch(t);
}

void trainer_gather(struct trainer *t)
{
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);

    if (t->gathered != t->at.step)
        t->strategy->gather(t);
    phases_leave(&t->phases, was);
    t->gathered = t->at.step;
}

int trainer_check_replicas(struct trainer *t, struct err *err)
{
    trainer_gather(t);
    for (int i = 0; !t->owners && i < t->model.n_params; i++) {
        const struct param *p = &t->model.params[i];
        uint64_t h = digest_bytes(t->model.weights + p->offset, p->floats * sizeof(float));
        if (comm_agree(t->comm, p->name, &h, sizeof h, err) != 0) {
            err->code = ERR_DIVERGED;
            return err_wrap(err, "step %lld: replicas differ", (long long)t->at.step);
        }
    }
    return 0;
}
