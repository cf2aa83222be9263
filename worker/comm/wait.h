/* Waits that end: what is not there after `patience` seconds ends the world, with one line that
 * says what was waited for. For the files of this folder. */
#ifndef PACELINE_COMM_WAIT_H
#define PACELINE_COMM_WAIT_H

#include "worker/comm/world.h"

/* Time that this rank itself was stopped does not count: what it waits for may be there. */
struct wait {
    double since, waited;
    int tests;
};

/* Between two looks, starting with struct wait {0}; whom: for people. */
void wait_on(struct comm *c, int64_t patience, struct wait *w, const char *what, const char *whom);

/* Until all requests are done. */
void wait_for(struct comm *c, int64_t patience, MPI_Request *requests, int n, const char *what,
              const char *whom);

/* Waits until this receive from a rank is done. A message that does not have exactly this many
 * bytes ends the world, too. */
void wait_received(struct comm *c, int64_t patience, MPI_Request *request, int rank, size_t bytes,
                   const char *what);

/* "rank 3"; below zero: "any worker". */
struct whom {
    char s[32];
};
struct whom wait_whom(int rank);

#endif
