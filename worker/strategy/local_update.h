/*
 * The common part of the strategies whose workers update their own weights and meet now and then.
 *
 * A step is one update of one worker by one batch. Batch b of an epoch belongs to worker b mod N.
 * So steps, epochs, the learning-rate schedule, training.steps and samples per second count the
 * work of all workers, as with asynchronous servers, and a checkpoint's position does not depend on
 * N. Batches r*N to r*N + N-1 of an epoch are its row r: each worker's r-th update, made at the
 * same time and at the learning rate of the row's first batch. An epoch's last row may be shorter.
 *
 * A round ends with a meeting of all workers. It ends after every `every`-th row, counted from the
 * epoch's start; at the epoch's end; and where the loop needs all workers (training.steps,
 * checkpoint.everySteps, debug.checkReplicas). All of these are known in advance. A request from
 * outside or by time (a stop, checkpoint.everySeconds) waits for the end of the round, so it
 * changes no byte. A single worker waits for nobody: for it, t->together holds after each update.
 */
#ifndef PACELINE_LOCAL_UPDATE_H
#define PACELINE_LOCAL_UPDATE_H

#include "worker/comm/ps_transport.h"
#include "worker/train/trainer.h"

/* What each worker sends at a meeting. */
struct local_update_note {
    struct totals totals; /* of its batches since the last meeting */
    int64_t orders;       /* rank 0's */
};

struct local_update {
    struct ps_transport *transport; /* NULL with `sums`: one worker */
    struct reducer *sums;
    float
        *gradients; /* only where gradients are clipped; else the pass itself updates the weights */
    struct totals mine;
    struct local_update_note *notes; /* of all workers, at the last meeting */
};

/* For struct strategy. */
void local_update_share(struct trainer *t);
bool local_update_takes(const struct trainer *t, uint32_t batch);

/* Collective. Sets t->sink. */
void local_update_init(struct local_update *l, struct trainer *t);
void local_update_release(struct local_update *l);

/* Does this worker's part of a row; returns whether the round is over. If it leaves t->together
 * set, local_update_meet has to follow: at the end of a round, and for a single worker each time.
 */
bool local_update_step(struct trainer *t, struct local_update *l, int64_t every);

/* Collective: puts what all workers have done into l->notes, t->orders and t->at.epoch_totals.
 * Fails with ERR_DIVERGED if a loss is not finite; it names the step that the round began with.
 * Waits at most strategy.waitSeconds for another worker, then ends the world with a line that names
 * it. */
MUST_CHECK int local_update_meet(struct trainer *t, struct local_update *l, struct err *err);

/* Collective: slab = sum over the workers of factor * slab, the same bytes on every worker. Sums
 * with `tree` in the order of the ranks. Frozen parameters stay as they are. */
void local_update_sum(struct trainer *t, struct local_update *l, float *slab, float factor);

#endif
