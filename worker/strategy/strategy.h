/*
 * The strategies: how the ranks of a world share the work of an update. Each is a struct of
 * function pointers (worker/train/trainer.h) in a file of its own; the loop is the same for all.
 */
#ifndef PACELINE_STRATEGY_H
#define PACELINE_STRATEGY_H

#include "worker/train/trainer.h"

/* The strategy of a job in a world of this many ranks; with StrategySwitch the first one. */
const struct strategy *strategy_of(const struct job *job, int ranks);
/* The second strategy of StrategySwitch; NULL for other jobs. */
const struct strategy *strategy_after(const struct job *job);

/* Checks whether a world of this many ranks, which may not be what the job asks for, can share the
 * job's work. ERR_INVALID says what is too many or too few. */
MUST_CHECK int strategy_check(const struct job *job, int ranks, struct err *err);

#endif
