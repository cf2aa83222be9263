/* The facts of each job for the invariants, by UID. */
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
    /* Built-in jobs. */
    struct {
        int64_t generation, world, at_ms;
    } * launched; /* as status told of it */
    size_t n_launched;
    int64_t generation; /* of the newest run that every pod took */
    int run;            /* that run, from 1 */
    bool said_done;     /* by a chief, with its record */
    int64_t reached;    /* the highest step, ever */
    int64_t barren;     /* runs that failed in a row, without progress */
    int64_t failed;     /* the same with those of other chiefs, and worlds that were refused */
    int64_t linked_ms;  /* when its chief last was connected with an operator */
    int said;           /* messages of its agents */
};
struct truth {
    struct job_truth *jobs;
    size_t n;
};

struct job_truth *truth_of(struct sim_world *w, const char *uid); /* NULL: never seen */
/* "True" of a condition in status. */
bool job_condition(const cJSON *job, const char *type);
const char *job_reason(const cJSON *job, const char *type);
bool job_terminal(const cJSON *job);
bool job_is_launched(const cJSON *job);
/* Whether a set "0-3,7" of the role names the index. */
bool job_has_index(const cJSON *job, enum cluster_role role, const char *set, int index);
/* How long its chief keeps the model. */
int64_t job_keep_s(const cJSON *job);
/* Milliseconds that the deadline's clock has counted. */
int64_t job_active_ms(const struct sim_world *w, const cJSON *job);

#endif
