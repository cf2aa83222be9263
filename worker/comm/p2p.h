/*
 * Values that go from one worker to another, for a network that is split over them: what was sent
 * is on its way while the sender goes on. A tag, from 0 to 30,000, says what a message is; those of
 * one rank to another with one tag arrive in order.
 *
 * No wait is longer than `patience` seconds: then this rank says in one line what it waited for and
 * ends the world. With one rank there is nobody to send to, and nothing is done.
 */
#ifndef PACELINE_COMM_P2P_H
#define PACELINE_COMM_P2P_H

#include "worker/comm/comm.h"

struct p2p;
/* Collective. */
struct p2p *p2p_new(struct comm *c, int64_t patience);
/* Collective. */
void p2p_free(struct p2p *p);

/* The values may not change before p2p_settle, which waits until all that was sent is taken. */
void p2p_send(struct p2p *p, int rank, int tag, const float *values, size_t n);
void p2p_settle(struct p2p *p);
/* Of the same n; what: they are, for the line about a wait. */
void p2p_receive(struct p2p *p, int rank, int tag, float *values, size_t n, const char *what);
/* The same in two: a place for what will come, so that it can while this rank does other things;
 * and the wait for it, by the number that the first gave. All are to be waited for. */
int p2p_expect(struct p2p *p, int rank, int tag, float *values, size_t n);
void p2p_await(struct p2p *p, int expected, const char *what);
/* Moves things on without waiting; cheap; called between kernels. */
void p2p_poll(struct p2p *p);

/* Collective: what root has becomes everybody's. Small. */
void p2p_share(struct p2p *p, int root, void *bytes, size_t n, const char *what);

#endif
