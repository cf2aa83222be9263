#include "worker/data/batch/batcher.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "paceline/mem.h"
#include "worker/data/batch/augment.h"
#include "worker/data/batch/distribution.h"
#include "worker/data/batch/team.h"
#include "worker/kernels/random.h"

/* A batch and the memory it points into. */
struct batch_slot {
    struct batch batch;
    float *x;
    uint32_t *labels;
    float *values; /* NULL: none */
    uint32_t *ids;
    struct err failure; /* of the batch, where it has one */
};

/*
 * A ring of slots. Batch number k (counted from the start) lives in slot k % n_slots; batches
 * freed..taken-1 are with the caller (at most one), taken..made-1 wait. The position and the order
 * belong to whoever fills: the thread while `filling` is set, else the holder of the lock.
 */
struct batcher {
    const struct dataset *set;
    const uint32_t *index; /* or NULL: 0..n-1 */
    uint32_t n, batch_size, n_batches;
    bool drop;
    uint64_t seed;
    struct distribution *distribution; /* of the samples; NULL: one share of all */
    batch_range_fn *range;
    void *arg;
    size_t pixels, labels, values; /* per sample */
    const struct normalizer *normalizer;
    struct augment augment;
    struct team *team;   /* of set->readers; NULL: the filling thread alone */
    struct tools *tools; /* [n_tools], one per thread */
    int n_tools;

    int64_t epoch; /* position of the next batch to fill */
    uint32_t next;
    uint32_t *order; /* of the samples in ordered_epoch; NULL: as they are */
    int64_t ordered_epoch;

    struct batch_slot *slots;
    size_t n_slots;
    uint64_t made, taken, freed;
    struct batcher_seconds seconds;

    bool threaded, held, filling, stopping;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* A thread's own. */
struct tools {
    uint8_t *view; /* room for a sample that is augmented; NULL: none is */
    struct sample_reader reader;
    uint32_t failed; /* the first sample that it could not make, or UINT32_MAX */
    struct err failure;
};

/* A worker's samples in the order of an epoch: as many as batches are made of. */
struct share {
    uint32_t begin, size;
};

static int n_shares(const struct batcher *b)
{
    return b->distribution ? b->distribution->workers : 1;
}

static struct share share_of(const struct batcher *b, int worker)
{
    const struct distribution *d = b->distribution;
    struct share s =
        d ? (struct share){d->begin[worker], d->size[worker]} : (struct share){0, b->n};

    s.size -= b->drop ? s.size % b->batch_size : 0;
    return s;
}

/* The part of a share that a batch is; empty where the share is over. */
static struct share batch_part(const struct batcher *b, uint32_t batch)
{
    const uint32_t shares = (uint32_t)n_shares(b);
    const struct share s = share_of(b, (int)(batch % shares));
    const uint64_t done = (uint64_t)(batch / shares) * b->batch_size;
    const uint64_t left = done < s.size ? s.size - done : 0;

    return (struct share){(uint32_t)((s.begin + done) % b->n),
                          left < b->batch_size ? (uint32_t)left : b->batch_size};
}

static uint32_t batch_samples(const struct batcher *b, uint32_t batch)
{
    return batch_part(b, batch).size;
}

/* Rounds, of a batch of each share, until the largest one is over. */
static uint32_t count_batches(const struct batcher *b)
{
    uint32_t most = 0;

    for (int w = 0; w < n_shares(b); w++) {
        const uint32_t size = share_of(b, w).size;
        const uint32_t n = size / b->batch_size + (size % b->batch_size > 0);
        most = n > most ? n : most;
    }
    return most * (uint32_t)n_shares(b);
}

static void order_epoch(struct batcher *b)
{
    if (!b->order || b->ordered_epoch == b->epoch)
        return;
    if (b->distribution)
        distribution_order(b->distribution, b->order, (uint32_t)b->epoch);
    else
        random_permutation(b->order, b->n, b->seed, RANDOM_SHUFFLE, (uint32_t)b->epoch);
    b->ordered_epoch = b->epoch;
}

static int make_row(const struct batcher *b, struct tools *t, float *x, uint32_t id)
{
    const struct dataset_ops *ops = b->set->ops;

    if (!ops->bytes)
        return ops->row(b->set, id, &t->reader, b->normalizer, x, &t->failure);
    const uint8_t *image = ops->bytes(b->set, id, &t->reader, &t->failure);
    if (!image)
        return -1;
    if (t->view) {
        augment_apply(t->view, image, b->set->shape,
                      augment_draw(&b->augment, (uint32_t)b->epoch, id));
        image = t->view;
    }
    const double start = sample_seconds();
    normalizer_apply(b->normalizer, x, image);
    t->reader.converting += sample_seconds() - start;
    return 0;
}

/* A sample as the model sees it, and its labels. */
static int batcher_prepare(const struct batcher *b, struct tools *t, const struct batch_slot *s,
                           uint32_t i)
{
    const struct dataset_ops *ops = b->set->ops;
    uint32_t *labels = s->labels + (size_t)i * b->labels;
    const uint32_t id = s->ids[i];

    if (make_row(b, t, s->x + (size_t)i * b->pixels, id))
        return -1;
    if (b->values)
        return ops->values(b->set, id, s->values + (size_t)i * b->values, &t->failure);
    if (ops->labels)
        ops->labels(b->set, id, labels);
    else
        *labels = b->set->labels[id];
    return 0;
}

/* What the threads share while they make a batch. */
struct making {
    const struct batcher *b;
    struct batch_slot *slot;
    atomic_uint next;
};

static void make_samples(void *arg, int thread)
{
    struct making *m = arg;
    const struct batcher *b = m->b;
    struct tools *t = &b->tools[thread];
    uint32_t i;

    t->reader.decoding = t->reader.converting = 0;
    t->failed = UINT32_MAX;
    while (t->failed == UINT32_MAX && (i = atomic_fetch_add(&m->next, 1)) < m->slot->batch.n)
        if (batcher_prepare(b, t, m->slot, i))
            t->failed = i;
}

/* Of what the threads could not make the first counts: the same one, however many there are. */
static void sum_up(const struct batcher *b, struct batch_slot *slot, struct batcher_seconds *took)
{
    uint32_t first = UINT32_MAX;

    slot->batch.failure = NULL;
    took->decoding = took->converting = 0;
    for (int i = 0; i < b->n_tools; i++) {
        took->decoding += b->tools[i].reader.decoding;
        took->converting += b->tools[i].reader.converting;
        if (b->tools[i].failed >= first)
            continue;
        first = b->tools[i].failed;
        slot->failure = b->tools[i].failure;
        slot->batch.failure = &slot->failure;
    }
}

/* Makes the batch at the position and moves the position on. */
static void batcher_fill(struct batcher *b, struct batch_slot *slot, struct batcher_seconds *took)
{
    struct making making = {.b = b, .slot = slot};
    struct batch *batch = &slot->batch;
    uint32_t begin;

    order_epoch(b);
    batch->epoch = b->epoch;
    batch->index = b->next;
    batch->n_global = batch_samples(b, b->next);
    b->range(b->arg, b->next, batch->n_global, &batch->first, &batch->n);
    begin = batch_part(b, b->next).begin + batch->first;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t at = (uint32_t)(((uint64_t)begin + i) % b->n),
                 drawn = b->order ? b->order[at] : at;

        slot->ids[i] = b->index ? b->index[drawn] : drawn;
    }
    if (b->team)
        team_run(b->team, make_samples, &making);
    else
        make_samples(&making, 0);
    sum_up(b, slot, took);
    if (++b->next == b->n_batches) {
        b->next = 0;
        b->epoch++;
    }
}

static struct batcher_seconds timed_fill(struct batcher *b, struct batch_slot *slot)
{
    struct batcher_seconds took;
    double start = sample_seconds();

    batcher_fill(b, slot, &took);
    took.making = sample_seconds() - start;
    return took;
}

static void add_seconds(struct batcher_seconds *to, struct batcher_seconds s)
{
    to->making += s.making;
    to->decoding += s.decoding;
    to->converting += s.converting;
}

static void *prefetch(void *arg)
{
    struct batcher *b = arg;

    pthread_mutex_lock(&b->lock);
    while (!b->stopping) {
        struct batcher_seconds seconds;

        if (b->held || b->made == b->freed + b->n_slots) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        b->filling = true;
        pthread_mutex_unlock(&b->lock);
        seconds = timed_fill(b, &b->slots[b->made % b->n_slots]);
        pthread_mutex_lock(&b->lock);
        add_seconds(&b->seconds, seconds);
        b->filling = false;
        b->made++;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Without a thread (the system may refuse one) batches are made in batcher_next. */
static void batcher_start_thread(struct batcher *b)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the caller's */
    b->threaded = pthread_create(&b->thread, NULL, prefetch, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The most samples this rank has in any batch: the last one may cut the lanes otherwise. */
static uint32_t batcher_most_samples(const struct batcher *b)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < b->n_batches; i++) {
        uint32_t first, n;

        b->range(b->arg, i, batch_samples(b, i), &first, &n);
        most = n > most ? n : most;
    }
    return most;
}

size_t batch_bytes(size_t pixels, size_t labels, size_t samples)
{
    return samples * (pixels * sizeof(float) + (labels + 1) * sizeof(uint32_t));
}

size_t batch_slots(const struct job *job, enum batch_order order)
{
    return 1 + (order == BATCHES_DRAWN ? 0 : (size_t)job->dataset.prefetch);
}

size_t batcher_bytes(const struct batcher *b)
{
    return b->n_slots * batch_bytes(b->pixels, b->labels + b->values, batcher_most_samples(b)) +
           (b->order ? b->n * sizeof *b->order : 0);
}

static void slots_init(struct batcher *b, size_t n_slots)
{
    size_t n = batcher_most_samples(b);

    b->n_slots = n_slots;
    b->slots = xcalloc(n_slots, sizeof *b->slots);
    for (size_t i = 0; i < n_slots; i++) {
        struct batch_slot *s = &b->slots[i];
        s->x = xaligned(n * b->pixels * sizeof *s->x);
        s->labels = xcalloc(n * b->labels, sizeof *s->labels);
        s->ids = xcalloc(n, sizeof *s->ids);
        if (b->values)
            s->values = xcalloc(n * b->values, sizeof *s->values);
        s->batch =
            (struct batch){.x = s->x, .labels = s->labels, .values = s->values, .ids = s->ids};
    }
}

static void tools_init(struct batcher *b, const struct job *job)
{
    if (b->set->readers)
        b->team = team_new(b->set->readers);
    b->n_tools = b->team ? team_threads(b->team) : 1;
    b->tools = xcalloc((size_t)b->n_tools, sizeof *b->tools);
    for (int i = 0; i < b->n_tools; i++) {
        struct tools *t = &b->tools[i];

        if (augment_any(&b->augment))
            t->view = xcalloc(b->pixels, 1);
        sample_reader_init(&t->reader, b->set, job);
    }
}

struct batcher *batcher_new(const struct dataset *set, const uint32_t *index, uint32_t n,
                            const struct normalizer *normalizer, struct distribution *distribution,
                            const struct job *job, enum batch_order order, batch_range_fn *range,
                            void *arg)
{
    struct batcher *b = xcalloc(1, sizeof *b);
    bool training = order != BATCHES_ALL;
    int64_t size = job->training.batch_size;

    b->set = set;
    b->index = index;
    b->n = n;
    b->batch_size = size < n ? (uint32_t)size : n;
    b->drop = training && job->training.last_batch == LAST_DROP;
    b->distribution = distribution;
    b->n_batches = count_batches(b);
    assert(b->n_batches > 0);
    b->labels = (size_t)set->positions;
    b->values = (size_t)set->values;
    b->seed = job->training.seed;
    b->range = range;
    b->arg = arg;
    b->pixels = dataset_pixels(set);
    b->normalizer = normalizer;
    if (training)
        b->augment = (struct augment){job->dataset.flip, (uint32_t)job->dataset.pad, b->seed};
    tools_init(b, job);
    b->ordered_epoch = -1;
    if (distribution || (training && job->dataset.shuffle && !set->ops->ordered))
        b->order = xcalloc(n, sizeof *b->order);
    slots_init(b, batch_slots(job, order));
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    b->held = true;
    if (b->n_slots > 1)
        batcher_start_thread(b);
    return b;
}

void batcher_free(struct batcher *b)
{
    if (!b)
        return;
    if (b->threaded) {
        pthread_mutex_lock(&b->lock);
        b->stopping = true;
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->thread, NULL);
    }
    for (size_t i = 0; i < b->n_slots; i++) {
        free(b->slots[i].x);
        free(b->slots[i].labels);
        free(b->slots[i].values);
        free(b->slots[i].ids);
    }
    free(b->slots);
    free(b->order);
    team_free(b->team);
    for (int i = 0; i < b->n_tools; i++) {
        sample_reader_release(&b->tools[i].reader);
        free(b->tools[i].view);
    }
    free(b->tools);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void batcher_hold(struct batcher *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->held = true;
    while (b->filling)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

void batcher_seek(struct batcher *b, int64_t epoch, uint32_t batch)
{
    assert(batch <= b->n_batches);
    pthread_mutex_lock(&b->lock);
    while (b->filling)
        pthread_cond_wait(&b->changed, &b->lock);
    b->held = false;
    b->epoch = epoch + (batch == b->n_batches);
    b->next = batch % b->n_batches;
    b->made = b->taken = b->freed = 0;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

uint32_t batcher_batches(const struct batcher *b) { return b->n_batches; }

uint32_t batcher_samples(const struct batcher *b, uint32_t batch, uint32_t n)
{
    uint32_t samples = 0;

    for (uint32_t i = batch; i < batch + n && i < b->n_batches; i++)
        samples += batch_samples(b, i);
    return samples;
}

const struct batch *batcher_next(struct batcher *b)
{
    const struct batch *batch;

    pthread_mutex_lock(&b->lock);
    b->freed = b->taken;
    b->held = false;
    pthread_cond_broadcast(&b->changed);
    if (!b->threaded)
        add_seconds(&b->seconds, timed_fill(b, &b->slots[b->made++ % b->n_slots]));
    while (b->made == b->taken)
        pthread_cond_wait(&b->changed, &b->lock);
    batch = &b->slots[b->taken++ % b->n_slots].batch;
    pthread_mutex_unlock(&b->lock);
    return batch;
}

struct batcher_seconds batcher_seconds(struct batcher *b)
{
    struct batcher_seconds seconds;

    pthread_mutex_lock(&b->lock);
    seconds = b->seconds;
    pthread_mutex_unlock(&b->lock);
    return seconds;
}
