#include "worker/comm/exchange.h"

#include <assert.h>
#include <limits.h>

#include "paceline/mem.h"
#include "worker/comm/wait.h"

enum { TAG_NOTE, TAG_PUSH, TAG_PULL, TAG_GO };

/* A server's part of a slab on its way. */
struct transfer {
    enum { TRANSFER_WAITS, TRANSFER_FLOWS, TRANSFER_POSTED, TRANSFER_LANDS, TRANSFER_OVER } state;
    bool out;
    float *slab;
    int server, rank, tag;
    MPI_Request request; /* waits: for the server's word; posted: the parameters */
    int flow;            /* flows: its number at the shaper */
    double ready;        /* lands: when it may be acted on */
};

struct exchange {
    struct comm *comm;
    MPI_Comm world;
    int rank, first, servers;
    int64_t patience;
    bool semaphore;
    MPI_Datatype *part;         /* of a slab: a server's shards */
    uint64_t *part_bytes;       /* per server */
    struct transfer *transfers; /* in the order that they were asked for */
    int n_transfers, room;
    MPI_Request note; /* that is being told */
    int most_in, most_out;
};

static bool is_server(const struct exchange *e) { return e->rank >= e->first; }

/* Transfers of a direction that have begun and are not over. */
static int under_way(const struct exchange *e, bool out)
{
    int n = 0;

    for (int i = 0; i < e->n_transfers; i++) {
        const struct transfer *t = &e->transfers[i];

        n += t->out == out && t->state != TRANSFER_WAITS && t->state != TRANSFER_OVER;
    }
    return n;
}

static void post(struct exchange *e, struct transfer *t)
{
    if (t->out)
        MPI_Isend(t->slab, 1, e->part[t->server], t->rank, t->tag, e->world, &t->request);
    else
        MPI_Irecv(t->slab, 1, e->part[t->server], t->rank, t->tag, e->world, &t->request);
    t->state = TRANSFER_POSTED;
}

static void begin(struct exchange *e, struct transfer *t)
{
    struct shaper *shaper = &e->comm->shaper;
    int n;

    if (t->out && shaper_is_on(shaper)) {
        t->flow = shaper_send(shaper, comm_seconds(), e->part_bytes[t->server]);
        t->state = TRANSFER_FLOWS;
    } else {
        post(e, t);
    }
    n = under_way(e, true);
    e->most_out = n > e->most_out ? n : e->most_out;
}

/* Whether it is its turn: the server has given its word, and at the server those before it are
 * over. */
static bool may_begin(struct exchange *e, struct transfer *t)
{
    int there = 0;

    if (is_server(e))
        return !e->semaphore || under_way(e, t->out) == 0;
    MPI_Test(&t->request, &there, MPI_STATUS_IGNORE);
    return there;
}

static void advance(struct exchange *e, struct transfer *t, double now)
{
    struct shaper *shaper = &e->comm->shaper;
    int done = 0;

    if (t->state == TRANSFER_WAITS && may_begin(e, t))
        begin(e, t);
    if (t->state == TRANSFER_FLOWS && shaper_sent(shaper, now, t->flow))
        post(e, t);
    if (t->state == TRANSFER_POSTED) {
        MPI_Test(&t->request, &done, MPI_STATUS_IGNORE);
        if (done) {
            t->state = TRANSFER_LANDS;
            t->ready = t->out ? now : shaper_receive(shaper, now, e->part_bytes[t->server], 1);
        }
    }
    if (t->state == TRANSFER_LANDS && now >= t->ready)
        t->state = TRANSFER_OVER;
}

static void move(struct exchange *e)
{
    const double now = comm_seconds();

    for (int i = 0; i < e->n_transfers; i++)
        advance(e, &e->transfers[i], now);
}

/* With a semaphore a push waits for its server's word. */
static void add_transfer(struct exchange *e, struct transfer transfer)
{
    struct transfer *t;

    if (e->n_transfers == e->room) {
        e->room = 2 * e->room + 4;
        e->transfers = xrealloc(e->transfers, (size_t)e->room * sizeof *e->transfers);
    }
    t = &e->transfers[e->n_transfers++];
    *t = transfer;
    t->request = MPI_REQUEST_NULL;
    if (e->semaphore && t->tag == TAG_PUSH && t->out)
        MPI_Irecv(NULL, 0, MPI_BYTE, t->rank, TAG_GO, e->world, &t->request);
    advance(e, t, comm_seconds());
}

/* Waits for the last n transfers, of which then nothing is left. */
static void finish(struct exchange *e, int n, const char *what, int rank)
{
    struct wait w = {0};

    for (;;) {
        bool over = true;

        move(e);
        for (int i = e->n_transfers - n; i < e->n_transfers; i++)
            over &= e->transfers[i].state == TRANSFER_OVER;
        if (over)
            break;
        wait_on(e->comm, e->patience, &w, what, wait_whom(rank).s);
    }
    e->n_transfers -= n;
}

/* The type of a server's shards within a slab. */
static MPI_Datatype make_part(const struct placement *p, int server, uint64_t *bytes)
{
    AUTO(auto_free) int *lengths = xcalloc((size_t)p->n, sizeof *lengths);
    AUTO(auto_free) int *offsets = xcalloc((size_t)p->n, sizeof *offsets);
    MPI_Datatype type;
    int n = 0;

    *bytes = 0;
    for (int i = 0; i < p->n; i++) {
        const struct shard *s = &p->shards[i];

        if (s->server != server)
            continue;
        assert(s->offset + s->n <= INT_MAX);
        lengths[n] = (int)s->n;
        offsets[n++] = (int)s->offset;
        *bytes += s->n * sizeof(float);
    }
    MPI_Type_indexed(n, lengths, offsets, MPI_FLOAT, &type);
    MPI_Type_commit(&type);
    return type;
}

struct exchange *exchange_new(struct comm *c, const struct placement *placement, int64_t patience)
{
    struct exchange *e = xcalloc(1, sizeof *e);

    *e = (struct exchange){.comm = c, .rank = c->rank, .patience = patience};
    MPI_Comm_dup(c->world, &e->world);
    if (!placement)
        return e;
    e->first = placement->first;
    e->servers = placement->servers;
    e->part = xcalloc((size_t)e->servers, sizeof(MPI_Datatype));
    e->part_bytes = xcalloc((size_t)e->servers, sizeof *e->part_bytes);
    for (int s = 0; s < e->servers; s++)
        e->part[s] = make_part(placement, s, &e->part_bytes[s]);
    return e;
}

void exchange_use_semaphore(struct exchange *e) { e->semaphore = true; }

void exchange_free(struct exchange *e)
{
    for (int s = 0; s < e->servers; s++)
        MPI_Type_free(&e->part[s]);
    MPI_Comm_free(&e->world);
    free(e->part);
    free(e->part_bytes);
    free(e->transfers);
    free(e);
}

void exchange_most(const struct exchange *e, int *in, int *out)
{
    *in = e->most_in;
    *out = e->most_out;
}

static void tell(struct exchange *e, int rank, const void *note, size_t n, int tag)
{
    struct wait w = {0};
    int there = 0;

    MPI_Isend(note, (int)n, MPI_BYTE, rank, tag, e->world, &e->note);
    for (;;) {
        MPI_Test(&e->note, &there, MPI_STATUS_IGNORE);
        if (there)
            return;
        move(e);
        wait_on(e->comm, e->patience, &w, "a note to be taken", wait_whom(rank).s);
    }
}

void exchange_tell(struct exchange *e, int rank, const void *note, size_t n)
{
    tell(e, rank, note, n, TAG_NOTE);
}

int exchange_hear(struct exchange *e, int rank, void *note, size_t n)
{
    struct wait w = {0};
    MPI_Status status;
    int there = 0, source = rank < 0 ? MPI_ANY_SOURCE : rank;

    for (;;) {
        MPI_Iprobe(source, TAG_NOTE, e->world, &there, &status);
        if (there)
            break;
        move(e);
        wait_on(e->comm, e->patience, &w, "a note", wait_whom(rank).s);
    }
    MPI_Recv(note, (int)n, MPI_BYTE, status.MPI_SOURCE, TAG_NOTE, e->world, MPI_STATUS_IGNORE);
    return status.MPI_SOURCE;
}

void exchange_push(struct exchange *e, const float *slab)
{
    for (int s = 0; s < e->servers; s++) {
        add_transfer(e, (struct transfer){.out = true,
                                          .slab = (float *)slab,
                                          .server = s,
                                          .rank = e->first + s,
                                          .tag = TAG_PUSH});
        comm_count(e->comm, e->first + s, e->part_bytes[s]);
    }
    finish(e, e->servers, "gradients to be taken", e->first);
}

void exchange_pull(struct exchange *e, float *slab)
{
    for (int s = 0; s < e->servers; s++)
        add_transfer(
            e, (struct transfer){.slab = slab, .server = s, .rank = e->first + s, .tag = TAG_PULL});
    finish(e, e->servers, "weights", e->first);
}

/* The one that is taken, and those that have come to the door. */
static void count_pushes(struct exchange *e)
{
    int n = 1;

    for (int rank = 0; rank < e->first; rank++) {
        int there = 0;

        MPI_Iprobe(rank, TAG_PUSH, e->world, &there, MPI_STATUS_IGNORE);
        n += there;
    }
    e->most_in = n > e->most_in ? n : e->most_in;
}

void exchange_take(struct exchange *e, int worker, float *slab)
{
    if (e->semaphore)
        tell(e, worker, NULL, 0, TAG_GO);
    add_transfer(e,
                 (struct transfer){
                     .slab = slab, .server = e->rank - e->first, .rank = worker, .tag = TAG_PUSH});
    finish(e, 1, "a gradient", worker);
    count_pushes(e);
}

/* Weights may be given many times before they change: to workers whose gradients are dropped. */
static void forget_those_over(struct exchange *e)
{
    int n = 0;

    for (int i = 0; i < e->n_transfers; i++)
        if (e->transfers[i].state != TRANSFER_OVER)
            e->transfers[n++] = e->transfers[i];
    e->n_transfers = n;
}

void exchange_give(struct exchange *e, int worker, const float *slab)
{
    int server = e->rank - e->first;

    forget_those_over(e);
    add_transfer(
        e,
        (struct transfer){
            .out = true, .slab = (float *)slab, .server = server, .rank = worker, .tag = TAG_PULL});
    comm_count(e->comm, worker, e->part_bytes[server]);
}

void exchange_settle(struct exchange *e) { finish(e, e->n_transfers, "weights to be taken", -1); }
