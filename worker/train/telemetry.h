/* Reports the run to the launcher by the events of docs/reference/events.md. */
#ifndef PACELINE_TELEMETRY_H
#define PACELINE_TELEMETRY_H

#include "worker/train/checkpoint_copier.h"
#include "worker/train/measure.h"
#include "worker/train/trainer.h"

struct telemetry {
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
void telemetry_begin_epoch(struct telemetry *w, struct trainer *t);
/* Collective. */
void telemetry_start(const struct telemetry *w, const struct trainer *t);
void telemetry_first_step(void);
/* At most every quarter of a second. */
void telemetry_progress(struct telemetry *w, const struct trainer *t);
void telemetry_checkpoint(const struct trainer *t, const char *path, double seconds);
/* Collective. Training took train_seconds of the time since telemetry_begin_epoch. */
void telemetry_epoch(const struct telemetry *w, struct trainer *t, struct totals train,
                     const struct evaluation *validation, const struct evaluation *test,
                     double train_seconds);
/* Collective. */
void telemetry_done(const struct telemetry *w, struct trainer *t, const struct evaluation *test);

#endif
