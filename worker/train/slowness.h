/* debug.slowdown and debug.jitter: pretends that a rank computes more slowly than it does. */
#ifndef PACELINE_SLOWNESS_H
#define PACELINE_SLOWNESS_H

#include "paceline/spec.h"

/* By what to multiply the rank's time in that step: its slowdown, times 1 + a uniform number in
 * [0, jitter) that depends only on (seed, rank, step). 1 if neither is set. Pure. */
double slowness(const struct job *job, int rank, int64_t step);

#endif
