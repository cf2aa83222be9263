/*
 * The strategies: how the ranks of a world share the work of an update. Each is a struct of
 * function pointers (worker/train/trainer.h) in a file of its own; the loop is the same for all.
 */
#ifndef PACELINE_STRATEGY_H
#define PACELINE_STRATEGY_H

#include "worker/train/trainer.h"

/* The job's in a world of so many ranks; of StrategySwitch: the first. */
const struct strategy *strategy_of(const struct job *job, int ranks);
/* That of StrategySwitch which follows; NULL: none. */
const struct strategy *strategy_after(const struct job *job);

/* Whether a world of so many ranks can share the job's work; it may be another than the job asks
 * for. ERR_INVALID says what is too many or too few. */
MUST_CHECK int strategy_check(const struct job *job, int ranks, struct err *err);

#endif
