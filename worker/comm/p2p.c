#include "worker/comm/p2p.h"

#include <assert.h>
#include <limits.h>

#include "paceline/mem.h"
#include "worker/comm/timeout.h"

enum { TAG_SHARED, TAG_VALUES };

/* Messages of one direction. */
struct messages {
    MPI_Request *requests;
    int *ranks;
    size_t *bytes;
    int n, room;
};

struct p2p {
    struct comm *comm;
    MPI_Comm world;
    int64_t patience;
    struct messages sent, expected;
    int n_awaited;         /* of those expected */
    MPI_Request *requests; /* one per rank */
};

struct p2p *p2p_new(struct comm *c, int64_t patience)
{
    struct p2p *p = xcalloc(1, sizeof *p);

    *p = (struct p2p){.comm = c, .patience = patience};
    p->requests = xcalloc((size_t)c->size, sizeof(MPI_Request));
    if (c->size > 1)
        p->world = comm_dup_checked(c);
    return p;
}

void p2p_free(struct p2p *p)
{
    if (p->comm->size > 1)
        MPI_Comm_free(&p->world);
    free(p->sent.requests);
    free(p->sent.ranks);
    free(p->sent.bytes);
    free(p->expected.requests);
    free(p->expected.ranks);
    free(p->expected.bytes);
    free(p->requests);
    free(p);
}

void p2p_settle(struct p2p *p)
{
    if (!p->sent.n)
        return;
    timeout_wait(p->comm, p->patience, p->sent.requests, p->sent.n, "values to be taken",
                 "another worker");
    p->sent.n = 0;
}

void p2p_poll(struct p2p *p)
{
    int done = 0;

    if (!p->sent.n)
        return;
    MPI_Testall(p->sent.n, p->sent.requests, &done, MPI_STATUSES_IGNORE);
    if (done)
        p->sent.n = 0;
}

static MPI_Request *p2p_add(struct messages *m, int rank, size_t bytes)
{
    if (m->n == m->room) {
        m->room = m->room ? 2 * m->room : 16;
        m->requests = xrealloc(m->requests, (size_t)m->room * sizeof(MPI_Request));
        m->ranks = xrealloc(m->ranks, (size_t)m->room * sizeof *m->ranks);
        m->bytes = xrealloc(m->bytes, (size_t)m->room * sizeof *m->bytes);
    }
    m->ranks[m->n] = rank;
    m->bytes[m->n] = bytes;
    return &m->requests[m->n++];
}

void p2p_send(struct p2p *p, int rank, int tag, const float *values, size_t n)
{
    assert(n <= INT_MAX);
    MPI_Isend(values, (int)n, MPI_FLOAT, rank, TAG_VALUES + tag, p->world,
              p2p_add(&p->sent, rank, n * sizeof *values));
    comm_count(p->comm, rank, n * sizeof *values);
}

int p2p_expect(struct p2p *p, int rank, int tag, float *values, size_t n)
{
    assert(n <= INT_MAX);
    MPI_Irecv(values, (int)n, MPI_FLOAT, rank, TAG_VALUES + tag, p->world,
              p2p_add(&p->expected, rank, n * sizeof *values));
    return p->expected.n - 1;
}

void p2p_await(struct p2p *p, int expected, const char *what)
{
    struct messages *m = &p->expected;

    timeout_wait_received(p->comm, p->patience, &m->requests[expected], m->ranks[expected],
                          m->bytes[expected], what);
    if (++p->n_awaited == m->n)
        p->n_awaited = m->n = 0;
}

void p2p_receive(struct p2p *p, int rank, int tag, float *values, size_t n, const char *what)
{
    p2p_await(p, p2p_expect(p, rank, tag, values, n), what);
}

void p2p_share(struct p2p *p, int root, void *bytes, size_t n, const char *what)
{
    const struct comm *c = p->comm;
    int n_requests = 0;

    assert(n <= INT_MAX);
    for (int rank = 0; c->rank == root && rank < c->size; rank++)
        if (rank != root)
            MPI_Isend(bytes, (int)n, MPI_BYTE, rank, TAG_SHARED, p->world,
                      &p->requests[n_requests++]);
    if (c->rank != root) {
        MPI_Irecv(bytes, (int)n, MPI_BYTE, root, TAG_SHARED, p->world, p->requests);
        timeout_wait_received(p->comm, p->patience, p->requests, root, n, what);
    }
    if (n_requests)
        timeout_wait(p->comm, p->patience, p->requests, n_requests, what, peer_name(root).s);
}
