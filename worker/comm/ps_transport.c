#include "worker/comm/ps_transport.h"

#include <assert.h>
#include <limits.h>

#include "paceline/mem.h"
#include "worker/comm/timeout.h"

enum { TAG_NOTE, TAG_ANSWER, TAG_PUSH, TAG_PULL, TAG_GO };

/* A deferred note, which is heard again. */
struct deferred {
    bool is;
    size_t n;
    unsigned char note[PS_TRANSPORT_NOTE_MAX];
};

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

struct ps_transport {
    struct comm *comm;
    MPI_Comm world;
    int rank, workers, first, servers;
    int64_t patience;
    bool semaphore;
    void (*serve)(void *arg); /* of a worker that is a server, too */
    void *serve_arg;
    bool serving;
    MPI_Datatype *part;         /* of a slab: a server's shards */
    uint64_t *part_bytes;       /* per server */
    struct transfer *transfers; /* in the order that they were asked for */
    int n_transfers, room;
    MPI_Request note;          /* that is being told */
    struct deferred *deferred; /* per worker */
    int most_in, most_out;
};

/* A server's, not a worker's. */
static bool is_servers(const struct transfer *t) { return t->out == (t->tag == TAG_PULL); }

/* Whether it leaves this process: what does not is on no line. */
static bool travels(const struct ps_transport *e, int rank) { return rank != e->rank; }

/* A server's transfers of a direction that have begun and are not over. */
static int ps_transport_under_way(const struct ps_transport *e, bool out)
{
    int n = 0;

    for (int i = 0; i < e->n_transfers; i++) {
        const struct transfer *t = &e->transfers[i];

        n += is_servers(t) && t->out == out && t->state != TRANSFER_WAITS &&
             t->state != TRANSFER_OVER;
    }
    return n;
}

static void ps_transport_post(struct ps_transport *e, struct transfer *t)
{
    if (t->out)
        MPI_Isend(t->slab, 1, e->part[t->server], t->rank, t->tag, e->world, &t->request);
    else
        MPI_Irecv(t->slab, 1, e->part[t->server], t->rank, t->tag, e->world, &t->request);
    t->state = TRANSFER_POSTED;
}

static void ps_transport_begin(struct ps_transport *e, struct transfer *t)
{
    struct shaper *shaper = &e->comm->shaper;
    int n;

    if (t->out && shaper_is_on(shaper) && travels(e, t->rank)) {
        t->flow = shaper_send(shaper, comm_seconds(), e->part_bytes[t->server]);
        t->state = TRANSFER_FLOWS;
    } else {
        ps_transport_post(e, t);
    }
    n = ps_transport_under_way(e, true);
    e->most_out = n > e->most_out ? n : e->most_out;
}

/* Whether it is its turn: the server has given its word, and at the server those before it are
 * over. */
static bool may_begin(struct ps_transport *e, struct transfer *t)
{
    MPI_Status status;
    int there = 0;

    if (is_servers(t))
        return !e->semaphore || ps_transport_under_way(e, t->out) == 0;
    const int code = MPI_Test(&t->request, &there, &status);
    if (there || code != MPI_SUCCESS)
        comm_check_received(e->comm, t->rank, code, &status, 0, "the word for a push");
    return there;
}

/* A worker pushes to all servers at once, but what is its own. */
static double ps_transport_sharing(const struct ps_transport *e, const struct transfer *t)
{
    const int servers = e->servers - (e->first == 0);

    return t->tag == TAG_PUSH && servers > 1 ? servers : 1;
}

static void ps_transport_advance(struct ps_transport *e, struct transfer *t, double now)
{
    struct shaper *shaper = &e->comm->shaper;
    MPI_Status status;
    int done = 0;

    if (t->state == TRANSFER_WAITS && may_begin(e, t))
        ps_transport_begin(e, t);
    if (t->state == TRANSFER_FLOWS && shaper_sent(shaper, now, t->flow))
        ps_transport_post(e, t);
    if (t->state == TRANSFER_POSTED) {
        const int code = MPI_Test(&t->request, &done, &status);

        if (!t->out && (done || code != MPI_SUCCESS))
            comm_check_received(e->comm, t->rank, code, &status, e->part_bytes[t->server],
                                t->tag == TAG_PUSH ? "a gradient" : "weights");
        if (done) {
            t->state = TRANSFER_LANDS;
            t->ready = t->out || !travels(e, t->rank)
                           ? now
                           : shaper_receive(shaper, now, e->part_bytes[t->server],
                                            ps_transport_sharing(e, t));
        }
    }
    if (t->state == TRANSFER_LANDS && now >= t->ready)
        t->state = TRANSFER_OVER;
}

static void move(struct ps_transport *e)
{
    const double now = comm_seconds();

    for (int i = 0; i < e->n_transfers; i++)
        ps_transport_advance(e, &e->transfers[i], now);
}

/* With a semaphore a push waits for its server's word. */
static void add_transfer(struct ps_transport *e, struct transfer transfer)
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
    ps_transport_advance(e, t, comm_seconds());
}

/* Lets a server that is here as well answer what has come, unless it is its wait. */
static void ps_transport_call_server(struct ps_transport *e)
{
    if (!e->serve || e->serving)
        return;
    e->serving = true;
    e->serve(e->serve_arg);
    e->serving = false;
}

/* Between two looks for what a rank, or any (-1), is to do. */
static void rest(struct ps_transport *e, struct timeout *w, const char *what, int rank)
{
    move(e);
    ps_transport_call_server(e);
    timeout_poll(e->comm, e->patience, w, what, peer_name(rank).s);
}

/* Weights may be given many times before they change: to workers whose gradients are dropped. */
static void forget_those_over(struct ps_transport *e)
{
    int n = 0;

    for (int i = 0; i < e->n_transfers; i++)
        if (e->transfers[i].state != TRANSFER_OVER)
            e->transfers[n++] = e->transfers[i];
    e->n_transfers = n;
}

/* Waits for all transfers of a tag and direction. */
static void ps_transport_finish(struct ps_transport *e, int tag, bool out, const char *what,
                                int rank)
{
    struct timeout w = {0};

    for (;;) {
        bool over = true;

        move(e);
        for (int i = 0; i < e->n_transfers; i++) {
            const struct transfer *t = &e->transfers[i];

            over &= t->tag != tag || t->out != out || t->state == TRANSFER_OVER;
        }
        if (over)
            break;
        rest(e, &w, what, rank);
    }
    forget_those_over(e);
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

struct ps_transport *ps_transport_new(struct comm *c, const struct placement *placement,
                                      int64_t patience)
{
    struct ps_transport *e = xcalloc(1, sizeof *e);

    *e =
        (struct ps_transport){.comm = c, .rank = c->rank, .workers = c->size, .patience = patience};
    e->world = comm_dup_checked(c);
    if (!placement)
        return e;
    e->first = placement->first;
    e->workers = e->first ? e->first : c->size;
    e->servers = placement->servers;
    e->deferred = xcalloc((size_t)e->workers, sizeof *e->deferred);
    e->part = xcalloc((size_t)e->servers, sizeof(MPI_Datatype));
    e->part_bytes = xcalloc((size_t)e->servers, sizeof *e->part_bytes);
    for (int s = 0; s < e->servers; s++)
        e->part[s] = make_part(placement, s, &e->part_bytes[s]);
    return e;
}

void ps_transport_use_semaphore(struct ps_transport *e) { e->semaphore = true; }

void ps_transport_serve(struct ps_transport *e, void (*answer)(void *arg), void *arg)
{
    e->serve = answer;
    e->serve_arg = arg;
}

void ps_transport_poll(struct ps_transport *e)
{
    move(e);
    ps_transport_call_server(e);
}

void ps_transport_free(struct ps_transport *e)
{
    for (int s = 0; s < e->servers; s++)
        MPI_Type_free(&e->part[s]);
    MPI_Comm_free(&e->world);
    free(e->part);
    free(e->part_bytes);
    free(e->deferred);
    free(e->transfers);
    free(e);
}

void ps_transport_most(const struct ps_transport *e, int *in, int *out)
{
    *in = e->most_in;
    *out = e->most_out;
}

static void ps_transport_send_note(struct ps_transport *e, int rank, const void *note, size_t n,
                                   int tag)
{
    struct timeout w = {0};
    int there = 0;

    MPI_Isend(note, (int)n, MPI_BYTE, rank, tag, e->world, &e->note);
    for (;;) {
        MPI_Test(&e->note, &there, MPI_STATUS_IGNORE);
        if (there)
            return;
        move(e); /* and no more: what was announced is to be sent before others' is taken */
        timeout_poll(e->comm, e->patience, &w, "a note to be taken", peer_name(rank).s);
    }
}

void ps_transport_tell(struct ps_transport *e, int rank, const void *note, size_t n)
{
    ps_transport_send_note(e, rank, note, n, TAG_NOTE);
}

void ps_transport_answer(struct ps_transport *e, int worker, const void *answer, size_t n)
{
    ps_transport_send_note(e, worker, answer, n, TAG_ANSWER);
}

void ps_transport_defer(struct ps_transport *e, int worker, const void *note, size_t n)
{
    struct deferred *d = &e->deferred[worker];

    assert(n <= sizeof d->note);
    d->is = true;
    d->n = n;
    memcpy(d->note, note, n);
}

static int hear_again(struct ps_transport *e, int worker, void *note, size_t n)
{
    struct deferred *d = &e->deferred[worker];

    memcpy(note, d->note, d->n < n ? d->n : n);
    d->is = false;
    return worker;
}

/* Of a rank, or of any (-1), if its push has come and no weights leave, which the push has to leave
 * as they are: whose it is, else -1. */
static int take_deferred(struct ps_transport *e, int rank, void *note, size_t n)
{
    for (int worker = 0; e->deferred && worker < e->workers; worker++) {
        int there = 0;

        if (!e->deferred[worker].is || (rank >= 0 && rank != worker) ||
            ps_transport_under_way(e, true) > 0)
            continue;
        MPI_Iprobe(worker, TAG_PUSH, e->world, &there, MPI_STATUS_IGNORE);
        if (there)
            return hear_again(e, worker, note, n);
    }
    return -1;
}

/* A note must have the length of its receiver's buffer. Only workers send without being asked. */
static void ps_transport_check_note(const struct ps_transport *e, int asked,
                                    const MPI_Status *status, size_t n)
{
    const int source = status->MPI_SOURCE;
    int got = 0;

    if (asked < 0 && source >= e->workers)
        comm_refuse(e->comm, source, "a note, but is no worker; allowed: ranks 0 to %d",
                    e->workers - 1);
    MPI_Get_count(status, MPI_BYTE, &got);
    if (got < 0 || (size_t)got != n)
        comm_refuse(e->comm, source, "a note of %d bytes; allowed: %zu", got, n);
}

/* The next one of a rank, or of any (-1), if it is there: whose it is, else -1. A note that is
 * after a push says that this has come, too, whatever the probe has seen. */
static int take_note(struct ps_transport *e, int rank, void *note, size_t n, int tag)
{
    const int again = tag == TAG_NOTE ? take_deferred(e, rank, note, n) : -1;
    MPI_Status status;
    int there = 0;

    if (again >= 0)
        return again;
    MPI_Iprobe(rank < 0 ? MPI_ANY_SOURCE : rank, tag, e->world, &there, &status);
    if (!there)
        return -1;
    ps_transport_check_note(e, rank, &status, n);
    if (tag == TAG_NOTE && e->deferred && status.MPI_SOURCE < e->workers &&
        e->deferred[status.MPI_SOURCE].is)
        return hear_again(e, status.MPI_SOURCE, note, n);
    MPI_Recv(note, (int)n, MPI_BYTE, status.MPI_SOURCE, tag, e->world, MPI_STATUS_IGNORE);
    return status.MPI_SOURCE;
}

int ps_transport_heard(struct ps_transport *e, int rank, void *note, size_t n)
{
    return take_note(e, rank, note, n, TAG_NOTE);
}

static int hear(struct ps_transport *e, int rank, void *note, size_t n, int tag)
{
    struct timeout w = {0};
    int source;

    while ((source = take_note(e, rank, note, n, tag)) < 0)
        rest(e, &w, tag == TAG_NOTE ? "a note" : "an answer", rank);
    return source;
}

int ps_transport_hear(struct ps_transport *e, int rank, void *note, size_t n)
{
    return hear(e, rank, note, n, TAG_NOTE);
}

void ps_transport_await(struct ps_transport *e, int server, void *answer, size_t n)
{
    hear(e, server, answer, n, TAG_ANSWER);
}

static void ps_transport_count(struct ps_transport *e, int rank, int server)
{
    if (travels(e, rank))
        comm_count(e->comm, rank, e->part_bytes[server]);
}

void ps_transport_push(struct ps_transport *e, const float *slab)
{
    for (int s = 0; s < e->servers; s++) {
        add_transfer(e, (struct transfer){.out = true,
                                          .slab = (float *)slab,
                                          .server = s,
                                          .rank = e->first + s,
                                          .tag = TAG_PUSH});
        ps_transport_count(e, e->first + s, s);
    }
    ps_transport_finish(e, TAG_PUSH, true, "gradients to be taken", e->first);
}

void ps_transport_pull(struct ps_transport *e, float *slab)
{
    for (int s = 0; s < e->servers; s++)
        add_transfer(
            e, (struct transfer){.slab = slab, .server = s, .rank = e->first + s, .tag = TAG_PULL});
    ps_transport_finish(e, TAG_PULL, false, "weights", e->first);
}

/* The one that is taken, and those that have come to the door. */
static void count_pushes(struct ps_transport *e)
{
    int n = 1;

    for (int rank = 0; rank < e->workers; rank++) {
        int there = 0;

        MPI_Iprobe(rank, TAG_PUSH, e->world, &there, MPI_STATUS_IGNORE);
        n += there;
    }
    e->most_in = n > e->most_in ? n : e->most_in;
}

void ps_transport_take(struct ps_transport *e, int worker, float *slab)
{
    if (e->semaphore)
        ps_transport_send_note(e, worker, NULL, 0, TAG_GO);
    add_transfer(e,
                 (struct transfer){
                     .slab = slab, .server = e->rank - e->first, .rank = worker, .tag = TAG_PUSH});
    ps_transport_finish(e, TAG_PUSH, false, "a gradient", worker);
    count_pushes(e);
}

void ps_transport_give(struct ps_transport *e, int worker, const float *slab)
{
    int server = e->rank - e->first;

    forget_those_over(e);
    add_transfer(
        e,
        (struct transfer){
            .out = true, .slab = (float *)slab, .server = server, .rank = worker, .tag = TAG_PULL});
    ps_transport_count(e, worker, server);
}

void ps_transport_settle(struct ps_transport *e)
{
    ps_transport_finish(e, TAG_PULL, true, "weights to be taken", -1);
}
