/* Memory that a job's processes take; see needs.h. */
#include "cli/run/needs.h"

#include <math.h>

#include "paceline/estimate.h"
#include "paceline/job_split.h"
#include "paceline/losses.h"
#include "paceline/mem.h"
#include "paceline/net_parts.h"
#include "worker/data/data.h"
#include "worker/lanes/lanes.h"
#include "worker/model/model.h"
#include "worker/threads/threads.h"

/* The memory of a process besides its slabs: code and libraries, and MPI where it has others to
 * talk to; measured as the peak of a job of a few kilobytes. */
#define ALONE_BYTES (5.0 * 1048576)
#define RANK_BYTES (13.0 * 1048576)

/* The bytes that a server receives from one worker at a time, where the reducer sums: 4 pieces of
 * 64 Ki floats (worker/comm/reducer.h). */
#define RECEIVE_BYTES (4 * 64 * 1024 * sizeof(float))

/* The largest part of the optimiser's state that one of so many owners has. */
static double needs_largest_share(const struct job *job, const struct net *net, int owners)
{
    AUTO(auto_free) size_t *tensors = NULL;
    size_t n = 0;

    if (job->strategy.placement != PLACEMENT_GREEDY)
        return 1.0 / owners;
    tensors = xcalloc(2 * net->n_layers, sizeof *tensors);
    for (size_t i = 0; i < net->n_layers; i++) {
        tensors[n++] = net->layers[i].weights;
        tensors[n++] = net->layers[i].biases;
    }
    return estimate_largest_shard(tensors, n, owners);
}

/* The largest part of the optimiser's state that a worker has. */
static double worker_state(const struct job *job, const struct net *net)
{
    const int workers = (int)job->replicas[ROLE_WORKER].replicas;

    if (!job_shards(job) || job_ranks(job) == 1)
        return 1;
    return job_ranks(job) > workers ? 0 : needs_largest_share(job, net, workers);
}

/* Workers that share batches are bound by the lanes; workers that share an update's batches, by the
 * batches. */
static double ceiling_of(const struct job *job)
{
    const int64_t workers = job->replicas[ROLE_WORKER].replicas;
    const bool apart = job->strategy.type != STRATEGY_SWITCH && job_sharers(job) == 1;
    int64_t parts = job_lanes(job);

    if (job->strategy.batch == BATCH_JOIN)
        parts = job->training.accumulate;
    else if (apart)
        return (double)workers;
    const int64_t most = (parts + workers - 1) / workers; /* of one worker */

    return (double)parts / (double)most;
}

/* The samples' bytes on a host, and the lists of them. */
static double data_bytes(const struct job *job, size_t pixels, const uint32_t n[2])
{
    const double all = (double)n[0] + n[1], lists = sizeof(uint32_t) * (double)n[0];
    const bool kept = job->dataset.staging == STAGING_MATERIALIZE || job->dataset.cache;
    const double image =
        (double)pixels *
        (job->dataset.row_convert && !named_set_is_floats(job_named_set(job)) ? 1 : sizeof(float));

    if (job_named_set(job)->of == SAMPLES_WORDS)
        return lists + all * (double)pixels * sizeof(float);
    if (!labels_are_classes(job_labels(job)))
        return lists; /* the page cache holds what was read from files */
    if (job_named_set(job)->of == SAMPLES_MAPPED || !kept)
        return lists + all * sizeof(uint16_t);
    return lists + all * (sizeof(uint16_t) + image);
}

/* The worker's part of a batch, and of the work. */
struct worker_part {
    const struct job *job;
    const struct net *net;
    struct lanes lanes; /* of a worker with the most */
    struct threads *threads;
    uint32_t samples;  /* at most, in one pass */
    bool writes;       /* checkpoints: it needs room for a tensor */
    const int *owners; /* of the layers, where they have some; */
    int worker;
};

static bool saves(const struct job *job)
{
    return job->checkpoint.every_epochs || job->checkpoint.every_steps;
}

static struct lanes most_lanes(const struct job *job)
{
    const int workers = (int)job->replicas[ROLE_WORKER].replicas;
    const bool layers = job->strategy.type == STRATEGY_MODEL_PARALLEL;
    const struct lane_tree tree = {.total = job_lanes(job),
                                   .workers = layers ? 1 : job_sharers(job)};
    struct lanes most, l;

    lanes_init(&most, tree, 0);
    for (int rank = 1; rank < workers && rank < tree.workers; rank++) {
        lanes_init(&l, tree, rank);
        most = l.count > most.count ? l : most;
    }
    return most;
}

static uint32_t needs_most_samples(const struct lanes *l, int64_t batch)
{
    uint32_t most = 1;

    for (int64_t n = batch - l->total > 0 ? batch - l->total : 1; n <= batch; n++) {
        const uint32_t samples = lane_samples(l->total, l->first, l->count, (uint32_t)n);
        most = samples > most ? samples : most;
    }
    return most;
}

static int needs_thread_count(const struct job *job, int lanes)
{
    const int64_t ranks = job_ranks(job);
    int64_t n = job->training.threads;

    if (!n)
        n = threads_available_cpus() / ranks;
    n = n > lanes ? lanes : n;
    return n < 1 ? 1 : (int)n;
}

static int needs_largest_level(const struct lanes *l)
{
    int level = 0;

    for (int i = 0; i < l->n_blocks; i++)
        level = l->blocks[i].level > level ? l->blocks[i].level : level;
    return level;
}

/* Slabs of gradients, of the model's size each. */
static double update_slabs(const struct worker_part *p)
{
    const struct job *job = p->job;
    const int workers = (int)job->replicas[ROLE_WORKER].replicas;
    const int batches = (int)job->training.accumulate;
    const bool clips = job->training.clip_norm > 0;

    if (workers == 1 || job->strategy.batch == BATCH_JOIN) {
        if (job_ranks(job) == 1 && batches == 1 && !clips)
            return 0; /* each gradient is an update when it is there */
        return lane_tree_slabs(lane_tree_of_batches(batches, workers), 0);
    }
    return p->lanes.n_blocks;
}

/* Asynchronous workers that are servers as well; so a switch has them, before or after. */
static bool serves(const struct job *job)
{
    const bool async =
        job->strategy.type == STRATEGY_SWITCH ||
        (job->strategy.type == STRATEGY_PARAMETER_SERVER && job->strategy.mode != MODE_SYNC);

    return async && job_ranks(job) > 1 && job->replicas[ROLE_PS].replicas == 0;
}

/* Slabs of what comes from others: weights pulled and a gradient taken; the centre of elastic
 * averaging, the distance to it, and what is kept meanwhile. */
static double exchange_slabs(const struct job *job)
{
    if (job->strategy.type == STRATEGY_ELASTIC_AVERAGING)
        return 3 + job_optimizer_slots(&job->training.optimizer);
    return serves(job) ? 2 : 0;
}

/* Synchronous servers that count or order gradients: a worker has the one that it offers. */
static bool takes_turns(const struct job *job)
{
    return job->strategy.backup_workers > 0 || job->strategy.schedule >= COMM_ONE_AT_A_TIME;
}

static double gradient_slabs(const struct worker_part *p)
{
    const struct job *job = p->job;
    const bool clips = job->training.clip_norm > 0;
    const int64_t count = job->strategy.micro_batches;
    const double blocks = p->lanes.n_blocks;

    switch (job->strategy.type) {
    case STRATEGY_MODEL_PARALLEL:
        return count > 1 ? lane_tree_slabs(lane_tree_of_batches((int)count, 1), 0) : 0;
    case STRATEGY_LOCAL_SGD:
    case STRATEGY_ELASTIC_AVERAGING:
        return clips;
    case STRATEGY_SWITCH:
        return fmax(blocks, update_slabs(p));
    case STRATEGY_PARAMETER_SERVER:
        if (job->strategy.mode != MODE_SYNC && job_ranks(job) > 1)
            return blocks;
        return takes_turns(job) ? 1 : update_slabs(p);
    default:
        return update_slabs(p);
    }
}

/* Gradients on their way between workers that have some of the layers each. */
static double link_floats(const struct worker_part *p, const struct model *m)
{
    double floats = 0;

    for (int i = 0; p->owners && i < m->n_layers; i++)
        for (int k = 0; k < m->layers[i].n_inputs; k++) {
            const int from = m->layers[i].inputs[k];

            if (from >= m->lowest_trained && from >= 0 &&
                m->layers[i].remote != m->layers[from].remote)
                floats += (double)m->layers[from].out_floats * m->max_samples;
        }
    return floats;
}

/* Of evaluation all workers share each batch, however they train. */
static double batches_bytes(const struct worker_part *p, size_t pixels, size_t labels,
                            const uint32_t n[2])
{
    const struct job *job = p->job;
    const double share = job->dataset.validation_split, batch = (double)job->training.batch_size;
    const double mine = p->samples / batch; /* of a batch */
    const double evaluated =
        p->owners ? 1 : fmin(mine, 1.0 / (double)job->replicas[ROLE_WORKER].replicas);
    const uint32_t used =
        job->dataset.limit > 0 && job->dataset.limit < n[0] ? (uint32_t)job->dataset.limit : n[0];
    const double sets[] = {(1 - share) * used, share * used, n[1]};
    double bytes = job->dataset.shuffle ? sizeof(uint32_t) * sets[0] : 0;

    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        const double samples = fmin(sets[i], batch) * (i == 0 ? mine : evaluated);

        bytes += (double)(batch_slots(job, BATCHES_TRAINING) *
                          batch_bytes(pixels, labels, (size_t)ceil(samples)));
    }
    return bytes;
}

/* Everything that is the model's, for this part, with so many slabs of the model's size besides the
 * weights, and besides what comes from others. The model is made as the engine makes it. */
static void add_model(struct needs_memory *needs, const struct worker_part *p, double slabs,
                      double from_others)
{
    const struct model_config config = {.threads = p->threads,
                                        .max_samples = p->samples,
                                        .levels = needs_largest_level(&p->lanes),
                                        .batch = (uint32_t)p->job->training.batch_size,
                                        .bf16 = p->job->training.precision == PRECISION_BF16,
                                        .owners = p->owners,
                                        .worker = p->worker};
    struct model m;
    size_t all = 0;

    mem_planned = &all;
    model_init(&m, p->net, &config);
    mem_planned = NULL;
    const struct model_bytes b = model_bytes(&m);

    needs->parameters = (double)b.parameters * (1 + slabs);
    needs->activations = (double)(b.saved + b.way_back);
    needs->exchange = (double)b.parameters * from_others + sizeof(float) * link_floats(p, &m);
    needs->rest = (double)(all - b.parameters - b.saved - b.way_back) +
                  (job_ranks(p->job) > 1 ? RANK_BYTES : ALONE_BYTES);
    if (p->writes)
        needs->rest += sizeof(float) * (double)model_largest(&m);
    model_release(&m);
}

static void add_worker(struct needs *e, const struct worker_part *p)
{
    const double state = e->state_part * job_optimizer_slots(&p->job->training.optimizer);

    add_model(&e->worker, p, state + gradient_slabs(p), exchange_slabs(p->job));
}

/* Slabs of gradients that a server holds, of the model's size each: the sum of those that have
 * come, or each sum that waits for its sibling in the tree of batches. */
static double server_slabs(const struct job *job)
{
    const int batches = (int)job->training.accumulate;

    if (job->strategy.type != STRATEGY_PARAMETER_SERVER || !takes_turns(job))
        return 1;
    if (job->strategy.backup_workers > 0)
        return 2; /* and the one that comes */
    return 1 + lane_tree_slabs(lane_tree_of_batches(batches, 1), 0);
}

/* Whether gradients come to servers in pieces, through the reducer. */
static bool sums_pieces(const struct job *job)
{
    return job->strategy.type == STRATEGY_SWITCH ||
           (job->strategy.mode == MODE_SYNC && !takes_turns(job));
}

/* A parameter server: a rank without samples, so the model has room for one, on one thread. */
static void add_server(struct needs *e, const struct job *job, const struct net *net)
{
    const int servers = (int)job->replicas[ROLE_PS].replicas;
    const int64_t workers = job->replicas[ROLE_WORKER].replicas;
    const double state = job_shards(job) ? needs_largest_share(job, net, servers) : 1;
    struct worker_part p = {.job = job, .net = net, .samples = 1, .threads = threads_new(1)};

    p.writes = saves(job) && workers == 1; /* the copy of another host's rank 0 */
    add_model(&e->server, &p,
              state * job_optimizer_slots(&job->training.optimizer) + server_slabs(job), 0);
    threads_free(p.threads);
    if (sums_pieces(job))
        e->server.exchange =
            fmin((double)workers * RECEIVE_BYTES, sizeof(float) * (double)net->params);
}

static double needs_sum(const struct needs_memory *m)
{
    return m->parameters + m->activations + m->batches + m->exchange + m->data + m->rest;
}

/* ModelParallel: of the worker that needs the most. */
static int add_split(struct needs *e, struct worker_part *p, struct err *err)
{
    const int workers = (int)p->job->replicas[ROLE_WORKER].replicas;
    AUTO(net_parts_release) struct net_parts parts;
    AUTO(auto_free) struct split_share *shares = xcalloc((size_t)workers, sizeof *shares);
    AUTO(auto_free) int *worker = NULL, *owners = xcalloc(p->net->n_layers, sizeof *owners);
    struct needs most = *e;

    net_parts_init(&parts, p->net);
    worker = xcalloc((size_t)parts.n, sizeof *worker);
    if (job_split(p->job, &parts, p->net, job_split_kind(p->job), workers, worker, err))
        return -1;
    job_split_shares(p->job, &parts, worker, workers, shares);
    most.ceiling = job_split_ceiling(p->job, shares, workers);
    for (int i = 0; i < parts.n; i++)
        for (size_t k = 0; k < parts.items[i].n; k++)
            owners[parts.items[i].first + k] = worker[i];
    p->owners = owners;
    for (p->worker = 0; p->worker < workers; p->worker++) {
        add_worker(e, p);
        if (needs_sum(&e->worker) > needs_sum(&most.worker))
            most.worker = e->worker;
    }
    *e = most;
    return 0;
}

/* The label of a sample: its class, or a value for each output. */
static size_t label_words(const struct job *job, const struct net *net)
{
    return labels_are_classes(job_labels(job)) ? 1 : 1 + (size_t)net->out.c;
}

int needs_find(struct needs *e, const struct job *job, const struct net *net, const uint32_t n[2],
               struct err *err)
{
    const size_t pixels = (size_t)net->in.c * (size_t)net->in.h * (size_t)net->in.w;
    const size_t labels = net->rows ? (size_t)net->out.w : label_words(job, net);
    struct worker_part p = {.job = job, .net = net, .lanes = most_lanes(job), .writes = saves(job)};
    int rc = 0;

    p.samples = needs_most_samples(&p.lanes, job->training.batch_size);
    p.threads = threads_new(needs_thread_count(job, p.lanes.count));
    *e = (struct needs){.state_part = worker_state(job, net), .ceiling = ceiling_of(job)};
    if (job->strategy.type == STRATEGY_MODEL_PARALLEL)
        rc = add_split(e, &p, err);
    else
        add_worker(e, &p);
    threads_free(p.threads);
    e->worker.batches = batches_bytes(&p, pixels, labels, n);
    e->worker.data = data_bytes(job, pixels, n);
    e->worker.total = needs_sum(&e->worker);
    if (job->replicas[ROLE_PS].replicas > 0) {
        add_server(e, job, net);
        e->server.data = e->worker.data;
        e->server.total = needs_sum(&e->server);
    }
    return rc;
}
