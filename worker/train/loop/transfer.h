/* Measures how long parameters take from one rank to another; estimates of the speedup need it. */
#ifndef PACELINE_TRANSFER_H
#define PACELINE_TRANSFER_H

#include "worker/train/trainer.h"

/* Collective, on at least two ranks with equal weights. Rank 0 sends this many parameters to rank
 * 1, as an asynchronous worker pushes them, and waits until they have arrived: first `warm` times,
 * then n times. Rank 0 gets the seconds of each of the n transfers. */
void transfer_time(struct trainer *t, size_t floats, int warm, double *seconds, int n);

/* Collective. On rank 0, the seconds that one transfer of all parameters takes. Only a part is
 * sent, so that the start is not delayed. 0: there is no other rank, or no formula for the
 * strategy. */
double transfer_estimate(struct trainer *t);

#endif
