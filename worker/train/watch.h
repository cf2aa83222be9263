/* What the loop knows of its run, and tells the launcher of it: the events of
 * docs/reference/events.md. */
#ifndef PACELINE_WATCH_H
#define PACELINE_WATCH_H

#include "worker/train/durable.h"
#include "worker/train/measure.h"
#include "worker/train/trainer.h"

struct watch {
    const struct run_options *options;
    bool lead;               /* rank 0 */
    struct durable *durable; /* rank 0, where there is one; else NULL */
    bool own_due;            /* by the job's own clock; the other one is for memory alone */
    double own_saved;
    int64_t saved_step;
    double started, epoch_started, reported, saved;
    int64_t first_step, reported_step, epoch_first_step;
    double transfer_s; /* of all parameters to another rank; 0: it was not measured */
    struct totals reported_totals;
    struct measured begun, epoch_begun;
    uint64_t *sent_before; /* to each rank, before it trained */
    char *checkpoint;      /* the newest, or NULL */
};

/* Only rank 0 sends; all ranks call those that say "collective". */
void watch_begin_epoch(struct watch *w, struct trainer *t);
/* Collective. */
void watch_start(const struct watch *w, const struct trainer *t);
void watch_first_step(void);
/* At most every quarter of a second. */
void watch_progress(struct watch *w, const struct trainer *t);
void watch_checkpoint(const struct trainer *t, const char *path, double seconds);
/* Collective. Training took train_seconds of the time since watch_begin_epoch. */
void watch_epoch(const struct watch *w, struct trainer *t, struct totals train,
                 const struct evaluation *validation, const struct evaluation *test,
                 double train_seconds);
/* Collective. */
void watch_done(const struct watch *w, struct trainer *t, const struct evaluation *test);

#endif
