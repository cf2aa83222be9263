/* All strategies. Only files of worker/strategy include it. */
#ifndef PACELINE_STRATEGIES_H
#define PACELINE_STRATEGIES_H

#include "worker/strategy/strategy.h"

extern const struct strategy all_reduce, downpour, sync_ps, local_sgd, elastic, model_parallel;

#endif
