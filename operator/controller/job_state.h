/*
 * What this process remembers of a job between two reconciles. Safety does not depend on it: after
 * a restart it is all zero, and the worst that follows is a request made twice.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_JOB_STATE_H
#define PACELINE_OPERATOR_CONTROLLER_JOB_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operator/controller/list_page.h"
#include "operator/core/limit.h"
#include "operator/reconcile/plan.h"

/*
 * Limits on the writes for one job. They are needed because an agent may report anything at any
 * rate and a pod may fail as soon as it runs. A status or an event beyond the limits waits; the
 * newest status is then written. A launch writes status about five times in quick succession, later
 * once in STATUS_INTERVAL_MS.
 */
#define STATUS_BURST 20
#define STATUS_PER_SECOND 1.0
#define EVENT_BURST 25
#define EVENT_PER_SECOND 0.1
#define EVENTS_REMEMBERED 1000 /* an older one may be sent again; its name then exists */

struct job_state {
    char *key, *uid;
    struct job_state *next; /* in its bucket */
    bool dry_run_ok[N_CLUSTER_ROLES];
    int64_t made[N_OWNED];            /* unwatched kinds: created for this generation; 0: not */
    int64_t made_mono_ms[N_OWNED];    /* when they were created or last seen */
    int64_t groups_gone;              /* PodGroups up to this generation are gone */
    char *invalid_template, *blocked; /* the API server's sentences, or NULL */
    bool name_taken;                  /* blocked because another object has the name of ours */
    int failures;                     /* plans in a row that failed */
    bool failed, status_failed;       /* the last one failed: back off at the next reconcile */
    struct list_page page;            /* of the list of its pods (live_read.h) */
    bool uncertain;                   /* the cache may lack something that matters (live_read.h) */
    bool reread;                 /* a conflict caused a read, and no plan has succeeded since */
    int64_t failed_run;          /* generation of the run whose failure caused a read */
    int64_t hold_mono_ms;        /* no actions before this time */
    int64_t status_hold_mono_ms; /* no status before this time */
    int64_t status_written_mono_ms;
    uint64_t turn; /* the job's order among those that wait for a place (whole_jobs.h); 0: none */
    int64_t dirty_mono_ms;              /* the first change not yet carried out; 0: none */
    char *events_pod, *events_sentence; /* of the pod whose events were read last: its UID, what
                                         * they say; or NULL */
    int64_t events_mono_ms;             /* and when */
    uint64_t *events;                   /* hashes of the keys of events that were sent */
    size_t n_events;
    struct limit status_limit, event_limit; /* the writes that pods and agents can cause */
};

struct job_states *job_states_new(void);
void job_states_free(struct job_states *all);
/* The state of the job with this key and UID, created if there is none. A state with another UID
 * under the key is dropped first. The limits of a new state begin at mono_ms. */
struct job_state *job_states_of(struct job_states *all, const char *key, const char *uid,
                                int64_t mono_ms);
/* The state under the key, or NULL. */
struct job_state *job_states_find(struct job_states *all, const char *key);
void job_states_drop(struct job_states *all, const char *key);

/* The keys of events that were sent, the last EVENTS_REMEMBERED. */
bool job_state_event_known(const struct job_state *m, const char *event_key);
void job_state_event_keep(struct job_state *m, const char *event_key);
void job_state_event_forget(struct job_state *m, const char *event_key);

/* 64-bit FNV-1a. */
uint64_t hash_text(const char *text);

#endif
