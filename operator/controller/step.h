/* One request of a plan under way and what its answer means; seen only by run.c and step.c. */
#ifndef PACELINE_OPERATOR_CONTROLLER_STEP_H
#define PACELINE_OPERATOR_CONTROLLER_STEP_H

#include "operator/controller/outbox.h"
#include "operator/controller/state.h"
#include "operator/reconcile/plan.h"

/* One action, with what it needs of its pod: the cache may have forgotten it by then. */
struct step {
    struct run *run;
    struct action action;
    struct meta pod; /* strings in the plan's arena */
    struct owned_ref_name {
        const char *name, *uid;
    } object;
    bool second; /* the other half of a forced deletion */
};

struct run {
    struct source source; /* first */
    struct run *next, *previous;
    struct controller *c;
    char *key, *uid;
    char version[RV_SIZE]; /* of the job that the plan was made for */
    struct plan plan;
    struct step *steps;
    size_t n_steps, at;
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
const struct tj *run_job(const struct run *run);
struct memory *run_memory(struct run *run);
/* The server takes no more of these for now: its sentence becomes a condition. */
void run_block(struct run *run, const char *message);
void run_keep_sentence(char **at, const char *message);
/* After each answer; the run may be gone. */
void run_end_if_done(struct run *run);

/* The answers to a step's request. */
outbox_done_fn step_pod_created, step_rehearsed, step_pod_changed;
outbox_done_fn step_owned_created, step_owned_deleted, step_old_read;
outbox_done_fn step_events_read;
outbox_done_fn step_status_written, step_job_deleted;
/* Its argument is the run: the whole job, for which the run waits. */
outbox_done_fn step_job_read_whole;

#endif
