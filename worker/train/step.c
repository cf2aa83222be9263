/* One update, and one evaluation; see trainer.h. */
#include <math.h>

#include "paceline/mem.h"
#include "worker/model/loss.h"
#include "worker/train/digest.h"
#include "worker/train/trainer.h"
#include "worker/train/watchdog.h"

/* The samples of each lane of this rank in a batch of n. */
static void cut_lanes(struct trainer *t, uint32_t n)
{
    const int total = t->lanes.total;
    uint32_t rank_begin = lane_begin(total, t->lanes.first, n);

    for (int i = 0; i < t->lanes.n_blocks; i++) {
        const struct lane_block b = t->lanes.blocks[i];
        struct lane_ends *e = &t->block_ends[i];
        uint32_t *end = t->lane_ends + (e->end - t->lane_ends);
        uint32_t begin = lane_begin(total, b.first, n);
        e->begin = begin - rank_begin;
        e->full = true;
        for (int lane = 0; lane < 1 << b.level; lane++) {
            end[lane] = lane_begin(total, b.first + lane + 1, n) - begin;
            e->full = e->full && end[lane] > (lane ? end[lane - 1] : 0);
        }
    }
}

/* Losses and hits of this rank's samples per lane; with training, the gradient of the outputs. */
static void lane_losses(struct trainer *t, const struct batch *b, const float *y, float *dy,
                        int64_t *confusion)
{
    const size_t row = t->model.layers[t->model.n_layers - 1].out_floats;
    for (int lane = 0; lane < t->lanes.count; lane++) {
        double *v = t->lane_values + lane * LANE_VALUES;
        uint32_t end =
            lane_begin(t->lanes.total, t->lanes.first + lane + 1, b->n_global) - b->first;
        uint32_t i = lane_begin(t->lanes.total, t->lanes.first + lane, b->n_global) - b->first;
        memset(v, 0, LANE_VALUES * sizeof *v);
        for (; i < end; i++) {
            struct loss_result r =
                loss_sample(t->job->model.loss, t->kernels, y + i * row, row, t->model.classes,
                            b->labels[i], b->n_global, dy ? dy + i * row : NULL, NULL);
            v[0] += r.loss;
            v[1] += r.correct;
            v[2] += r.top5;
            if (confusion)
                confusion[b->labels[i] * t->model.classes + r.predicted]++;
        }
    }
}

static struct totals fold_lanes(struct trainer *t, uint32_t n)
{
    double column[LANE_ORDERS][LANES_MAX];
    comm_lanes_end(t->comm, t->all_lane_values);
    for (int lane = 0; lane < t->lanes.total; lane++) {
        for (int v = 0; v < LANE_ORDERS; v++)
            column[v][lane] = t->all_lane_values[lane * LANE_VALUES + v];
    }
    return (struct totals){
        .loss = lanes_fold(t->lanes.total, n, column[0]),
        .samples = n,
        .correct = (int64_t)lanes_fold(t->lanes.total, n, column[1]),
        .top5 = (int64_t)lanes_fold(t->lanes.total, n, column[2]),
    };
}

static void add_totals(struct totals *sum, struct totals one)
{
    sum->loss += one.loss;
    sum->samples += one.samples;
    sum->correct += one.correct;
    sum->top5 += one.top5;
}

/* The parts of [offset, offset + n) tensor by tensor: weights and biases decay differently. */
static void update_range(struct trainer *t, size_t offset, size_t n)
{
    for (int i = 0; i < t->model.n_params; i++) {
        const struct param *p = &t->model.params[i];
        size_t begin = offset > p->offset ? offset : p->offset;
        size_t end = offset + n < p->offset + p->floats ? offset + n : p->offset + p->floats;
        if (begin < end && !p->frozen)
            optimizer_update(&t->optimizer, t->model.weights + begin, t->sink.blocks[0] + begin,
                             begin, end - begin, p->is_weight);
    }
}

static double sum_squares(const struct trainer *t, const float *slab, bool weights_only)
{
    double sum = 0;
    for (int i = 0; i < t->model.n_params; i++) {
        const struct param *p = &t->model.params[i];
        if (!p->frozen && (p->is_weight || !weights_only))
            sum += t->kernels->reduce->sum_squares(slab + p->offset, p->floats);
    }
    return sum;
}

double trainer_l2(const struct trainer *t)
{
    double l2 = t->job->training.l2;
    return l2 > 0 ? l2 / 2 * sum_squares(t, t->model.weights, true) : 0;
}

/* Waits for the other ranks' gradients and updates each range as it comes; with clipping the norm
 * over all of them is needed first. */
static void reduce_and_update(struct trainer *t)
{
    const double clip = t->job->training.clip_norm;
    double begin = trainer_seconds(), updating = 0;
    size_t offset, n;

    if (t->reducer) {
        reducer_finish(t->reducer);
        while (reducer_take(t->reducer, &offset, &n)) {
            double start = trainer_seconds();
            if (clip == 0)
                update_range(t, offset, n);
            updating += trainer_seconds() - start;
        }
    }
    t->phases.communication += trainer_seconds() - begin - updating;
    if (clip > 0) {
        double start = trainer_seconds();
        double scale = clip_scale(sum_squares(t, t->sink.blocks[0], false), clip);
        optimizer_begin_step(&t->optimizer, t->at.step + 1, trainer_learning_rate(t), scale);
        update_range(t, 0, t->model.n_floats);
        updating += trainer_seconds() - start;
    }
    t->phases.update += updating;
}

/* Which layer went wrong: the lowest over all ranks, named alike on each. */
static int diverged(struct trainer *t, uint32_t n, double loss, struct err *err)
{
    const char *mine = model_first_nonfinite(&t->model, n);
    int64_t index = -(int64_t)t->model.n_layers;
    for (int i = 0; mine && i < t->model.n_layers; i++) {
        if (t->model.layers[i].name == mine)
            index = -i;
    }
    int layer = (int)-comm_max(t->comm, index);
    return err_set(err, ERR_DIVERGED,
                   "step %lld: the loss is %f; the first layer with NaN or infinity is %s; try a "
                   "smaller spec.training.optimizer.learningRate or set spec.training.clipNorm",
                   (long long)t->at.step + 1, loss,
                   layer < t->model.n_layers ? t->model.layers[layer].name : "the loss");
}

int trainer_step(struct trainer *t, struct err *err)
{
    double start = trainer_seconds(), now;
    const struct batch *b = batcher_next(t->batches);
    struct pass *p = &t->pass;

    now = trainer_seconds();
    t->phases.data += now - start;
    start = now;
    p->n = b->n;
    p->training = true;
    p->epoch = (uint32_t)b->epoch;
    p->ids = b->ids;
    cut_lanes(t, b->n_global);
    optimizer_begin_step(&t->optimizer, t->at.step + 1, trainer_learning_rate(t), 1);
    const float *y = model_forward(&t->model, p, b->x);
    float *dy = model_output_gradient(&t->model);
    lane_losses(t, b, y, dy, NULL);
    if (t->job->debug.fail_nan && t->at.step == 2 && t->lanes.first == 0)
        t->lane_values[0] = NAN;
    if (t->lanes.first == 0)
        t->lane_values[LANE_ORDERS] = t->wish;
    comm_lanes_begin(t->comm, &t->lanes, t->lane_values, LANE_VALUES);
    now = trainer_seconds();
    t->phases.forward += now - start;
    start = now;
    if (t->reducer)
        reducer_begin(t->reducer, b->n_global, t->sink.blocks);
    model_backward(&t->model, p, b->x);
    t->phases.backward += trainer_seconds() - start;
    reduce_and_update(t);

    struct totals one = fold_lanes(t, b->n_global);
    t->orders = (int)t->all_lane_values[LANE_ORDERS];
    if (!isfinite(one.loss))
        return diverged(t, b->n, one.loss / one.samples, err);
    add_totals(&t->at.epoch_totals, one);
    t->at.step++;
    t->at.batch = b->index + 1;
    return 0;
}

/* Adds up the confusion counts of all ranks. */
static void sum_confusion(struct trainer *t, int64_t *confusion)
{
    size_t n = (size_t)(t->model.classes * t->model.classes), size = (size_t)comm_size(t->comm);
    if (size == 1)
        return;
    AUTO(auto_free) int64_t *all = xcalloc(n * size, sizeof *all);
    comm_gather(t->comm, confusion, n * sizeof *all, all, 0);
    comm_broadcast(t->comm, all, n * size * sizeof *all, 0);
    for (size_t i = 0; i < n; i++) {
        confusion[i] = 0;
        for (size_t r = 0; r < size; r++)
            confusion[i] += all[r * n + i];
    }
}

struct totals trainer_evaluate(struct trainer *t, struct batcher *set, int64_t *confusion)
{
    struct totals sum = {0};
    double start = trainer_seconds();

    if (confusion)
        memset(confusion, 0, sizeof *confusion * (size_t)(t->model.classes * t->model.classes));
    t->pass.training = false;
    batcher_seek(set, 0, 0);
    for (uint32_t i = 0; i < batcher_batches(set); i++) {
        const struct batch *b = batcher_next(set);
        t->pass.n = b->n;
        lane_losses(t, b, model_forward(&t->model, &t->pass, b->x), NULL, confusion);
        comm_lanes_begin(t->comm, &t->lanes, t->lane_values, LANE_VALUES);
        add_totals(&sum, fold_lanes(t, b->n_global));
        watchdog_feed(t->at.step);
    }
    if (confusion)
        sum_confusion(t, confusion);
    t->phases.evaluate += trainer_seconds() - start;
    return sum;
}

double trainer_learning_rate(const struct trainer *t)
{
    double batches = batcher_batches(t->batches);
    return schedule_rate(t->job, (double)t->at.step / batches);
}

uint32_t trainer_batches_per_epoch(const struct trainer *t) { return batcher_batches(t->batches); }

int trainer_check_replicas(struct trainer *t, struct err *err)
{
    for (int i = 0; i < t->model.n_params; i++) {
        const struct param *p = &t->model.params[i];
        uint64_t h = digest_bytes(t->model.weights + p->offset, p->floats * sizeof(float));
        if (comm_agree(t->comm, p->name, &h, sizeof h, err) != 0) {
            err->code = ERR_DIVERGED;
            return err_wrap(err, "step %lld: replicas differ", (long long)t->at.step);
        }
    }
    return 0;
}
