/*
 * What strategies share whose workers update weights of their own and meet now and then.
 *
 * A step is one update of one worker by one batch, and batch b of an epoch is worker b mod N's. So
 * steps, epochs, learning-rate schedule, training.steps and samples per second count what all
 * workers do, as with asynchronous servers, and a checkpoint's position does not depend on N.
 * Batches r*N to r*N + N-1 of an epoch are its row r: each worker's r-th update, made at one time
 * and at the learning rate of the row's first batch. An epoch's last row may be shorter.
 *
 * A round ends, and all meet, after every `every`-th row, counted from the epoch's start; at the
 * epoch's end; and where the loop has something for all to do (training.steps,
 * checkpoint.everySteps, debug.checkReplicas). All of these are known ahead. What somebody or the
 * clock asks for (a stop, checkpoint.everySeconds) waits for a round's end, so it changes nothing.
 * One worker has nobody to wait for: it is together with itself after each update.
 */
#ifndef PACELINE_LOCAL_UPDATE_H
#define PACELINE_LOCAL_UPDATE_H

#include "worker/comm/ps_transport.h"
#include "worker/train/trainer.h"

/* A worker's word at a meeting. */
struct local_update_note {
    struct totals totals; /* of its batches since the last meeting */
    int64_t orders;       /* rank 0's */
};

struct local_update {
    struct ps_transport *transport; /* NULL with `sums`: one worker */
    struct reducer *sums;
    float *gradients; /* only where they are clipped; else an update is made in the pass itself */
    struct totals mine;
    struct local_update_note *notes; /* of all workers, at the last meeting */
};

/* For struct strategy. */
void local_update_share(struct trainer *t);
bool local_update_takes(const struct trainer *t, uint32_t batch);

/* Collective. Sets t->sink. */
void local_update_init(struct local_update *l, struct trainer *t);
void local_update_release(struct local_update *l);

/* This worker's part of a row; returns whether the round is over. With t->together
 * local_update_meet has to follow: then, and where somebody is alone. */
bool local_update_step(struct trainer *t, struct local_update *l, int64_t every);

/* Collective: what all workers have done goes to l->notes, t->orders and t->at.epoch_totals.
 * ERR_DIVERGED where a loss is not finite, by the step that the round began with. Waits at most
 * strategy.waitSeconds for another worker; then the world ends, with a line that says for whom. */
MUST_CHECK int local_update_meet(struct trainer *t, struct local_update *l, struct err *err);

/* Collective, by `tree` in the order of the ranks: slab = sum over the workers of factor * slab,
 * the same bytes on every one. Frozen parameters stay as they are. */
void local_update_sum(struct trainer *t, struct local_update *l, float *slab, float factor);

#endif
