/*
 * StrategySwitch: the change from a job's first strategy to its second, in the running world. It
 * comes at the end of an epoch, when every rank has all weights and state. Each checkpoint's
 * position says whether it has been, so a resumed run continues with the right strategy.
 */
#ifndef PACELINE_STRATEGY_SWITCH_H
#define PACELINE_STRATEGY_SWITCH_H

#include <cjson/cJSON.h>

#include "worker/train/trainer.h"

/* Collective. Called when t->at is the end of an epoch with this mean loss: changes the strategy if
 * it is time. Rank 0 then sends event `switch`. With `relaunch` the run has to stop after that. */
void strategy_switch_end_epoch(struct trainer *t, double loss);

/* Collective. Called when t->at comes from a checkpoint: enters the strategy that wrote it. */
void strategy_switch_resume(struct trainer *t);

/* Collective. Called before the first step: switches if it is time. A checkpoint of another job, or
 * of one with fewer steps, may be of the end of the epoch after which the switch comes. */
void strategy_switch_begin(struct trainer *t);

/* Adds "switch" to the event: whether it has been, when and why. Adds nothing for a job with one
 * strategy. */
void strategy_switch_report(const struct trainer *t, cJSON *event);

#endif
