/*
 * StrategySwitch: the change from a job's first strategy to its second, in the running world. It
 * comes after an epoch, when every rank has all weights and state; what the position says of it is
 * in each checkpoint, so a run that is resumed goes on in the right one.
 */
#ifndef PACELINE_HANDOVER_H
#define PACELINE_HANDOVER_H

#include <cjson/cJSON.h>

#include "worker/train/trainer.h"

/* Collective; after an epoch of this mean loss, of which t->at is the end: changes the strategy
 * when it is time. Rank 0 says so (event `switch`). With `relaunch` the run is to stop then. */
void handover_end_epoch(struct trainer *t, double loss);

/* Collective; t->at is of a checkpoint: enters the strategy that it was written in. */
void handover_resume(struct trainer *t);

/* Collective, before the first step: a checkpoint of another job, or of one with fewer steps, may
 * be of the very end that the switch comes after. */
void handover_begin(struct trainer *t);

/* "switch": whether it has been, when and why; nothing where the job has one strategy. */
void handover_report(const struct trainer *t, cJSON *event);

#endif
