/* A plan: the actions, status and events that reconcile wants. It lives in one arena, freed whole.
 */
#ifndef PACELINE_OPERATOR_RECONCILE_PLAN_H
#define PACELINE_OPERATOR_RECONCILE_PLAN_H

#include "operator/api/job_event.h"
#include "operator/api/owned.h"
#include "operator/api/pod.h"
#include "operator/api/trainingjob.h"

enum action_type {
    ACTION_CREATE_OWNED,     /* owned */
    ACTION_DELETE_OWNED,     /* owned; of world.generation `generation` */
    ACTION_DRY_RUN_POD,      /* role: would the API server take its pods? */
    ACTION_CREATE_POD,       /* role, index, incarnation */
    ACTION_DELETE_POD,       /* pod: by UID and resourceVersion */
    ACTION_FORCE_DELETE_POD, /* pod: grace 0 and without our finalizer; its node is lost */
    ACTION_RELEASE_POD,      /* pod: remove our finalizer */
    ACTION_READ_EVENTS,      /* pod: what do the events about it say? */
    ACTION_DELETE_JOB,       /* TTL: by UID and resourceVersion, in the background */
    ACTION_LAUNCH,           /* the chief's agent: run this generation on the workers' pods */
    ACTION_STOP,             /* the chief's agent: stop this generation, with a checkpoint */
    ACTION_KILL,             /* the chief's agent: end this generation now */
};

struct action {
    enum action_type type;
    enum owned_kind owned;
    enum cluster_role role;
    int index;
    int64_t incarnation, generation;
    bool again;            /* owned: as far as we know it is there */
    const struct pod *pod; /* borrowed from the observation */
};

struct plan {
    struct arena arena;
    /*
     * Either a status to write or actions, never both: what actions depend on is then in status
     * before they are taken, and descriptive status comes when nothing else is left to do.
     */
    const struct tj_status *status; /* NULL: leave it */
    bool urgent;                    /* the status is durable: do not hold it back */
    struct action *actions;
    size_t n_actions, cap_actions;
    struct job_event *events;
    size_t n_events, cap_events;
    int64_t requeue_ms; /* wall-clock time of the next look; 0: only when something changes */
};

void plan_release(struct plan *p); /* also fit for AUTO */
struct action *plan_add(struct plan *p, enum action_type type);
/* Message in the plan's arena; key must be unique for the fact told. */
void plan_event(struct plan *p, bool warning, const char *key, const char *reason, const char *fmt,
                ...) __attribute__((format(printf, 5, 6)));
void plan_requeue(struct plan *p, int64_t at_ms); /* the earliest wins */

#endif
