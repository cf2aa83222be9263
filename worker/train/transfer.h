/* How long parameters take from one rank to another: what estimates of the speedup are made of. */
#ifndef PACELINE_TRANSFER_H
#define PACELINE_TRANSFER_H

#include "worker/train/trainer.h"

/* Collective, at least two ranks, whose weights are equal. Rank 0 sends this many parameters to
 * rank 1 as asynchronous workers push them, until they are there: `warm` times, then n times, of
 * each of which the seconds are kept on rank 0. */
void transfer_time(struct trainer *t, size_t floats, int warm, double *seconds, int n);

/* Collective. Seconds of one transfer of all parameters, on rank 0, by a part of them, so that it
 * delays no start; 0: there is no other rank, or nobody has a formula for the strategy. */
double transfer_estimate(struct trainer *t);

#endif
