#include "worker/comm/pipe.h"

#include <assert.h>
#include <limits.h>

#include "paceline/mem.h"
#include "worker/comm/wait.h"

enum { TAG_VALUES, TAG_SHARED };

#define ON_THE_WAY 64 /* messages; before one more all have to be taken */

struct pipe {
    struct comm *comm;
    MPI_Comm world;
    int64_t patience;
    MPI_Request *sent; /* ON_THE_WAY at most */
    int n_sent;
    MPI_Request *requests; /* one per rank */
    uint64_t bytes_sent;
};

struct pipe *pipe_new(struct comm *c, int64_t patience)
{
    struct pipe *p = xcalloc(1, sizeof *p);

    *p = (struct pipe){.comm = c, .patience = patience};
    p->sent = xcalloc(ON_THE_WAY, sizeof(MPI_Request));
    p->requests = xcalloc((size_t)c->size, sizeof(MPI_Request));
    if (c->size > 1)
        MPI_Comm_dup(c->world, &p->world);
    return p;
}

void pipe_free(struct pipe *p)
{
    if (p->comm->size > 1)
        MPI_Comm_free(&p->world);
    free(p->sent);
    free(p->requests);
    free(p);
}

uint64_t pipe_bytes_sent(const struct pipe *p) { return p->bytes_sent; }

void pipe_settle(struct pipe *p)
{
    if (!p->n_sent)
        return;
    wait_for(p->comm, p->patience, p->sent, p->n_sent, "values to be taken", "another worker");
    p->n_sent = 0;
}

void pipe_poll(struct pipe *p)
{
    int done = 0;

    if (!p->n_sent)
        return;
    MPI_Testall(p->n_sent, p->sent, &done, MPI_STATUSES_IGNORE);
    if (done)
        p->n_sent = 0;
}

void pipe_send(struct pipe *p, int rank, const float *values, size_t n)
{
    assert(n <= INT_MAX);
    if (p->n_sent == ON_THE_WAY)
        pipe_settle(p);
    MPI_Isend(values, (int)n, MPI_FLOAT, rank, TAG_VALUES, p->world, &p->sent[p->n_sent++]);
    p->bytes_sent += n * sizeof *values;
}

void pipe_receive(struct pipe *p, int rank, float *values, size_t n, const char *what)
{
    MPI_Request *request = p->requests; /* none of these is under way between two calls */

    assert(n <= INT_MAX);
    MPI_Irecv(values, (int)n, MPI_FLOAT, rank, TAG_VALUES, p->world, request);
    wait_for(p->comm, p->patience, request, 1, what, wait_whom(rank).s);
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
    if (c->rank != root)
        MPI_Irecv(bytes, (int)n, MPI_BYTE, root, TAG_SHARED, p->world, &p->requests[n_requests++]);
    if (n_requests)
        wait_for(p->comm, p->patience, p->requests, n_requests, what, wait_whom(root).s);
}
