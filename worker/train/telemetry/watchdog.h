/*
 * Ends a rank whose training stands still, for example because another host went silent: MPI
 * itself waits for minutes. The launcher then ends the other ranks. One per process; uses SIGALRM.
 */
#ifndef PACELINE_WATCHDOG_H
#define PACELINE_WATCHDOG_H

#include <stdint.h>

/* From now on, if more than this many seconds pass between two calls of watchdog_feed, the process
 * prints one line and exits with EXIT_UNEXPECTED. Rank 0 sends an error event, too. 0: no limit. */
void watchdog_start(int64_t seconds, int rank);

/* Says that step `step` is under way. */
void watchdog_feed(int64_t step);

#endif
