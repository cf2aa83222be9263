/* The messages of a piece, on the network as it is or as spec.debug has it. */
#include <assert.h>

#include "paceline/mem.h"
#include "worker/comm/reducer.h"

/* A message that the simulated line has not carried yet. Of a reducer they go to MPI in the order
 * that they were sent in, for those of one tag are told apart by it. */
struct held {
    struct piece *piece;
    const void *values;
    int request, n, rank, tag, number;
};

static bool is_shaped(const struct reducer *r) { return shaper_is_on(&r->comm->shaper); }

void pieces_init(struct reducer *r)
{
    const size_t requests = (size_t)r->max_requests;

    for (int i = 0; i < IN_FLIGHT; i++) {
        r->pieces[i].buffer = xaligned(r->buffer_bytes);
        r->pieces[i].requests = xcalloc(requests, sizeof(MPI_Request));
        r->pieces[i].received = xcalloc(requests, sizeof *r->pieces[i].received);
    }
    r->held_room = IN_FLIGHT * requests;
    r->held = xcalloc(r->held_room, sizeof *r->held);
}

void pieces_release(struct reducer *r)
{
    for (int i = 0; i < IN_FLIGHT; i++) {
        free(r->pieces[i].buffer);
        free(r->pieces[i].requests);
        free(r->pieces[i].received);
    }
    free(r->held);
}

static void post(struct reducer *r, const struct held *h)
{
    MPI_Isend(h->values, h->n, r->wire_type, h->rank, h->tag, r->world,
              &h->piece->requests[h->request]);
}

void piece_send(struct reducer *r, struct piece *p, const void *values, size_t n, int rank, int tag)
{
    struct held h = {p, values, p->n_requests++, (int)n, rank, tag, 0};

    assert(h.request < r->max_requests);
    r->stats.bytes_sent += n * r->wire_bytes;
    if (!is_shaped(r)) {
        post(r, &h);
        return;
    }
    h.number = shaper_send(&r->comm->shaper, comm_seconds(), n * r->wire_bytes);
    p->requests[h.request] = MPI_REQUEST_NULL;
    p->received[h.request] = 0;
    p->n_held++;
    r->held[(r->held_head + r->n_held++) % r->held_room] = h;
}

void piece_receive(struct reducer *r, struct piece *p, void *values, size_t n, int rank, int tag)
{
    assert(p->n_requests < r->max_requests);
    p->received[p->n_requests] = n * r->wire_bytes;
    MPI_Irecv(values, (int)n, r->wire_type, rank, tag, r->world, &p->requests[p->n_requests++]);
}

/* Hands to MPI what the line has carried. */
static void post_sent(struct reducer *r, double now)
{
    while (r->n_held > 0) {
        struct held *h = &r->held[r->held_head];

        if (!shaper_sent(&r->comm->shaper, now, h->number))
            return;
        post(r, h);
        h->piece->n_held--;
        r->held_head = (r->held_head + 1) % r->held_room;
        r->n_held--;
    }
}

/* How many messages go out of a rank at once: of every piece in flight, one, or one to each other
 * rank. */
static double sharing(const struct reducer *r)
{
    const bool to_all = r->config.algorithm == ALGO_TREE || r->config.algorithm == ALGO_NAIVE;

    return IN_FLIGHT * (to_all && !r->config.servers ? r->size - 1 : 1);
}

static bool shaped_arrived(struct reducer *r, struct piece *p)
{
    const double now = comm_seconds();
    bool open = false;

    post_sent(r, now);
    for (int i = 0; i < p->n_requests; i++) {
        int arrived = 1;

        if (p->requests[i] == MPI_REQUEST_NULL)
            continue;
        MPI_Test(&p->requests[i], &arrived, MPI_STATUS_IGNORE);
        if (arrived && p->received[i]) {
            double ready = shaper_receive(&r->comm->shaper, now, p->received[i], sharing(r));

            p->ready = ready > p->ready ? ready : p->ready;
        }
        open |= !arrived;
    }
    return !open && p->n_held == 0 && now >= p->ready;
}

bool piece_arrived(struct reducer *r, struct piece *p)
{
    int arrived = 0;

    if (is_shaped(r))
        arrived = shaped_arrived(r, p);
    else
        MPI_Testall(p->n_requests, p->requests, &arrived, MPI_STATUSES_IGNORE);
    if (arrived) {
        p->n_requests = 0;
        p->ready = 0;
    }
    return arrived;
}
