/*
 * Ends a rank whose training stands still, for example because another host went silent: MPI
 * itself waits for minutes. The launcher then ends the other ranks. One per process; uses SIGALRM.
 */
#ifndef PACELINE_WATCHDOG_H
#define PACELINE_WATCHDOG_H

#include <stdint.h>

/* From now on at most so many seconds may pass between two calls of watchdog_feed, else the process
 * says one line, rank 0 an error event too, and exits with EXIT_UNEXPECTED. 0: never. */
void watchdog_start(int64_t seconds, int rank);

/* Step `step` is under way. */
void watchdog_feed(int64_t step);

#endif
