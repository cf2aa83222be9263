/* Where a run's time went, and what its ranks used, as parts of its report. */
#ifndef PACELINE_CLI_REPORT_TIMES_H
#define PACELINE_CLI_REPORT_TIMES_H

#include "cli/report/history.h"
#include "paceline/buf.h"

/* Seconds by phase: of the whole run as one bar, of each epoch as a row of a table with its bar.
 * Means over ranks. Then CPU, memory and messages of each rank. What the history lacks is left
 * out. */
void report_times(struct buf *out, const struct history *h);

#endif
