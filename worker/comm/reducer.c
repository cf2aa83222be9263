#include "worker/comm/reducer.h"

#include <assert.h>
#include <limits.h>
#include <time.h>

#include "paceline/mem.h"

#define SHAPED_SLEEP_NS 50000

static const struct reducer_ops *const ops_of[] = {
    [ALGO_TREE] = &tree_ops,   [ALGO_RING] = &ring_ops,
    [ALGO_MPI] = &mpi_ops,     [ALGO_RECURSIVE_DOUBLING] = &doubling_ops,
    [ALGO_NAIVE] = &naive_ops,
};

/* Room for the ranges of a step is found in the first steps. */
static struct range *ranges_insert(struct ranges *list, size_t at, struct range item)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 256;
        list->items = xrealloc(list->items, list->cap * sizeof *list->items);
    }
    memmove(list->items + at + 1, list->items + at, (list->n - at) * sizeof *list->items);
    list->items[at] = item;
    list->n++;
    return &list->items[at];
}

static void ranges_push(struct ranges *list, struct range item)
{
    ranges_insert(list, list->n, item);
}

/* Keeps the list in order of offsets and joins neighbours. */
static void ranges_merge(struct ranges *list, struct range item)
{
    size_t at = list->n;

    while (at > 0 && list->items[at - 1].offset > item.offset)
        at--;

    struct range *here = ranges_insert(list, at, item), *end = list->items + list->n;

    if (here + 1 < end && here->offset + here->n == here[1].offset) {
        here[1] = (struct range){here->offset, here->n + here[1].n};
        memmove(here, here + 1, (size_t)(end - here - 1) * sizeof *here);
        list->n--, end--;
    }
    if (at > 0 && here[-1].offset + here[-1].n == here->offset) {
        here[-1].n += here->n;
        memmove(here, here + 1, (size_t)(end - here - 1) * sizeof *here);
        list->n--;
    }
}

static size_t align_up(size_t n) { return (n + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS; }

void plan_segments(struct reducer *r, size_t buffers)
{
    const bool is_network = r->comm->local_size < r->size || shaper_is_on(&r->comm->shaper);
    const bool is_eager = is_network && !r->ops->cut_is_order;
    const size_t most = is_eager ? EAGER_BYTES / r->wire_bytes : SEGMENT_MAX;
    const size_t least = most < SEGMENT_MIN ? most : SEGMENT_MIN;
    size_t segment = align_up(r->n / (IN_FLIGHT_MIN * buffers)), fit;

    if (segment > most)
        segment = most;
    if (segment < least)
        segment = least;
    if (segment > r->n)
        segment = align_up(r->n);
    fit = r->n / (segment * buffers);
    if (is_eager && fit > IN_FLIGHT_MIN)
        r->in_flight = fit < IN_FLIGHT_MAX ? (int)fit : IN_FLIGHT_MAX;
    r->segment = segment;
    r->chunk_max = segment * (size_t)r->size;
}

void reducer_need_scratch(struct reducer *r)
{
    r->scratch = xaligned((size_t)r->n_leaves * FOLD_TILE * sizeof *r->scratch);
}

struct range chunk_segment(const struct reducer *r, const struct chunk *p, int index)
{
    size_t size = (size_t)r->size, each = align_up((p->n + size - 1) / size);
    size_t begin = (size_t)index * each < p->n ? (size_t)index * each : p->n;

    return (struct range){begin, p->n - begin < each ? p->n - begin : each};
}

/* From the offset on: shards of rising, and so of different, servers, so that all of these sum and
 * send at once; the last one may be a part. */
static size_t row_of_shards(const struct reducer *r, size_t offset)
{
    const struct placement *p = r->config.servers->placement;
    const struct shard *shard = placement_find(p, offset), *end = p->shards + p->n;
    size_t n = 0;

    for (int before = -1; shard < end && shard->server > before; shard++) {
        size_t left = shard->offset + shard->n - (offset + n);

        if (left > r->segment)
            return n + r->segment;
        n += left;
        before = shard->server;
    }
    return n;
}

/* The next chunk of a range. */
static struct chunk cut_chunk(const struct reducer *r, struct range range)
{
    size_t most = r->config.servers ? row_of_shards(r, range.offset) : r->chunk_max;

    return (struct chunk){.offset = range.offset, .n = range.n < most ? range.n : most};
}

/* Chunks that have what they waited for go on; free places take the next chunks of the queue.
 * Whether a message has arrived. */
static bool reducer_advance(struct reducer *r)
{
    bool any;

    if (r->size == 1)
        return false;
    any = chunks_poll(r);
    for (int i = 0; i < r->in_flight; i++) {
        struct chunk *p = &r->chunks[i];

        if (!p->active || !chunk_arrived(p))
            continue;
        if (r->ops->advance(r, p)) {
            p->active = false;
            ranges_push(&r->done, (struct range){p->offset, p->n});
        }
    }
    for (int i = 0; i < r->in_flight && r->queue.head < r->queue.n; i++) {
        struct range *next = &r->queue.items[r->queue.head];
        struct chunk *p = &r->chunks[i], chunk;

        if (p->active)
            continue;
        chunk = cut_chunk(r, *next);
        chunk.active = true;
        chunk.number = r->next_number++;
        chunk.requests = p->requests;
        chunk.received = p->received;
        chunk.buffer = p->buffer;
        *p = chunk;
        *next = (struct range){next->offset + p->n, next->n - p->n};
        r->queue.head += next->n == 0;
        r->ops->start(r, p);
    }
    return any;
}

static bool is_idle(const struct reducer *r)
{
    bool active = r->queue.head < r->queue.n;

    for (int i = 0; i < r->in_flight; i++)
        active |= r->chunks[i].active;
    return !active;
}

static void *communicate(void *arg)
{
    struct reducer *r = arg;

    kernels_thread_init();
    while (sem_wait(&r->wake) != 0 || !atomic_load(&r->stop)) {
        bool busy = true;

        while (busy) {
            comm_lock(r->comm);
            reducer_advance(r);
            busy = !r->finished || !is_idle(r);
            comm_unlock(r->comm);
            sched_yield();
        }
    }
    return NULL;
}

/* The blocks of all ranks; which of them are this rank's. */
static void list_leaves(struct reducer *r)
{
    size_t cap = (size_t)r->tree.total;

    r->leaves = xcalloc(cap, sizeof *r->leaves);
    r->leaf_blocks = xcalloc(cap, sizeof *r->leaf_blocks);
    r->present = xcalloc(cap, sizeof *r->present);
    r->adds = xcalloc(cap, sizeof *r->adds);
    for (int rank = 0; rank < r->size; rank++) {
        struct lanes l;

        lanes_init(&l, r->tree, rank);
        if (rank == r->rank) {
            r->first_mine = r->n_leaves;
            r->n_mine = l.n_blocks;
        }
        for (int i = 0; i < l.n_blocks; i++) {
            r->leaves[r->n_leaves].rank = rank;
            r->leaf_blocks[r->n_leaves++] = l.blocks[i];
        }
    }
}

static void start_world(struct reducer *r)
{
    r->world = comm_dup_checked(r->comm);
    r->in_flight = IN_FLIGHT_MIN;
    r->ops->plan(r);
    chunks_init(r);
    if (r->config.thread) {
        sem_init(&r->wake, 0, 0);
        r->has_thread = pthread_create(&r->thread, NULL, communicate, r) == 0;
    }
}

struct reducer *reducer_new(struct comm *c, const struct kernels *k,
                            const struct reducer_config *config, struct lane_tree tree, size_t n)
{
    struct reducer *r = xcalloc(1, sizeof *r);
    bool bf16 = config->wire == WIRE_BF16;

    assert(n <= INT_MAX);
    *r = (struct reducer){.comm = c,
                          .kernels = k->reduce,
                          .ops = ops_of[config->algorithm],
                          .config = *config,
                          .rank = c->rank,
                          .size = c->size,
                          .tree = tree,
                          .n = n,
                          .wire_bytes = bf16 ? sizeof(uint16_t) : sizeof(float),
                          .wire_type = bf16 ? MPI_UINT16_T : MPI_FLOAT,
                          .bf16_sum = MPI_OP_NULL,
                          .finished = true};
    list_leaves(r);
    if (r->size > 1)
        start_world(r);
    return r;
}

void reducer_free(struct reducer *r)
{
    if (!r)
        return;
    assert(r->finished && is_idle(r));
    if (r->has_thread) {
        atomic_store(&r->stop, true);
        sem_post(&r->wake);
        pthread_join(r->thread, NULL);
        sem_destroy(&r->wake);
    }
    if (r->bf16_sum != MPI_OP_NULL)
        MPI_Op_free(&r->bf16_sum);
    if (r->size > 1)
        MPI_Comm_free(&r->world);
    chunks_release(r);
    free(r->leaves);
    free(r->leaf_blocks);
    free(r->present);
    free(r->adds);
    free(r->scratch);
    free(r->pending.items);
    free(r->queue.items);
    free(r->done.items);
    free(r);
}

static void plan_fold(struct reducer *r, uint32_t n)
{
    r->present_of = n;
    for (int i = 0; i < r->n_leaves; i++)
        r->present[i] =
            block_present(r->tree, r->leaf_blocks[i], n) && (is_mine(r, i) || !r->ops->local_fold);
    r->sum = lanes_plan(r->tree.total, r->leaf_blocks, r->present, r->adds, &r->n_adds);
}

void reducer_begin(struct reducer *r, uint32_t n, float *const *blocks)
{
    assert(n > 0);
    comm_lock(r->comm);
    assert(r->finished && is_idle(r) && r->done.head == r->done.n);
    for (int i = 0; i < r->n_mine || i == 0; i++) /* a server sums in the first, too */
        r->blocks[i] = blocks[i];
    if (n != r->present_of)
        plan_fold(r, n);
    r->queue.head = r->queue.n = 0;
    r->done.head = r->done.n = 0;
    r->finished = false;
    comm_unlock(r->comm);
    if (r->has_thread)
        sem_post(&r->wake);
}

static void reducer_flush(struct reducer *r)
{
    for (size_t i = 0; i < r->pending.n; i++)
        ranges_push(&r->queue, r->pending.items[i]);
    r->pending.n = 0;
    r->pending_floats = 0;
}

/* Ranks may submit in longer or shorter ranges, by their threads: they flush at the same values. */
static void reducer_collect(struct reducer *r, struct range range)
{
    size_t full = r->config.fusion_bytes / sizeof(float);

    if (full < FUSION_MIN)
        full = FUSION_MIN;
    while (range.n > 0) {
        size_t room = full - r->pending_floats;
        struct range part = {range.offset, range.n};

        if (r->config.schedule == COMM_OVERLAP && part.n > room)
            part.n = room;
        ranges_merge(&r->pending, part);
        r->pending_floats += part.n;
        if (r->config.schedule == COMM_OVERLAP && part.n == room)
            reducer_flush(r);
        range = (struct range){range.offset + part.n, range.n - part.n};
    }
}

void reducer_submit(struct reducer *r, size_t offset, size_t n)
{
    struct range range = {offset, n};

    assert(!r->finished && n > 0 && offset + n <= r->n);
    comm_lock(r->comm);
    if (r->size == 1) {
        ranges_push(&r->done, range);
    } else {
        reducer_collect(r, range);
        if (!r->has_thread)
            reducer_advance(r);
    }
    comm_unlock(r->comm);
}

void reducer_poll(struct reducer *r)
{
    /* All that has come; a look that finds nothing may have brought it. */
    for (int idle = 0; idle < 2 && !r->has_thread && !is_idle(r);)
        idle = reducer_advance(r) ? 0 : idle + 1;
}

void reducer_finish(struct reducer *r)
{
    comm_lock(r->comm);
    reducer_flush(r);
    r->finished = true;
    if (!r->has_thread)
        reducer_advance(r);
    comm_unlock(r->comm);
}

bool reducer_take(struct reducer *r, size_t *offset, size_t *n)
{
    double start = 0;
    bool found, idle;

    assert(r->finished);
    for (;;) {
        comm_lock(r->comm);
        if (!r->has_thread)
            reducer_advance(r);
        idle = is_idle(r);
        found = r->done.head < r->done.n;
        if (found) {
            struct range range = r->done.items[r->done.head++];

            *offset = range.offset;
            *n = range.n;
        }
        comm_unlock(r->comm);
        if (found || idle)
            break;
        if (start == 0)
            start = comm_seconds();
        if (r->has_thread)
            sched_yield();
        else if (shaper_is_on(&r->comm->shaper)) /* who waits leaves the core to others */
            nanosleep(&(struct timespec){.tv_nsec = SHAPED_SLEEP_NS}, NULL);
    }
    if (start != 0)
        r->wait_seconds += comm_seconds() - start;
    return found;
}

double reducer_wait_seconds(const struct reducer *r) { return r->wait_seconds; }
