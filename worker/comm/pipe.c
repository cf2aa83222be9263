#include "worker/comm/pipe.h"

#include <assert.h>
#include <limits.h>

#include "paceline/mem.h"
#include "worker/comm/wait.h"

enum { TAG_SHARED, TAG_VALUES };

/* Messages of one direction. */
struct messages {
    MPI_Request *requests;
    int *ranks;
    size_t *bytes;
    int n, room;
};

struct pipe {
    struct comm *comm;
    MPI_Comm world;
    int64_t patience;
    struct messages sent, expected;
    int n_awaited;         /* of those expected */
    MPI_Request *requests; /* one per rank */
};

struct pipe *pipe_new(struct comm *c, int64_t patience)
{
    struct pipe *p = xcalloc(1, sizeof *p);

    *p = (struct pipe){.comm = c, .patience = patience};
    p->requests = xcalloc((size_t)c->size, sizeof(MPI_Request));
    if (c->size > 1)
        p->world = comm_dup_checked(c);
    return p;
}

void pipe_free(struct pipe *p)
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

void pipe_settle(struct pipe *p)
{
    if (!p->sent.n)
        return;
    wait_for(p->comm, p->patience, p->sent.requests, p->sent.n, "values to be taken",
             "another worker");
    p->sent.n = 0;
}

void pipe_poll(struct pipe *p)
{
    int done = 0;

    if (!p->sent.n)
        return;
    MPI_Testall(p->sent.n, p->sent.requests, &done, MPI_STATUSES_IGNORE);
    if (done)
        p->sent.n = 0;
}

static MPI_Request *add(struct messages *m, int rank, size_t bytes)
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

void pipe_send(struct pipe *p, int rank, int tag, const float *values, size_t n)
{
    assert(n <= INT_MAX);
    MPI_Isend(values, (int)n, MPI_FLOAT, rank, TAG_VALUES + tag, p->world,
              add(&p->sent, rank, n * sizeof *values));
    comm_count(p->comm, rank, n * sizeof *values);
}

int pipe_expect(struct pipe *p, int rank, int tag, float *values, size_t n)
{
    assert(n <= INT_MAX);
    MPI_Irecv(values, (int)n, MPI_FLOAT, rank, TAG_VALUES + tag, p->world,
              add(&p->expected, rank, n * sizeof *values));
    return p->expected.n - 1;
}

void pipe_await(struct pipe *p, int expected, const char *what)
{
    struct messages *m = &p->expected;

    wait_received(p->comm, p->patience, &m->requests[expected], m->ranks[expected],
                  m->bytes[expected], what);
    if (++p->n_awaited == m->n)
        p->n_awaited = m->n = 0;
}

void pipe_receive(struct pipe *p, int rank, int tag, float *values, size_t n, const char *what)
{
    pipe_await(p, pipe_expect(p, rank, tag, values, n), what);
}

void pipe_share(struct pipe *p, int root, void *bytes, size_t n, const char *what)
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
        wait_received(p->comm, p->patience, p->requests, root, n, what);
    }
    if (n_requests)
        wait_for(p->comm, p->patience, p->requests, n_requests, what, wait_whom(root).s);
}
