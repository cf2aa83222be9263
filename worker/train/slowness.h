/* debug.slowdown and debug.jitter: how much longer a rank computes than it does. */
#ifndef PACELINE_SLOWNESS_H
#define PACELINE_SLOWNESS_H

#include "paceline/spec.h"

/* Its time in that step as a multiple of what it took: the rank's slowdown, times 1 + a uniform
 * number from 0 to below jitter that follows from (seed, rank, step). Pure; 1: nothing is set. */
double slowness(const struct job *job, int rank, int64_t step);

#endif
