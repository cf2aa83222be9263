/*
 * The control thread's time, by jobs. Reading what concerns a job, looking at it and making its
 * requests is charged to it. A job that has used up its share is not looked at before it has a
 * share again; others are. Nothing is charged where controller_config.cpu_us is NULL.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_BUDGET_H
#define PACELINE_OPERATOR_CONTROLLER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct controller;

/*
 * Milliseconds of CPU for one job: a tenth of the thread, and what a job of 4,096 pods takes to
 * start. A look of 2 ms at a job without credit is followed by 20 ms without one.
 */
#define BUDGET_MS_PER_SECOND 100
#define BUDGET_BURST_MS 500

/* When something for a job begins, for budget_charge. */
int64_t budget_begin(const struct controller *c);
/* Charges what the thread did since then to the job of the key, if it is remembered. */
void budget_charge(struct controller *c, const char *key, int64_t began_us);
/* Milliseconds until the job has a share again; 0: it has. */
int64_t budget_wait_ms(const struct controller *c, const char *key);

#endif
