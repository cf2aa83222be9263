/*
 * What the worker's side (downpour.c) and the server's side (downpour_server.c) share: their state
 * and their messages. Only these two files include it.
 */
#ifndef PACELINE_DOWNPOUR_H
#define PACELINE_DOWNPOUR_H

#include "worker/comm/ps_transport.h"
#include "worker/strategy/group.h"
#include "worker/strategy/servers.h"
#include "worker/strategy/staleness.h"
#include "worker/train/trainer.h"

#define BINS 64 /* of histograms; larger values count in the last bin */

enum async_note_kind { NOTE_ASK, NOTE_PULL, NOTE_PUSH, NOTE_MEET, N_NOTES };

/* From a worker to a server. */
struct async_note {
    enum async_note_kind kind;
    int orders;          /* ask: from rank 0 */
    int64_t pushed;      /* meet: gradients since the last meeting */
    uint8_t here;        /* push: the gradient, which had been on its way */
    uint32_t idle;       /* push, meet: turns without samples before it, of the worker's share */
    struct totals batch; /* push */
};
_Static_assert(sizeof(struct async_note) <= PS_TRANSPORT_NOTE_MAX, "a note can be heard again");

/* The clock's answer to an ask. */
struct async_answer {
    uint8_t meet;
    uint32_t idle;
    struct position at; /* the batch to compute, and how far the training is */
};

struct batch_histogram {
    int64_t count[BINS], most;
};

/* What the clock knows at a meeting, and sends to all ranks. */
struct async_meeting {
    struct position at;
    int orders;
    uint8_t diverged;
    double loss; /* of the batch that diverged */
    int64_t pushed, applied;
    struct batch_histogram staleness, lead;
    struct transfers transfers;
};

struct downpour {
    struct ps_transport *transport;
    struct group group; /* its first slab: a gradient, the group's or one that a server takes */
    struct async_meeting now;
    /* Of a worker. */
    int64_t pushed; /* since the last meeting */
    uint32_t idle;  /* not reported to the servers yet */
    float *pulled;  /* weights to compute with, where a server has the model's; else NULL */
    /* Of a server. */
    struct position
        at; /* the server's position; in a rank that is a worker as well t->at is the worker's */
    float *taken;  /* slab of a gradient */
    int64_t *seen; /* per worker: updates of the weights that it pulled; -1: none since its push */
    bool *quiet;   /* workers that send no note now: they have met, wait to begin a batch, or do not
                      lead a group */
    struct staleness bound; /* clock; of groups */
    int64_t applied;        /* since the last meeting */
    int64_t announced;      /* of them by the workers */
    uint32_t granted;       /* clock: batches of the epoch that are given out */
    uint32_t *own;          /* clock: the next batch of each group's share; NULL: no shares */
    int n_met;
    size_t turn; /* debug.pushOrder: how many pulls there were */
};

/* Called after the parts that workers and servers share are set up. */
void server_init(struct trainer *t, struct downpour *d);
void server_release(struct downpour *d);

/* A round goes from one meeting, where all ranks are together, to the next. It begins at t->at and
 * ends when all workers have met. A server answers the notes between in server_end; a worker that
 * is a server answers earlier, too. */
void server_begin(struct trainer *t, struct downpour *d);
void server_end(struct trainer *t, struct downpour *d);

#endif
