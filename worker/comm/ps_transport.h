/*
 * Messages between workers and servers that share no step: notes, and parameters by server: its
 * shards travel together.
 *
 * No wait is longer than `patience` seconds: then this rank says in one line what it waited for and
 * ends the world.
 */
#ifndef PACELINE_COMM_PS_TRANSPORT_H
#define PACELINE_COMM_PS_TRANSPORT_H

#include "worker/comm/comm.h"

#define PS_TRANSPORT_NOTE_MAX 64

struct ps_transport;
/* Collective. NULL: there are no servers, only notes. */
struct ps_transport *ps_transport_new(struct comm *c, const struct placement *placement,
                                      int64_t patience);
/* On every rank, before anything is sent: each server from now on has one transfer of parameters
 * under way per direction, and the next in the order that they were asked for; a push waits for its
 * server's word. Notes do not wait. */
void ps_transport_use_semaphore(struct ps_transport *e);
/* Collective. */
void ps_transport_free(struct ps_transport *e);
/* A server's: the most transfers that it had under way at once, to it and from it. */
void ps_transport_most(const struct ps_transport *e, int *in, int *out);

/* For a worker that is a server as well (placement.first is 0): from now on `answer` is called
 * while this rank waits, and by ps_transport_poll, which it calls between kernels; never from
 * within itself. It may call what a server may, and ps_transport_heard. NULL: from now on not. */
void ps_transport_serve(struct ps_transport *e, void (*answer)(void *arg), void *arg);
/* Moves things on without waiting; cheap. */
void ps_transport_poll(struct ps_transport *e);

/* A note to a rank, and the next one of a rank, or of any (-1): returns whose it is. Notes of one
 * rank arrive in order, and so do its parameters. A note, also one to itself, is so small that MPI
 * takes it before it is heard. heard: the same if it is there, else -1. */
void ps_transport_tell(struct ps_transport *e, int rank, const void *note, size_t n);
int ps_transport_hear(struct ps_transport *e, int rank, void *note, size_t n);
int ps_transport_heard(struct ps_transport *e, int rank, void *note, size_t n);

/* A server's: this note of a worker, which tells of a push, is heard again when the push has come
 * and no weights are on their way from here, but before what the worker tells then; so nothing else
 * waits for it. At most PS_TRANSPORT_NOTE_MAX bytes, one per worker. */
void ps_transport_defer(struct ps_transport *e, int worker, const void *note, size_t n);

/* A server's to a worker whose note asks for it, and the worker's wait for it. */
void ps_transport_answer(struct ps_transport *e, int worker, const void *answer, size_t n);
void ps_transport_await(struct ps_transport *e, int server, void *answer, size_t n);

/* A worker's: sends its slab's part of each server to that server, or receives each part from its
 * server; returns when that is done. */
void ps_transport_push(struct ps_transport *e, const float *slab);
void ps_transport_pull(struct ps_transport *e, float *slab);

/* A server's: receives this server's part from a worker, who has begun to send it. Sending goes on
 * beside whatever comes; the slab may not change before ps_transport_settle, which waits for all of
 * it.
 */
void ps_transport_take(struct ps_transport *e, int worker, float *slab);
void ps_transport_give(struct ps_transport *e, int worker, const float *slab);
void ps_transport_settle(struct ps_transport *e);

#endif
