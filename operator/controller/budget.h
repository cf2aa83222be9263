/*
 * The control thread's time, divided among namespaces and among their jobs. Reading,
 * parsing and decoding an object, reconciling a job and making its requests are charged to the
 * object's namespace, and to the job that the object is or belongs to. A namespace that has used up
 * its share has no job reconciled until it has credit again; the same holds for a single job. Other
 * jobs go on. An account goes by name and not by UID, so a job that is deleted and created again
 * under its name keeps its debt. If controller_config.cpu_us is NULL, nothing is charged.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_BUDGET_H
#define PACELINE_OPERATOR_CONTROLLER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "operator/core/accounts.h"

struct controller;

/*
 * Milliseconds of CPU for one job: a tenth of the thread, and a burst that starts a job of 4,096
 * pods. After a job without credit has used 2 ms, it waits 20 ms. For all of a namespace: a
 * quarter, and a burst. A debt is at most one burst, so each has credit again 10 s after its last
 * charge.
 */
#define BUDGET_JOB_MS_PER_SECOND 100
#define BUDGET_JOB_BURST_MS 1000
#define BUDGET_NAMESPACE_MS_PER_SECOND 250
#define BUDGET_NAMESPACE_BURST_MS 2500
/*
 * The work on an answer before its owner is known (TLS, HTTP, the sieve) is charged by its length:
 * one millisecond for this many bytes. The slowest object that the sieve reads takes 0.6.
 */
#define BUDGET_BYTES_PER_MS (256 << 10)

struct budgets {
    struct accounts jobs, namespaces;
};

void budgets_init(struct budgets *b);
void budgets_release(struct budgets *b);

/* The time at which a piece of work begins, for budget_charge. */
int64_t budget_begin(const struct controller *c);
/*
 * Charges the thread's work since began_us, and the work of reading `bytes` before it. whose: a
 * job's key, "namespace/name", or only a namespace; "" charges nobody.
 */
void budget_charge(struct controller *c, const char *whose, int64_t began_us, uint64_t bytes);
/* Milliseconds until both have credit again; 0: they have some now. */
int64_t budget_wait_ms(const struct controller *c, const char *whose);
/* The key of the job that the object is or that owns it, else its namespace, else "". */
#define WHOSE_SIZE 512
void budget_whose(char out[WHOSE_SIZE], const cJSON *object, bool is_job);

#endif
