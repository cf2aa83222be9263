/* One request of a plan under way and what its answer means; seen only by executor.c and action.c.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_ACTION_H
#define PACELINE_OPERATOR_CONTROLLER_ACTION_H

#include "operator/controller/dispatcher.h"
#include "operator/controller/state.h"
#include "operator/reconcile/plan.h"

/* One action, with what it needs of its pod: the cache may have forgotten it by then. */
struct action_request {
    struct executor *ex;
    struct action action;
    struct meta pod; /* strings in the plan's arena */
    struct owned_ref_name {
        const char *name, *uid;
    } object;
    bool second; /* the other half of a forced deletion */
};

struct executor {
    struct request_source source; /* first */
    struct executor *next, *previous;
    struct controller *c;
    char *key, *uid;
    char version[RV_SIZE]; /* of the job that the plan was made for */
    struct plan plan;
    struct action_request *requests;
    size_t n_requests, at;
    size_t n_open;    /* requests without an answer */
    bool give_up;     /* send no more */
    bool failed;      /* back off before the next look */
    bool conflicted;  /* a write met another version: the plan did not go through */
    int64_t restarts; /* of the job before a status is written */
    bool was_terminal;
    struct pod_maker *makers[N_CLUSTER_ROLES];
    /* Of a job that is stripped in the cache: it is read again before something is made of it. */
    struct tj *whole;
    bool asked_whole;
    bool holds_place, waits; /* a place for whole jobs, or for one (place.h) */
    uint64_t turn;           /* its order among those that wait */
    int n_made;              /* requests */
};

/* The job that the plan was made for, or NULL when it is gone or another has its name. */
const struct tj *executor_job(const struct executor *ex);
struct job_state *executor_job_state(struct executor *ex);
/* The server takes no more of these for now: its sentence becomes a condition. */
void executor_block(struct executor *ex, const char *message);
void executor_keep_sentence(char **at, const char *message);
/* After each answer; ex may be gone. */
void executor_end_if_done(struct executor *ex);

/* Each takes the answer to a request. */
dispatcher_done_fn action_pod_created, action_rehearsed, action_pod_changed;
dispatcher_done_fn action_owned_created, action_owned_deleted, action_old_read;
dispatcher_done_fn action_events_read;
dispatcher_done_fn action_status_written, action_job_deleted;
/* Its argument is the executor: the whole job, for which it waits. */
dispatcher_done_fn action_job_read_whole;

#endif
