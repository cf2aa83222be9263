/*
 * Messages between workers and servers that share no step: notes, and parameters by server: its
 * shards travel together.
 *
 * No wait is longer than `patience` seconds: then this rank says in one line what it waited for and
 * ends the world.
 */
#ifndef PACELINE_COMM_EXCHANGE_H
#define PACELINE_COMM_EXCHANGE_H

#include "worker/comm/comm.h"

#define EXCHANGE_NOTE_MAX 64

struct exchange;
/* Collective. NULL: there are no servers, only notes. */
struct exchange *exchange_new(struct comm *c, const struct placement *placement, int64_t patience);
/* On every rank, before anything is sent: each server from now on has one transfer of parameters
 * under way per direction, and the next in the order that they were asked for; a push waits for its
 * server's word. Notes do not wait. */
void exchange_use_semaphore(struct exchange *e);
/* Collective. */
void exchange_free(struct exchange *e);
/* A server's: the most transfers that it had under way at once, to it and from it. */
void exchange_most(const struct exchange *e, int *in, int *out);

/* For a worker that is a server as well (placement.first is 0): from now on `answer` is called
 * while this rank waits, and by exchange_poll, which it calls between kernels; never from within
 * itself. It may call what a server may, and exchange_heard. NULL: from now on not. */
void exchange_serve(struct exchange *e, void (*answer)(void *arg), void *arg);
/* Moves things on without waiting; cheap. */
void exchange_poll(struct exchange *e);

/* A note to a rank, and the next one of a rank, or of any (-1): returns whose it is. Notes of one
 * rank arrive in order, and so do its parameters. A note, also one to itself, is so small that MPI
 * takes it before it is heard. heard: the same if it is there, else -1. */
void exchange_tell(struct exchange *e, int rank, const void *note, size_t n);
int exchange_hear(struct exchange *e, int rank, void *note, size_t n);
int exchange_heard(struct exchange *e, int rank, void *note, size_t n);

/* A server's: this note of a worker, which tells of a push, is heard again when the push has come
 * and no weights are on their way from here, but before what the worker tells then; so nothing else
 * waits for it. At most EXCHANGE_NOTE_MAX bytes, one per worker. */
void exchange_defer(struct exchange *e, int worker, const void *note, size_t n);

/* A server's to a worker whose note asks for it, and the worker's wait for it. */
void exchange_answer(struct exchange *e, int worker, const void *answer, size_t n);
void exchange_await(struct exchange *e, int server, void *answer, size_t n);

/* A worker's: sends its slab's part of each server to that server, or receives each part from its
 * server; returns when that is done. */
void exchange_push(struct exchange *e, const float *slab);
void exchange_pull(struct exchange *e, float *slab);

/* A server's: receives this server's part from a worker, who has begun to send it. Sending goes on
 * beside whatever comes; the slab may not change before exchange_settle, which waits for all of it.
 */
void exchange_take(struct exchange *e, int worker, float *slab);
void exchange_give(struct exchange *e, int worker, const float *slab);
void exchange_settle(struct exchange *e);

#endif
