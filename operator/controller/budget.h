/*
 * The control thread's time, divided among jobs. Decoding a job's objects, reconciling it and
 * making its requests is charged to it. A job that has used up its share is not reconciled until it
 * has credit again; others are. If controller_config.cpu_us is NULL, nothing is charged.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_BUDGET_H
#define PACELINE_OPERATOR_CONTROLLER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct controller;

/*
 * Milliseconds of CPU for one job: a tenth of the thread, and a burst that starts a job of 4,096
 * pods. After a job without credit has used 2 ms, it waits 20 ms.
 */
#define BUDGET_MS_PER_SECOND 100
#define BUDGET_BURST_MS 500

/* The time when work for a job begins, for budget_charge. */
int64_t budget_begin(const struct controller *c);
/* Charges the thread's work since then to the job with this key, if the job has a memory. */
void budget_charge(struct controller *c, const char *key, int64_t began_us);
/* Milliseconds until the job has credit again; 0: it has some now. */
int64_t budget_wait_ms(const struct controller *c, const char *key);

#endif
