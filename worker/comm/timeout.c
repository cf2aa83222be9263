#include "worker/comm/timeout.h"

#include <stdio.h>

#include "paceline/log.h"

#define TESTS_BEFORE_SLEEP 200
#define SLEEP_NS 50000

struct peer_name peer_name(int rank)
{
    struct peer_name w = {"any worker"};

    if (rank >= 0)
        snprintf(w.s, sizeof w.s, "rank %d", rank);
    return w;
}

void timeout_poll(struct comm *c, int64_t patience, struct timeout *w, const char *what,
                  const char *whom)
{
    double now = comm_seconds();

    if (w->tests++ > 0)
        w->waited += now - w->since < 1 ? now - w->since : 1;
    w->since = now;
    if (w->waited > (double)patience) {
        log_error("waited %lld s for %s of %s rank=%d", (long long)patience, what, whom, c->rank);
        comm_abort(c, EXIT_UNEXPECTED);
    }
    if (w->tests < TESTS_BEFORE_SLEEP)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
}

void timeout_wait_received(struct comm *c, int64_t patience, MPI_Request *request, int rank,
                           size_t bytes, const char *what)
{
    struct timeout w = {0};
    MPI_Status status;
    int done = 0;

    for (;;) {
        const int code = MPI_Test(request, &done, &status);

        if (done || code != MPI_SUCCESS) {
            comm_check_received(c, rank, code, &status, bytes, what);
            return;
        }
        timeout_poll(c, patience, &w, what, peer_name(rank).s);
    }
}

void timeout_wait(struct comm *c, int64_t patience, MPI_Request *requests, int n, const char *what,
                  const char *whom)
{
    struct timeout w = {0};
    int done = 0;

    for (;;) {
        MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        if (done)
            return;
        timeout_poll(c, patience, &w, what, whom);
    }
}
