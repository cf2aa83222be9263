/* The requests of a running plan, and what their answers mean. Only executor.c and action.c include
 * it.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_ACTION_H
#define PACELINE_OPERATOR_CONTROLLER_ACTION_H

#include "operator/controller/dispatcher.h"
#include "operator/controller/state.h"
#include "operator/reconcile/plan.h"

/* One action, with a copy of what it needs of its pod, which the cache may forget meanwhile. */
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
    char version[RV_SIZE]; /* resourceVersion of the job for which the plan was made */
    struct plan plan;
    struct action_request *requests;
    size_t n_requests, at;
    size_t n_open;    /* requests without an answer */
    bool give_up;     /* send no more */
    bool failed;      /* back off before the next look */
    bool conflicted;  /* a write met another version, so the plan was not carried out */
    int64_t restarts; /* of the job before a status is written */
    bool was_terminal;
    struct pod_maker *makers[N_CLUSTER_ROLES];
    /* For a job whose templates are not in the cache: it is read again before objects are made. */
    struct tj *whole;
    bool asked_whole;
    bool holds_place, waits; /* it has a place for a whole job, or waits for one (whole_jobs.h) */
    uint64_t turn;           /* its order among the executors that wait */
    int n_made;              /* requests */
};

/* The job for which the plan was made; NULL if it is gone or another job has its name. */
const struct tj *executor_job(const struct executor *ex);
struct job_state *executor_job_state(struct executor *ex);
/* Notes that the server refuses the job's pods or objects for now; its sentence becomes a
 * condition. */
void executor_block(struct executor *ex, const char *message);
void executor_keep_sentence(char **at, const char *message);
/* Called after each answer; it may free ex. */
void executor_end_if_done(struct executor *ex);

/* Each handles the answer to a request. */
dispatcher_done_fn action_pod_created, action_rehearsed, action_pod_changed;
dispatcher_done_fn action_owned_created, action_owned_deleted, action_old_read;
dispatcher_done_fn action_events_read;
dispatcher_done_fn action_status_written, action_job_deleted;
/* Handles the answer with the whole job. Its argument is the executor that waits for it. */
dispatcher_done_fn action_job_read_whole;

#endif
