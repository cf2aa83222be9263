/* Making and releasing a trainer; see trainer.h. */
#include "worker/train/trainer.h"

#include <time.h>

#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/data/fit.h"
#include "worker/data/store/identity.h"
#include "worker/train/data_check.h"
#include "worker/train/memory_limit.h"
#include "worker/train/telemetry/events.h"

#define LESS "a smaller spec.training.batchSize or model needs less"

double trainer_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void lanes_range(const struct lanes *l, uint32_t n, uint32_t *first, uint32_t *count)
{
    *first = lane_begin(l->total, l->first, n);
    *count = lane_samples(l->total, l->first, l->count, n);
}

static void shared_range(void *arg, uint32_t index, uint32_t n, uint32_t *first, uint32_t *count)
{
    const struct trainer *t = arg;

    (void)index;
    lanes_range(&t->shared, n, first, count);
}

/* A rank that has all lanes of some batches has no part of the others. */
static void training_range(void *arg, uint32_t index, uint32_t n, uint32_t *first, uint32_t *count)
{
    const struct trainer *t = arg;

    if (t->lanes.count != t->lanes.total) {
        lanes_range(&t->lanes, n, first, count);
        return;
    }
    *first = 0;
    *count = t->strategy->takes(t, index) ? n : 0;
}

static int trainer_largest_level(const struct lanes *l)
{
    int level = 0;
    for (int i = 0; i < l->n_blocks; i++)
        level = l->blocks[i].level > level ? l->blocks[i].level : level;
    return level;
}

/* Of a checkpoint, in floats. */
static size_t largest_tensor(const struct trainer *t)
{
    const size_t of_model = model_largest(&t->model), mean = t->normalizer.n_mean;

    return of_model > mean ? of_model : mean;
}

size_t trainer_batch_bytes(const struct trainer *t)
{
    const struct batcher *all[] = {t->batches, t->validation, t->test};
    const size_t scores = (size_t)t->model.max_samples * (size_t)t->model.positions;
    size_t bytes =
        scores * (sizeof *t->losses + (size_t)t->model.n_sides * sizeof *t->side_losses) +
        score_sums_bytes(&t->validated) + score_sums_bytes(&t->tested);

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        bytes += all[i] ? batcher_bytes(all[i]) : 0;
    return bytes;
}

uint64_t trainer_bytes(const struct trainer *t)
{
    size_t state = (size_t)t->optimizer.n_slots * t->optimizer.n_floats;

    const struct model_bytes m = model_bytes(&t->model);

    return m.parameters + m.saved + m.way_back + m.scratch + trainer_batch_bytes(t) +
           (state + t->gradient_floats + largest_tensor(t)) * sizeof(float);
}

/* Room for the largest tensor; kept: what is freed under MPI's allocator settings may not be used
 * again. */
float *trainer_room(struct trainer *t)
{
    if (!t->checkpoint_tensor)
        t->checkpoint_tensor = xaligned(largest_tensor(t) * sizeof(float));
    return t->checkpoint_tensor;
}

struct config_names trainer_class_names(const struct trainer *t)
{
    return (struct config_names){t->data.class_names, (size_t)t->data.train.classes};
}

struct config_names trainer_columns(const struct trainer *t)
{
    return (struct config_names){t->data.columns, dataset_pixels(&t->data.train)};
}

/* Before the first step, not in the middle of a day: of this process, and the sum over the ranks of
 * this host. Collective. */
static int check_memory(const struct trainer *t, struct err *err)
{
    const uint64_t mine = trainer_bytes(t), own_limit = memory_process_limit();
    const uint64_t need = comm_local_sum(t->comm, mine) + t->data.memory.bytes;
    const uint64_t limit = memory_limit(), ranks = (uint64_t)comm_local_size(t->comm);

    if (mine + t->data.memory.bytes > own_limit)
        return err_set(
            err, ERR_INVALID,
            "rank %d needs %llu MiB of memory, the limit of its process is %llu MiB; " LESS,
            comm_rank(t->comm), (unsigned long long)(mine + t->data.memory.bytes) >> 20,
            (unsigned long long)own_limit >> 20);
    if (need <= limit)
        return 0;
    return err_set(err, ERR_INVALID,
                   "the job needs %llu MiB of memory for %llu ranks on this host, the limit is "
                   "%llu MiB; " LESS,
                   (unsigned long long)(need >> 20), (unsigned long long)ranks,
                   (unsigned long long)(limit >> 20));
}

/* Each rank reads its host's files; which are the same on all. */
static int init_score_sums(struct trainer *t, struct err *err)
{
    const struct datasets *d = &t->data;
    const enum label_kind kind = job_labels(t->job);
    int rc = 0;

    score_sums_init(&t->validated, kind, t->model.classes, t->lane_tree.total);
    score_sums_init(&t->tested, kind, t->model.classes, t->lane_tree.total);
    if (kind == LABELS_NUMBERS)
        rc = dataset_spread(&d->test, NULL, d->test.n, t->tested.spread, err);
    if (kind == LABELS_NUMBERS && rc == 0 && d->n_validation)
        rc = dataset_spread(&d->train, d->validation_index, d->n_validation, t->validated.spread,
                            err);
    return comm_verdict(t->comm, rc, err);
}

static void init_evaluation(struct trainer *t)
{
    struct datasets *d = &t->data;
    if (d->n_validation)
        t->validation = batcher_new(d->validation_index ? &d->train : &d->validation,
                                    d->validation_index, d->n_validation, &t->normalizer, NULL,
                                    t->job, BATCHES_ALL, shared_range, t);
    t->test = batcher_new(&d->test, NULL, d->test.n, &t->normalizer, NULL, t->job, BATCHES_ALL,
                          shared_range, t);
}

static void init_lanes(struct trainer *t)
{
    const size_t lanes = (size_t)t->lane_tree.total;
    const size_t batches = (size_t)t->job->training.accumulate;
    const size_t leaves = lanes > batches ? lanes : batches;
    t->lane_ends = xcalloc(lanes, sizeof *t->lane_ends);
    t->lane_values = xcalloc(leaves * LANE_VALUES, sizeof *t->lane_values);
    t->all_lane_values = xcalloc(leaves * LANE_VALUES, sizeof *t->all_lane_values);
    t->pass.blocks = t->block_ends;
    t->pass.sink = &t->sink;
    t->pass.seed = t->job->training.seed;
}

/* The blocks of t->lanes, for passes. */
static void set_blocks(struct trainer *t)
{
    uint32_t *ends = t->lane_ends;
    for (int i = 0; i < t->lanes.n_blocks; i++) {
        t->block_ends[i].end = ends;
        t->block_ends[i].level = t->lanes.blocks[i].level;
        ends += 1 << t->lanes.blocks[i].level;
    }
    t->pass.n_blocks = t->lanes.n_blocks;
}

struct batcher_seconds trainer_prepared(const struct trainer *t)
{
    const struct batcher_seconds now = batcher_seconds(t->batches);

    return (struct batcher_seconds){t->prepared.making + now.making,
                                    t->prepared.decoding + now.decoding,
                                    t->prepared.converting + now.converting};
}

static void trainer_leave(struct trainer *t)
{
    if (t->batches)
        t->prepared = trainer_prepared(t);
    batcher_free(t->batches); /* first: its thread asks the strategy */
    t->batches = NULL;
    if (t->own)
        t->strategy->release(t);
    t->own = NULL;
}

void trainer_enter(struct trainer *t, const struct strategy *strategy)
{
    trainer_leave(t);
    t->strategy = strategy;
    t->strategy->share(t);
    set_blocks(t);
    t->sink = (struct gradient_sink){0};
    t->pass.poll = NULL;
    t->pass.weights = NULL;
    t->serves = false;
    t->gradient_floats = 0;
    t->strategy->init(t);
    t->batches =
        batcher_new(&t->data.train, t->data.train_index, t->data.n_train, &t->normalizer,
                    t->shares.n ? &t->shares : NULL, t->job,
                    t->strategy->draws ? BATCHES_DRAWN : BATCHES_TRAINING, training_range, t);
    batcher_seek(t->batches, t->at.epoch, t->at.batch);
}

static int trainer_thread_count(const struct trainer *t, int lanes)
{
    int n = (int)t->job->training.threads;
    if (!n)
        n = threads_available_cpus() / comm_local_size(t->comm);
    if (n > lanes)
        n = lanes;
    return n < 1 ? 1 : n;
}

/* The most samples of a training or evaluation pass: a smaller batch may have one more for us. */
static uint32_t trainer_most_samples(const struct trainer *t)
{
    const struct lanes *l[] = {&t->lanes, &t->shared};
    uint32_t most = 1;

    for (size_t i = 0; i < ARRAY_LEN(l); i++)
        for (uint32_t n = 1; n <= (uint32_t)t->job->training.batch_size; n++) {
            uint32_t samples = lane_samples(l[i]->total, l[i]->first, l[i]->count, n);
            most = samples > most ? samples : most;
        }
    return most;
}

/* What the model needs for any of the strategies: the most of each. Returns the most lanes. */
static int trainer_measure(struct trainer *t, struct model_config *config)
{
    int lanes = 0;

    for (int i = 0; i < STRATEGIES_MAX && t->strategies[i]; i++) {
        t->strategies[i]->share(t);
        const uint32_t samples = trainer_most_samples(t);
        const int levels = trainer_largest_level(&t->lanes);
        config->max_samples = samples > config->max_samples ? samples : config->max_samples;
        config->levels = levels > config->levels ? levels : config->levels;
        lanes = t->lanes.count > lanes ? t->lanes.count : lanes;
    }
    return lanes;
}

/* All strategies have to fit, also the one that has its turn later; the first one then runs. */
static int enter_all(struct trainer *t, struct err *err)
{
    for (int i = STRATEGIES_MAX - 1; i >= 0; i--) {
        if (!t->strategies[i])
            continue;
        trainer_enter(t, t->strategies[i]);
        if (check_memory(t, err) != 0)
            return -1;
    }
    return 0;
}

/* A worker that has some of the layers sees all lanes. */
static void init_tree(struct trainer *t)
{
    const bool layers = t->strategies[0]->place != NULL;

    t->lane_tree =
        (struct lane_tree){.total = job_lanes(t->job), .workers = layers ? 1 : t->workers};
    lanes_init(&t->shared, t->lane_tree, layers ? 0 : comm_rank(t->comm));
}

/* Who owns which parameters, where some rank alone updates them: the servers, else the workers. */
static void place_parameters(struct trainer *t)
{
    const struct model *m = &t->model;
    const int ranks = comm_size(t->comm), servers = ranks - t->workers;
    AUTO(auto_free) struct shard *tensors = xcalloc((size_t)m->n_params, sizeof *tensors);

    t->sharded = ranks > 1 && job_shards(t->job);
    if (!t->sharded && !servers)
        return;
    for (int i = 0; i < m->n_params; i++)
        tensors[i] = (struct shard){.offset = m->params[i].offset, .n = m->params[i].floats};
    placement_init(&t->placement, t->job->strategy.placement, tensors, m->n_params, m->n_floats,
                   servers ? servers : t->workers);
    t->placement.first = servers ? t->workers : 0;
}

struct floats {
    const struct trainer *t;
    struct sample_reader reader;
    struct digest digest;
};

static int training_floats(void *arg, uint32_t i, float *x, struct err *err)
{
    struct floats *f = arg;
    const struct dataset *train = &f->t->data.train;
    const size_t bytes = dataset_pixels(train) * sizeof *x;
    const void *raw =
        train->ops->raw(train, f->t->data.train_index[i], &f->reader, &f->t->normalizer, err);

    if (!raw)
        return -1;
    memcpy(x, raw, bytes);
    identity_add(&f->digest, x, bytes);
    return 0;
}

/* Each rank learns from its host's files: another's may not be readable, or hold other values. */
static int learn_floats(struct trainer *t, struct err *err)
{
    struct floats f = {.t = t, .digest = digest_begin(t->data.n_train)};

    sample_reader_init(&f.reader, &t->data.train, t->job);
    const int rc =
        normalizer_learn_floats(&t->normalizer, training_floats, &f, t->data.n_train, err);
    sample_reader_release(&f.reader);
    const uint64_t seen = digest_end(&f.digest);

    if (comm_verdict(t->comm, rc, err) != 0)
        return -1;
    return data_check_derived(t->comm, t->job, "the values of the training set", &seen, sizeof seen,
                              err);
}

/* The ranks share the adding of bytes, which are in memory (staging stream learns nothing); the
 * sums are exact, so it does not matter how. */
static int init_normalizer(struct trainer *t, struct err *err)
{
    const struct datasets *d = &t->data;
    const size_t ranks = (size_t)comm_size(t->comm), rank = (size_t)comm_rank(t->comm);

    normalizer_init(&t->normalizer, t->job, d->train.shape);
    if (t->normalizer.floats)
        return learn_floats(t, err);
    const size_t n = normalizer_sums(&t->normalizer);
    if (!n)
        return 0;
    AUTO(auto_free) uint64_t *sums = xcalloc(n, sizeof *sums);
    AUTO(auto_free) uint64_t *all = xcalloc(n * ranks, sizeof *all);
    for (size_t i = d->n_train * rank / ranks; i < d->n_train * (rank + 1) / ranks; i++)
        normalizer_add(&t->normalizer, sums,
                       d->train.ops->bytes(&d->train, d->train_index[i], NULL, NULL));
    comm_gather(t->comm, sums, n * sizeof *sums, all, 0);
    comm_broadcast(t->comm, all, n * ranks * sizeof *all, 0);
    for (size_t i = n; i < n * ranks; i++)
        all[i % n] += all[i];
    normalizer_learn(&t->normalizer, all, d->n_train);
    return 0;
}

static int init_shares(struct trainer *t, struct err *err)
{
    const struct datasets *d = &t->data;
    const int64_t groups = t->job->strategy.groups;
    const int n = groups > 0 ? (int)groups : t->workers;
    const bool drop = t->job->training.last_batch == LAST_DROP;
    const int64_t least = drop ? t->job->training.batch_size : 1;

    if (t->job->dataset.distribution.kind == DISTRIBUTION_DEALT)
        return 0;
    distribution_init(&t->shares, t->job, &d->train, d->train_index, d->n_train, n);
    for (int w = 0; w < n; w++)
        if (t->shares.size[w] < least)
            return err_set(err, ERR_INVALID,
                           "spec.dataset.distribution: %u of %u samples for %s %d; needed: at "
                           "least %lld",
                           t->shares.size[w], d->n_train, groups > 0 ? "group" : "worker", w,
                           (long long)least);
    return 0;
}

int trainer_init(struct trainer *t, const struct job *job, struct comm *comm,
                 const struct kernels *kernels,
                 const struct strategy *const strategies[STRATEGIES_MAX], struct datasets *data,
                 struct err *err)
{
    struct model_config config = {.kernels = kernels,
                                  .bf16 = job->training.precision == PRECISION_BF16};

    memset(t, 0, sizeof *t);
    t->job = job;
    memcpy(t->strategies, strategies, sizeof t->strategies);
    t->comm = comm;
    t->kernels = kernels;
    t->data = *data;
    memset(data, 0, sizeof *data);
    t->at.best = -1;
    t->mirror = -1;
    t->gathered = -1;
    t->together = true;
    phases_begin(&t->phases);
    t->workers = comm_size(comm) - (int)job->replicas[ROLE_PS].replicas;
    init_tree(t);
    if (comm_size(comm) > 1)
        comm_simulate(comm, (double)job->debug.bandwidth, job->debug.latency_seconds);
    if (job->strategy.wait_seconds > 0)
        comm_set_patience(comm, job->strategy.wait_seconds);
    t->threads = threads_new(trainer_thread_count(t, trainer_measure(t, &config)));
    config.threads = t->threads;
    config.batch = (uint32_t)job->training.batch_size;
    const struct data_facts facts = data_facts_of(&t->data);
    if (job_network(job, t->data.train.shape, t->data.train.classes, &t->net, err) != 0)
        return -1;
    if (strategies[0]->place && strategies[0]->place(t, err) != 0)
        return -1;
    config.owners = t->owners;
    config.worker = comm_rank(comm);
    model_init(&t->model, &t->net, &config);
    model_init_weights(&t->model, job->training.seed);
    if (data_fit(&facts, job, &t->net, err) != 0)
        return -1;
    place_parameters(t);
    optimizer_init(&t->optimizer, kernels, job, t->model.n_floats,
                   t->sharded ? &t->placement : NULL, comm_rank(comm));
    init_lanes(t);
    if (init_normalizer(t, err) != 0 || init_shares(t, err) != 0 || init_score_sums(t, err) != 0)
        return -1;
    init_evaluation(t);
    if (enter_all(t, err) != 0)
        return -1;
    t->steps = trainer_planned_steps(t);
    if (job->training.n_profile && comm_rank(comm) == 0)
        t->profile = profile_new(t->model.n_layers);
    /* last, so that the threads that make batches may run anywhere */
    if (job->training.pin_threads && threads_pin(t->threads, comm_local_rank(comm)) != 0)
        log_warn("spec.training.pinThreads: fewer CPUs than threads; none is pinned");
    t->losses =
        xcalloc((size_t)t->model.max_samples * (size_t)t->model.positions, sizeof *t->losses);
    t->side_losses = xcalloc((size_t)t->model.n_sides * t->model.max_samples,
                             (size_t)t->model.positions * sizeof *t->side_losses);
    return 0;
}

void trainer_release(struct trainer *t)
{
    trainer_leave(t);
    batcher_free(t->validation);
    batcher_free(t->test);
    if (t->optimizer.kernels)
        optimizer_release(&t->optimizer);
    placement_release(&t->placement);
    if (t->model.kernels)
        model_release(&t->model);
    net_release(&t->net);
    free(t->owners);
    normalizer_release(&t->normalizer);
    distribution_release(&t->shares);
    datasets_release(&t->data);
    threads_free(t->threads);
    profile_free(t->profile);
    free(t->checkpoint_tensor);
    free(t->lane_ends);
    free(t->lane_values);
    free(t->all_lane_values);
    free(t->losses);
    free(t->side_losses);
    score_sums_release(&t->validated);
    score_sums_release(&t->tested);
    memset(t, 0, sizeof *t);
}
