/* What each rank has used, in the events: seconds by phase, and what the system says (usage.h). */
#ifndef PACELINE_MEASURE_H
#define PACELINE_MEASURE_H

#include "worker/train/trainer.h"
#include "worker/train/usage.h"

#define MEASURE_RANKS_MAX 128 /* that an event tells of: a line is bounded */
#define MEASURES_MAX 24

/* Numbered after the phases; usage comes after these. */
enum { MEASURE_PREPARE = N_PHASES, MEASURE_DECODE, MEASURE_CONVERT };

/* Of one rank at one moment. */
struct measured {
    double values[MEASURES_MAX];
};

void measure_now(struct trainer *t, struct measured *m);
/* Collective. On rank 0 the `perRank` of an event, the caller's: an array for each measure, of what
 * counts from `from` to `to`, else as it is at `to`. NULL elsewhere. */
cJSON *measure_ranks(const struct trainer *t, const struct measured *from,
                     const struct measured *to);
/* Collective, the same: the memory that each rank and its group had before there was anything of
 * the job. */
cJSON *measure_idle(const struct trainer *t, const double idle[N_USAGE]);

#endif
