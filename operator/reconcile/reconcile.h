/*
 * reconcile: takes what was observed and the time, and plans what has to be done. Pure: no I/O, no
 * clock, no randomness, no logging. It is called again whenever something changed and at
 * plan.requeue_ms. It is level-triggered: if a plan is lost half-way, the next call makes it again
 * from what is there then.
 *
 * Each rule is described at the head of the file that implements it. Once a rule has changed
 * durable status, the later ones that act wait: the plan is that status alone.
 *
 *  1, 2  jobs that are left alone; invalid specs and damaged status: reconcile.c
 *  3     how pods ended, restarts, disruptions, back-off: outcome.c
 *  4     success: success.c
 *  5     the deadline: deadline.c
 *  6     suspend and resume: suspend.c
 *  7     the world, its start and its scaling: world.c
 *  8     objects besides the pods: owned.c
 *  9     pods that come and go: pods.c; why one does not run: pending.c
 * 10     after the end of a job: finish.c
 * 11     descriptive status: describe.c
 * 12     launched jobs: launch.c; which pods a launch waits for: members.h; which pods get a node
 *        first: places.c; progress and the switch: progress.c; condition Durable: durable.c
 *
 * Events: events.c.
 *
 * Times are wall-clock milliseconds. Every wait (deadline, TTL, back-off, fence, hold, status
 * interval) leaves a requeue_ms. A wait that is longer than the longest possible one was set before
 * the wall clock went back, and is over.
 */
#ifndef PACELINE_OPERATOR_RECONCILE_RECONCILE_H
#define PACELINE_OPERATOR_RECONCILE_RECONCILE_H

#include "operator/api/run_report.h"
#include "operator/reconcile/plan.h"

#define STATUS_INTERVAL_MS 2000
/* How far a node's clock may lag the API server's; from 1 s on etcd warns about its own. */
#define CLOCK_SKEW_MS 2000
#define DURABLE_FAILED "CopyFailed" /* the reason that is told in an event */
#define DURABLE_NONE                                                                               \
    "checkpoints and the model are in the pods' memory only: when the job is suspended, and when " \
    "all pods that have a copy are lost at once (a job of one worker: its pod), the training "     \
    "begins anew; a job with spec.output.volume keeps them there"
/* The events about a pod are read when its node has had it this long without starting it. */
#define POD_MUTE_MS 10000
#define POD_ASK_MS 10000      /* they are read again after this long */
#define OWNED_DOUBT_MS 30000  /* an unwatched object may be gone after this long */
#define BACKOFF_FIRST_MS 1000 /* before the second restart; the first is immediate */
#define BACKOFF_MAX_MS 300000
#define BACKOFF_RESET_MS 600000 /* a pod that ran this long is replaced at once */

struct observed {
    const struct tj *tj;
    const struct pod *const *pods; /* owned by tj's UID, any order */
    size_t n_pods;
    bool have[N_OWNED];         /* CONFIG_MAP, POD_GROUP: that of world.generation */
    int64_t seen_ms[N_OWNED];   /* unwatched kinds: when it was last seen; 0: unknown */
    int64_t old_generations[4]; /* of older ConfigMaps that still exist; 0: none */
    int64_t groups_gone;        /* PodGroups up to this generation do not exist */
    const char *key;            /* name of the Secret that our master key gives the job */
    /* What the controller remembers; all zero after a restart of the operator. */
    bool dry_run_ok[N_CLUSTER_ROLES];
    const char *invalid_template; /* why the API server will never accept a pod; or NULL */
    const char *blocked;          /* why it refuses a pod now (403, ...); or NULL */
    bool name_taken;              /* `blocked` is about an object that is not the job's */
    int64_t hold_until_ms;        /* back-off after refused or failed requests of this job */
    int64_t status_written_ms;    /* the last write of status; 0: none yet */
    struct {                      /* the latest answer to ACTION_READ_EVENTS */
        const char *pod;          /* UID of the pod they are about; NULL: none yet */
        const char *sentence;     /* of the newest event; NULL: there was none */
        int64_t asked_ms;
    } events;
    /* Built-in jobs. */
    const struct run_report *run; /* the last report of the chief's agent; or NULL */
    bool linked;                  /* the chief's agent is connected */
    const char *unreachable;      /* why it is not, although it should be; or NULL */
    const char *unenforced;       /* how we know that nothing enforces the NetworkPolicy; or NULL */
    int64_t quiet_ms;             /* since its last new step, stage or phase */
    bool stalled;                 /* quiet for progressDeadlineSeconds while it was connected */
};

int64_t seconds_ms(int64_t seconds); /* bounded so that sums of times do not overflow */

/* Whether the job needs an object of this kind. */
bool job_wants_owned(const struct job *job, enum owned_kind kind);

/* Fills *plan (all zero before); the caller releases it. */
void reconcile(const struct observed *o, int64_t now_ms, struct plan *plan);

#endif
