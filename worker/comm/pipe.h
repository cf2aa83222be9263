/*
 * Values that go from one worker to another, for a network that is split over them: what was sent
 * is on its way while the sender goes on. A tag, from 0 to 30,000, says what a message is; those of
 * one rank to another with one tag arrive in order.
 *
 * No wait is longer than `patience` seconds: then this rank says in one line what it waited for and
 * ends the world. With one rank there is nobody to send to, and nothing is done.
 */
#ifndef PACELINE_COMM_PIPE_H
#define PACELINE_COMM_PIPE_H

#include "worker/comm/comm.h"

struct pipe;
/* Collective. */
struct pipe *pipe_new(struct comm *c, int64_t patience);
/* Collective. */
void pipe_free(struct pipe *p);

/* The values may not change before pipe_settle, which waits until all that was sent is taken. */
void pipe_send(struct pipe *p, int rank, int tag, const float *values, size_t n);
void pipe_settle(struct pipe *p);
/* Of the same n; what: they are, for the line about a wait. */
void pipe_receive(struct pipe *p, int rank, int tag, float *values, size_t n, const char *what);
/* The same in two: a place for what will come, so that it can while this rank does other things;
 * and the wait for it, by the number that the first gave. All are to be waited for. */
int pipe_expect(struct pipe *p, int rank, int tag, float *values, size_t n);
void pipe_await(struct pipe *p, int expected, const char *what);
/* Moves things on without waiting; cheap; called between kernels. */
void pipe_poll(struct pipe *p);

/* Collective: what root has becomes everybody's. Small. */
void pipe_share(struct pipe *p, int root, void *bytes, size_t n, const char *what);

#endif
