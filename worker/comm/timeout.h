/* Waits with a limit: after `patience` seconds the world ends, with one line that says what was
 * waited for. For the files of this folder. */
#ifndef PACELINE_COMM_TIMEOUT_H
#define PACELINE_COMM_TIMEOUT_H

#include "worker/comm/world.h"

/* Time in which this rank itself was stopped does not count: the message may be there already. */
struct timeout {
    double since, waited;
    int tests;
};

/* Call between two tests of a condition, first with a zeroed struct timeout. whom: the peer's name,
 * for the line. */
void timeout_poll(struct comm *c, int64_t patience, struct timeout *w, const char *what,
                  const char *whom);

/* Waits until all requests are done. */
void timeout_wait(struct comm *c, int64_t patience, MPI_Request *requests, int n, const char *what,
                  const char *whom);

/* Waits until this receive from a rank is done. A message that does not have exactly this many
 * bytes ends the world, too. */
void timeout_wait_received(struct comm *c, int64_t patience, MPI_Request *request, int rank,
                           size_t bytes, const char *what);

/* "rank 3"; below zero: "any worker". */
struct peer_name {
    char s[32];
};
struct peer_name peer_name(int rank);

#endif
