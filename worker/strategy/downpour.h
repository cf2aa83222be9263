/*
 * The two sides of downpour.c, a worker's and a server's, and what they tell each other. For these
 * two files alone.
 */
#ifndef PACELINE_DOWNPOUR_H
#define PACELINE_DOWNPOUR_H

#include "worker/comm/ps_transport.h"
#include "worker/strategy/group.h"
#include "worker/strategy/servers.h"
#include "worker/strategy/staleness.h"
#include "worker/train/trainer.h"

#define BINS 64 /* of histograms; what is beyond counts in the last */

enum async_note_kind { NOTE_ASK, NOTE_PULL, NOTE_PUSH, NOTE_MEET, N_NOTES };

/* A worker's, to a server. */
struct async_note {
    enum async_note_kind kind;
    int orders;          /* ask: rank 0's */
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
    struct position at; /* a batch of it, and how far the training is */
};

struct batch_histogram {
    int64_t count[BINS], most;
};

/* What the clock knows at a meeting, and then everybody. */
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
    /* A worker's. */
    int64_t pushed; /* since the last meeting */
    uint32_t idle;  /* that servers have not been told of */
    float *pulled;  /* weights to compute with, where the model's are a server's; else NULL */
    /* A server's. */
    struct position at; /* of a worker that is a server as well: t->at is the worker's */
    float *taken;       /* slab of a gradient */
    int64_t *seen; /* per worker: updates of the weights that it pulled; -1: none since its push */
    bool *quiet;   /* workers that have met, wait to begin a batch, or do not lead a group */
    struct staleness bound; /* clock; of groups */
    int64_t applied;        /* since the last meeting */
    int64_t announced;      /* of them by the workers */
    uint32_t granted;       /* clock: batches of the epoch that are dealt */
    uint32_t *own;          /* clock: of the share of each group the next one; NULL: no shares */
    int n_met;
    size_t turn; /* debug.pushOrder: how many pulls there were */
};

/* Called after the parts that workers and servers share are set up. */
void server_init(struct trainer *t, struct downpour *d);
void server_release(struct downpour *d);

/* A round, from one meeting, where all are together, to the next: it begins at t->at, and ends when
 * all workers have met. What comes between is answered at its end, by a worker also before. */
void server_begin(struct trainer *t, struct downpour *d);
void server_end(struct trainer *t, struct downpour *d);

#endif
