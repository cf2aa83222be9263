/*
 * Point-to-point messages between the workers of a network that is split over them. A message
 * travels while its sender goes on. Its tag, from 0 to 30,000, says what it is. Messages from one
 * rank to another with the same tag arrive in order.
 *
 * A wait of more than `patience` seconds ends the world, with one line that says what this rank
 * waited for. In a world of one rank the calls do nothing.
 */
#ifndef PACELINE_COMM_P2P_H
#define PACELINE_COMM_P2P_H

#include "worker/comm/comm.h"

struct p2p;
/* Collective. */
struct p2p *p2p_new(struct comm *c, int64_t patience);
/* Collective. */
void p2p_free(struct p2p *p);

/* p2p_send starts to send; the values must not change before p2p_settle, which waits until all
 * messages are sent. */
void p2p_send(struct p2p *p, int rank, int tag, const float *values, size_t n);
void p2p_settle(struct p2p *p);
/* Waits for a message of exactly n values. `what` names them in the line about a wait. */
void p2p_receive(struct p2p *p, int rank, int tag, float *values, size_t n, const char *what);
/* p2p_receive in two calls. p2p_expect names the buffer, so that the message can arrive while this
 * rank does other things, and returns a number; p2p_await waits by that number. Each expected
 * message has to be awaited. */
int p2p_expect(struct p2p *p, int rank, int tag, float *values, size_t n);
void p2p_await(struct p2p *p, int expected, const char *what);
/* Makes progress without waiting; cheap; called between kernels. */
void p2p_poll(struct p2p *p);

/* Collective: gives every rank the root's bytes. For small messages. */
void p2p_share(struct p2p *p, int root, void *bytes, size_t n, const char *what);

#endif
