/* What the invariants know of each job, by UID. */
#ifndef PACELINE_TESTS_SIM_TRUTH_H
#define PACELINE_TESTS_SIM_TRUTH_H

#include "tests/sim/world.h"

struct job_truth {
    char uid[40], name[64];
    int64_t limit; /* the largest backoffLimit so far */
    int64_t made;  /* replacements of pods that had failed or were disrupted */
    int64_t edited_ms;
    int writes, edits, changes; /* of status by the operator; by users; of its pods */
    int events;
};
struct truth {
    struct job_truth *jobs;
    size_t n;
};

struct job_truth *truth_of(struct world *w, const char *uid); /* NULL: never seen */
/* "True" of a condition in status. */
bool job_condition(const cJSON *job, const char *type);
const char *job_reason(const cJSON *job, const char *type);
bool job_terminal(const cJSON *job);
/* Whether a ledger "0-3,7" of the role names the index. */
bool job_ledger(const cJSON *job, enum cluster_role role, const char *ledger, int index);
/* Milliseconds that the deadline's clock has counted. */
int64_t job_active_ms(const struct world *w, const cJSON *job);

#endif
