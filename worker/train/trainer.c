/* Making and releasing a trainer; see trainer.h. */
#include "worker/train/trainer.h"

#include <time.h>

#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/model/loss.h"
#include "worker/train/memory.h"

double trainer_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rank_range(void *arg, uint32_t n, uint32_t *first, uint32_t *count)
{
    const struct lanes *l = arg;
    *first = lane_begin(l->total, l->first, n);
    *count = lane_samples(l->total, l->first, l->count, n);
}

static int largest_level(const struct lanes *l)
{
    int level = 0;
    for (int i = 0; i < l->n_blocks; i++)
        level = l->blocks[i].level > level ? l->blocks[i].level : level;
    return level;
}

static void apply_now(void *arg, size_t offset, size_t n, const float *gradient, bool is_weight)
{
    struct trainer *t = arg;
    optimizer_update(&t->optimizer, t->model.weights + offset, gradient, offset, n, is_weight);
}

static void submit(void *arg, size_t offset, size_t n)
{
    struct trainer *t = arg;
    if (t->reducer)
        reducer_submit(t->reducer, offset, n);
}

static void poll_reducer(void *arg) { reducer_poll(arg); }

/* Gradients are applied as they come when no other rank and no norm has to be waited for. */
static void init_gradients(struct trainer *t)
{
    const struct job *job = t->job;
    const struct reducer_config config = {
        .algorithm = job->strategy.algorithm,
        .wire = job->strategy.wire,
        .schedule = job->strategy.schedule,
        .fusion_bytes = (size_t)job->strategy.fusion_bytes,
        .thread = job->strategy.communication_thread,
    };
    t->sink.arg = t;
    t->sink.n_blocks = t->lanes.n_blocks;
    if (comm_size(t->comm) == 1 && job->training.clip_norm == 0) {
        t->sink.apply = apply_now;
        return;
    }
    t->sink.ready = submit;
    t->slabs = xaligned(t->model.n_floats * (size_t)t->lanes.n_blocks * sizeof(float));
    for (int i = 0; i < t->lanes.n_blocks; i++)
        t->sink.blocks[i] = t->slabs + t->model.n_floats * (size_t)i;
    if (comm_size(t->comm) > 1) {
        t->reducer = reducer_new(t->comm, t->kernels, &config, t->lanes.total, t->model.n_floats);
        t->pass.poll = poll_reducer;
        t->pass.poll_arg = t->reducer;
    }
}

static int check_sizes(const struct trainer *t, struct err *err)
{
    const struct datasets *d = &t->data;
    if (t->model.classes > LOSS_CLASSES_MAX)
        return err_set(err, ERR_INVALID,
                       "spec.model: the last layer has %d outputs; at most %d classes are allowed",
                       t->model.classes, LOSS_CLASSES_MAX);
    if (t->model.classes < d->train.classes)
        return err_set(err, ERR_INVALID,
                       "spec.model: the last layer has %d outputs, but the data have %d classes",
                       t->model.classes, d->train.classes);
    if ((int64_t)d->n_train < t->job->training.batch_size &&
        t->job->training.last_batch == LAST_DROP)
        return err_set(
            err, ERR_INVALID,
            "spec.training.batchSize: %lld with lastBatch drop leaves no batch of the %u "
            "training samples; allowed: at most %u",
            (long long)t->job->training.batch_size, d->n_train, d->n_train);
    return 0;
}

uint64_t trainer_bytes(const struct trainer *t)
{
    size_t slabs = (size_t)(1 + t->optimizer.n_slots);
    if (!t->sink.apply) /* gradients of each block, and what is on its way */
        slabs += (size_t)t->lanes.n_blocks + (t->reducer != NULL);
    return model_bytes(&t->model) + (slabs - 1) * t->model.n_floats * sizeof(float);
}

/* Before the first step, not in the middle of a day: the sum over the ranks of this host. */
static int check_memory(const struct trainer *t, struct err *err)
{
    uint64_t ranks = (uint64_t)comm_local_size(t->comm), limit = memory_limit();
    uint64_t need = trainer_bytes(t) * ranks + t->data.mapping_bytes;
    if (need <= limit)
        return 0;
    return err_set(err, ERR_INVALID,
                   "the job needs %llu MiB of memory for %llu ranks on this host, the limit is "
                   "%llu MiB; a smaller spec.training.batchSize or model needs less",
                   (unsigned long long)(need >> 20), (unsigned long long)ranks,
                   (unsigned long long)(limit >> 20));
}

static void init_batches(struct trainer *t)
{
    struct datasets *d = &t->data;
    t->batches = batcher_new(&d->train, d->train_index, d->n_train, t->job, BATCHES_TRAINING,
                             rank_range, &t->lanes);
    if (d->n_validation)
        t->validation = batcher_new(&d->train, d->validation_index, d->n_validation, t->job,
                                    BATCHES_ALL, rank_range, &t->lanes);
    t->test = batcher_new(&d->test, NULL, d->test.n, t->job, BATCHES_ALL, rank_range, &t->lanes);
    t->steps = t->job->training.steps
                   ? t->job->training.steps
                   : t->job->training.epochs * (int64_t)batcher_batches(t->batches);
}

static void init_lanes(struct trainer *t)
{
    const size_t total = (size_t)t->lanes.total;
    t->lane_ends = xcalloc(total, sizeof *t->lane_ends);
    t->lane_values = xcalloc(total * LANE_VALUES, sizeof *t->lane_values);
    t->all_lane_values = xcalloc(total * LANE_VALUES, sizeof *t->all_lane_values);
    uint32_t *ends = t->lane_ends;
    for (int i = 0; i < t->lanes.n_blocks; i++) {
        t->block_ends[i].end = ends;
        t->block_ends[i].level = t->lanes.blocks[i].level;
        ends += 1 << t->lanes.blocks[i].level;
    }
    t->pass.blocks = t->block_ends;
    t->pass.n_blocks = t->lanes.n_blocks;
    t->pass.sink = &t->sink;
    t->pass.seed = t->job->training.seed;
}

static int thread_count(const struct trainer *t)
{
    int n = (int)t->job->training.threads;
    if (!n)
        n = threads_available_cpus() / comm_local_size(t->comm);
    if (n > t->lanes.count)
        n = t->lanes.count;
    return n < 1 ? 1 : n;
}

int trainer_init(struct trainer *t, const struct job *job, struct comm *comm,
                 const struct kernels *kernels, struct datasets *data, struct err *err)
{
    uint32_t batch = (uint32_t)job->training.batch_size;

    memset(t, 0, sizeof *t);
    t->job = job;
    t->comm = comm;
    t->kernels = kernels;
    t->data = *data;
    memset(data, 0, sizeof *data);
    t->at.best_accuracy = -1;
    lanes_init(&t->lanes, job_lanes(job), comm_rank(comm), comm_size(comm));
    t->threads = threads_new(thread_count(t));
    if (job_network(job, t->data.train.shape, &t->net, err) != 0)
        return -1;
    struct model_config config = {
        .kernels = kernels,
        .threads = t->threads,
        .max_samples = lane_samples(t->lanes.total, t->lanes.first, t->lanes.count, batch),
        .levels = largest_level(&t->lanes),
    };
    for (uint32_t n = 1; n < batch; n++) { /* a smaller batch may give this rank one sample more */
        uint32_t samples = lane_samples(t->lanes.total, t->lanes.first, t->lanes.count, n);
        config.max_samples = samples > config.max_samples ? samples : config.max_samples;
    }
    model_init(&t->model, &t->net, &config);
    model_init_weights(&t->model, job->training.seed);
    if (check_sizes(t, err) != 0)
        return -1;
    optimizer_init(&t->optimizer, kernels, job, t->model.n_floats);
    init_lanes(t);
    init_gradients(t);
    if (check_memory(t, err) != 0)
        return -1;
    init_batches(t);
    /* last, so that the threads that make batches may run anywhere */
    if (job->training.pin_threads && threads_pin(t->threads, comm_local_rank(comm)) != 0)
        log_warn("spec.training.pinThreads: fewer CPUs than threads; none is pinned");
    t->confusion = xcalloc((size_t)(t->model.classes * t->model.classes), sizeof *t->confusion);
    return 0;
}

void trainer_release(struct trainer *t)
{
    batcher_free(t->batches);
    batcher_free(t->validation);
    batcher_free(t->test);
    if (t->reducer)
        reducer_free(t->reducer);
    if (t->optimizer.kernels)
        optimizer_release(&t->optimizer);
    if (t->model.kernels)
        model_release(&t->model);
    net_release(&t->net);
    datasets_release(&t->data);
    threads_free(t->threads);
    free(t->slabs);
    free(t->snapshot);
    free(t->lane_ends);
    free(t->lane_values);
    free(t->all_lane_values);
    free(t->confusion);
    memset(t, 0, sizeof *t);
}
