/* What each rank has used, in the events: seconds by phase, and what else table `measures` has. */
#ifndef PACELINE_MEASURE_H
#define PACELINE_MEASURE_H

#include "worker/train/trainer.h"

#define MEASURE_RANKS_MAX 128 /* that an event tells of: a line is bounded */
#define MEASURES_MAX 16

/* Of one rank at one moment; counters count from the start of the process. */
struct measured {
    double values[MEASURES_MAX];
};

void measure_now(struct trainer *t, struct measured *m);
/* Collective. On rank 0 adds `perRank` to the event: an array for each measure, counters from
 * `from` to `to`. The event is NULL elsewhere. */
void measure_add(const struct trainer *t, const struct measured *from, const struct measured *to,
                 cJSON *event);

#endif
