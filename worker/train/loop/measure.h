/* The resources of each rank in events: seconds by phase, and the system's figures (usage.h). */
#ifndef PACELINE_MEASURE_H
#define PACELINE_MEASURE_H

#include "worker/train/telemetry/usage.h"
#include "worker/train/trainer.h"

#define MEASURE_RANKS_MAX 128 /* at most so many in an event, because a line is bounded */
#define MEASURES_MAX 24

/* Numbered after the phases; usage comes after these. */
enum { MEASURE_PREPARE = N_PHASES, MEASURE_DECODE, MEASURE_CONVERT };

/* Of one rank at one moment. */
struct measured {
    double values[MEASURES_MAX];
};

void measure_now(struct trainer *t, struct measured *m);
/* Collective. Returns on rank 0 the `perRank` of an event, which the caller owns: an array for each
 * measure. A counter's value is the change between `from` and `to`; any other is the one at `to`.
 * Returns NULL on other ranks. */
cJSON *measure_ranks(const struct trainer *t, const struct measured *from,
                     const struct measured *to);
/* Collective, and returned in the same way: the memory that each rank and its control group used
 * before anything of the job was loaded. */
cJSON *measure_idle(const struct trainer *t, const double idle[N_USAGE]);

#endif
