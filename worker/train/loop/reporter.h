/* Reports the run to the launcher by the events of docs/reference/events.md. */
#ifndef PACELINE_REPORTER_H
#define PACELINE_REPORTER_H

#include "worker/train/checkpoint/checkpoint_copier.h"
#include "worker/train/loop/measure.h"
#include "worker/train/trainer.h"

struct reporter {
    const struct run_options *options;
    bool lead;                        /* rank 0 */
    struct checkpoint_copier *copier; /* rank 0, where there is one; else NULL */
    bool own_due; /* a checkpoint of the job's own schedule is due, not one for memory alone */
    double own_saved;
    int64_t saved_step;
    double started, epoch_started, reported, saved;
    int64_t first_step, reported_step, epoch_first_step;
    double transfer_s; /* seconds to send all parameters to another rank; 0: not measured */
    struct totals reported_totals;
    struct measured begun, epoch_begun;
    uint64_t *sent_before; /* to each rank, before it trained */
    char *checkpoint;      /* the newest, or NULL */
};

/* Only rank 0 sends events. All ranks call the functions that are collective. */
void reporter_begin_epoch(struct reporter *w, struct trainer *t);
/* Collective. */
void reporter_start(const struct reporter *w, const struct trainer *t);
void reporter_first_step(void);
/* At most every quarter of a second. */
void reporter_progress(struct reporter *w, const struct trainer *t);
void reporter_checkpoint(const struct trainer *t, const char *path, double seconds);
/* Collective. Training took train_seconds of the time since reporter_begin_epoch. */
void reporter_epoch(const struct reporter *w, struct trainer *t, struct totals train,
                    const struct evaluation *validation, const struct evaluation *test,
                    double train_seconds);
/* Collective. */
void reporter_done(const struct reporter *w, struct trainer *t, const struct evaluation *test);

#endif
