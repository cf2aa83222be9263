/*
 * Messages between workers and parameter servers that do not move in common steps. There are notes,
 * and there are parameters; all shards of a server travel together.
 *
 * A wait of more than `patience` seconds ends the world, with one line that says what this rank
 * waited for.
 */
#ifndef PACELINE_COMM_PS_TRANSPORT_H
#define PACELINE_COMM_PS_TRANSPORT_H

#include "worker/comm/comm.h"

#define PS_TRANSPORT_NOTE_MAX 64

struct ps_transport;
/* Collective. placement NULL: there are no servers, only notes. */
struct ps_transport *ps_transport_new(struct comm *c, const struct placement *placement,
                                      int64_t patience);
/* Called on every rank before anything is sent. From then on a server has at most one transfer of
 * parameters under way per direction, and starts them in the order of the requests. A push waits
 * until its server allows it. Notes do not wait. */
void ps_transport_use_semaphore(struct ps_transport *e);
/* Collective. */
void ps_transport_free(struct ps_transport *e);
/* For a server: the most transfers that it had under way at once, to it and from it. */
void ps_transport_most(const struct ps_transport *e, int *in, int *out);

/* For a worker that is a server as well (placement.first is 0): sets `answer`, which is called
 * while this rank waits and by ps_transport_poll, but never from within itself. It may call what a
 * server may, and ps_transport_heard. NULL ends that. */
void ps_transport_serve(struct ps_transport *e, void (*answer)(void *arg), void *arg);
/* Makes progress without waiting; cheap; a rank that serves calls it between kernels. */
void ps_transport_poll(struct ps_transport *e);

/* tell sends a note to a rank. hear waits for the next note of a rank, or of any (-1), and returns
 * the rank that sent it. heard is hear without waiting: it returns -1 if no note is there. Notes of
 * one rank arrive in order, and so do its parameters. A note, also one to itself, is so small that
 * tell does not wait until it is heard. */
void ps_transport_tell(struct ps_transport *e, int rank, const void *note, size_t n);
int ps_transport_hear(struct ps_transport *e, int rank, void *note, size_t n);
int ps_transport_heard(struct ps_transport *e, int rank, void *note, size_t n);

/* For a server: puts back a worker's note that announces a push, so that nothing else waits for the
 * push. The note is heard again when the push has arrived and no weights are on their way from
 * here, but before the worker's next note. At most PS_TRANSPORT_NOTE_MAX bytes, one note per
 * worker. */
void ps_transport_defer(struct ps_transport *e, int worker, const void *note, size_t n);

/* A server answers a worker's note; the worker waits for the answer. */
void ps_transport_answer(struct ps_transport *e, int worker, const void *answer, size_t n);
void ps_transport_await(struct ps_transport *e, int server, void *answer, size_t n);

/* For a worker: push sends each server its part of the slab, pull receives each part from its
 * server. Both return when that is done. */
void ps_transport_push(struct ps_transport *e, const float *slab);
void ps_transport_pull(struct ps_transport *e, float *slab);

/* For a server: take receives this server's part from a worker that has begun to send it. give
 * starts to send the part to a worker and returns; the slab must not change before
 * ps_transport_settle, which waits until all parts are sent. */
void ps_transport_take(struct ps_transport *e, int worker, float *slab);
void ps_transport_give(struct ps_transport *e, int worker, const float *slab);
void ps_transport_settle(struct ps_transport *e);

#endif
