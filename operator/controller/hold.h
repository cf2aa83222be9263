/* Why the plan of a job waits: back-off, more urgent plans, the limit on writes. */
#ifndef PACELINE_OPERATOR_CONTROLLER_HOLD_H
#define PACELINE_OPERATOR_CONTROLLER_HOLD_H

#include "operator/controller/job_state.h"

struct controller;

/* Sets the back-off after requests that failed. It is decided here because answers do not know the
 * time. */
void hold_settle(struct controller *c, struct job_state *m);
/*
 * The time until which the plan must wait, on the monotonic clock: for the end of a back-off, for
 * more urgent plans, or for its job's share of the writes. 0: it need not wait, and its write is
 * counted.
 */
int64_t hold_until(struct controller *c, struct job_state *m, const struct plan *plan);

#endif
