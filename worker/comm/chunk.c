/* The messages of a chunk, on the network as it is or as spec.debug has it. */
#include <assert.h>

#include "paceline/mem.h"
#include "worker/comm/reducer.h"

/* A message that the simulated line has not carried yet. Of a reducer they go to MPI in the order
 * that they were sent in, for those of one tag are told apart by it. */
struct held {
    struct chunk *chunk;
    const void *values;
    int n, rank, tag, number;
};

static bool is_shaped(const struct reducer *r) { return shaper_is_on(&r->comm->shaper); }

void chunks_init(struct reducer *r)
{
    const size_t requests = (size_t)r->max_requests, all = (size_t)r->in_flight * requests;

    r->requests = xcalloc(all, sizeof(MPI_Request));
    r->finished_requests = xcalloc(all, sizeof *r->finished_requests);
    r->statuses = xcalloc(all, sizeof *r->statuses);
    for (size_t i = 0; i < all; i++)
        r->requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < r->in_flight; i++) {
        r->chunks[i].buffer = xaligned(r->buffer_bytes);
        r->chunks[i].requests = r->requests + (size_t)i * requests;
        r->chunks[i].received = xcalloc(requests, sizeof *r->chunks[i].received);
    }
    r->held_room = all;
    r->held = xcalloc(r->held_room, sizeof *r->held);
}

void chunks_release(struct reducer *r)
{
    for (int i = 0; i < r->in_flight; i++) {
        free(r->chunks[i].buffer);
        free(r->chunks[i].received);
    }
    free(r->requests);
    free(r->finished_requests);
    free(r->statuses);
    free(r->held);
}

MPI_Request *chunk_request(const struct reducer *r, struct chunk *p, size_t received)
{
    assert(p->n_requests < r->max_requests);
    p->received[p->n_requests] = received;
    p->n_open++;
    return &p->requests[p->n_requests++];
}

static void chunk_post(struct reducer *r, const struct held *h)
{
    MPI_Isend(h->values, h->n, r->wire_type, h->rank, h->tag, r->world,
              chunk_request(r, h->chunk, 0));
}

void chunk_send(struct reducer *r, struct chunk *p, const void *values, size_t n, int rank, int tag)
{
    struct held h = {p, values, (int)n, rank, tag, 0};

    comm_count(r->comm, rank, n * r->wire_bytes);
    if (!is_shaped(r)) {
        chunk_post(r, &h);
        return;
    }
    h.number = shaper_send(&r->comm->shaper, comm_seconds(), n * r->wire_bytes);
    p->n_held++;
    r->held[(r->held_head + r->n_held++) % r->held_room] = h;
}

void chunk_receive(struct reducer *r, struct chunk *p, void *values, size_t n, int rank, int tag)
{
    MPI_Irecv(values, (int)n, r->wire_type, rank, tag, r->world,
              chunk_request(r, p, n * r->wire_bytes));
}

/* Hands to MPI what the line has carried. */
static void post_sent(struct reducer *r, double now)
{
    while (r->n_held > 0) {
        struct held *h = &r->held[r->held_head];

        if (!shaper_sent(&r->comm->shaper, now, h->number))
            return;
        chunk_post(r, h);
        h->chunk->n_held--;
        r->held_head = (r->held_head + 1) % r->held_room;
        r->n_held--;
    }
}

/* How many messages go out of a rank at once: of every chunk in flight, one, or one to each other
 * rank. */
static double chunk_sharing(const struct reducer *r)
{
    const bool to_all = r->config.algorithm == ALGO_TREE || r->config.algorithm == ALGO_NAIVE;

    return r->in_flight * (to_all && !r->config.servers ? r->size - 1 : 1);
}

/* When the simulated line in has carried it. */
static void land(struct reducer *r, struct chunk *p, size_t bytes, double now)
{
    double ready = shaper_receive(&r->comm->shaper, now, bytes, chunk_sharing(r));

    p->ready = ready > p->ready ? ready : p->ready;
}

/* Checks the length of the message received. code: what MPI's test returned. */
static void check_received(struct reducer *r, int n, int code)
{
    for (int i = 0; i < n; i++) {
        const int at = r->finished_requests[i];
        const MPI_Status *s = &r->statuses[i];
        const size_t bytes = r->chunks[at / r->max_requests].received[at % r->max_requests];

        if (bytes)
            comm_check_received(r->comm, s->MPI_SOURCE, code == MPI_SUCCESS ? code : s->MPI_ERROR,
                                s, bytes, "a part of a gradient");
    }
    comm_check_sum(r->comm, code);
}

bool chunks_poll(struct reducer *r)
{
    const double now = is_shaped(r) ? comm_seconds() : 0;
    int n = 0;

    if (is_shaped(r))
        post_sent(r, now);
    const int code = MPI_Testsome(r->in_flight * r->max_requests, r->requests, &n,
                                  r->finished_requests, r->statuses);
    check_received(r, n, code);
    for (int i = 0; i < n; i++) { /* MPI_UNDEFINED, where none is under way, is below zero */
        struct chunk *p = &r->chunks[r->finished_requests[i] / r->max_requests];
        size_t bytes = p->received[r->finished_requests[i] % r->max_requests];

        p->n_open--;
        if (bytes && is_shaped(r))
            land(r, p, bytes, now);
    }
    return n > 0;
}

bool chunk_arrived(struct chunk *p)
{
    if (chunk_waits(p) || (p->ready > 0 && comm_seconds() < p->ready))
        return false;
    p->n_requests = 0;
    p->ready = 0;
    return true;
}
