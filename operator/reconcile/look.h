/* One look at a job: what reconcile's rules share. Seen only by the files of this folder. */
#ifndef PACELINE_OPERATOR_RECONCILE_LOOK_H
#define PACELINE_OPERATOR_RECONCILE_LOOK_H

#include "operator/reconcile/reconcile.h"

/* One index of a role. */
struct slot {
    const struct pod **pods; /* all of this index, by incarnation */
    int n_pods;
    int64_t incarnation; /* the current one; rules move it */
    bool completed, lost;
    bool stale; /* a pod is newer than our status: hands off */
};

struct look {
    const struct observed *o;
    const struct tj *tj;
    const struct job *job; /* NULL only in finish: the spec has become invalid */
    int64_t now;
    struct plan *plan;
    const struct pod **pods; /* by role, index, incarnation, UID */
    size_t n_pods;
    struct tj_status next; /* what status should be; strings borrowed from tj and the plan */
    struct {
        struct slot *slots;
        int n;
    } roles[N_CLUSTER_ROLES];
    bool spec_applied; /* nothing in the spec waits to be acted on */
};

/* Indexes pods and ledgers; everything in the plan's arena. */
void look_init(struct look *l, const struct observed *o, int64_t now, struct plan *plan);
/* Writes the slots back into the ledgers of next. */
void look_store(struct look *l);
/* Whether next differs from the job's status in what actions depend on. */
bool look_changed(const struct look *l);
/* Whether index of role should have a pod: listed by the world, not done, not suspended. */
bool look_expects(const struct look *l, enum cluster_role role, int index);
/* The same, and our status is not older than its pods. */
bool look_wants(const struct look *l, enum cluster_role role, int index);
/* An incarnation above all that the job's status and pods know. */
int64_t look_fresh_incarnation(const struct look *l);
/* Its pod of the current incarnation; or NULL. */
const struct pod *slot_pod(const struct slot *slot);
/* Adds restarts to the job and the role. */
void look_count_restarts(struct look *l, enum cluster_role role, int64_t n);
/* Counts the kubelet's restarts of the index's current pod, which is about to be one of the past.
 */
void look_settle(struct look *l, enum cluster_role role, int index);
/* A new world: every index at the fresh incarnation; the kubelet's restarts so far are counted. */
void look_renew(struct look *l);

/* Ended before it was asked to stop, for certain (rule 3). Only then is the end its own. */
bool pod_ended_itself(const struct pod *p);
/*
 * Silent for fenceSeconds after it should have ended: by its deletionTimestamp, and by how long we
 * have watched it. Our wall clock may be ahead of the API server's or jump, and giving up a pod
 * that still runs would run its index twice.
 */
bool pod_is_lost(const struct look *l, const struct pod *p);
/* When it will be lost. */
int64_t pod_fence_ms(const struct look *l, const struct pod *p);

/* Conditions of next. The time changes with the status, reason and message at once. */
void condition_set(struct look *l, enum condition_type type, bool status, const char *reason,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Makes next terminal, once: condition, completion time, clock stopped. */
void terminate(struct look *l, enum condition_type type, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

void clock_start(struct look *l);
void clock_stop(struct look *l);

/* The rules, by their numbers in reconcile.h; each changes next or adds actions. */
void rule_completed(struct look *l);   /*  3, what succeeded */
void rule_success(struct look *l);     /*  4 */
void rule_deadline(struct look *l);    /*  5 */
void rule_failures(struct look *l);    /*  3, what failed */
void rule_suspend(struct look *l);     /*  6 */
void rule_world(struct look *l);       /*  7 */
bool rule_owned(struct look *l);       /*  8; true: all are there */
void rule_pods(struct look *l);        /*  9 */
void rule_waits(struct look *l);       /*  9, why the first that waits does */
void rule_finish(struct look *l);      /* 10 */
void rule_places(struct look *l);      /* 12, who gives its place to whom */
void rule_generation(struct look *l);  /* 12, what is to be launched */
void rule_run(struct look *l);         /* 12, launching and stopping it */
void describe_durable(struct look *l); /* 12, condition Durable */
/* 12, condition Running; why: a pod does not run, or "". */
void describe_run(struct look *l, const char *why);
/* All pods of the run that the chief tells of run, whatever others do. */
bool launch_trains(const struct look *l);
void describe_progress(struct look *l); /* 12, progress and scaling */
/* What the chief last said of the run that was launched last; NULL: nothing. */
const struct run_report *launch_report(const struct look *l);
/* The chief has said that the training is done: its pod may stay, to keep the model. */
bool launch_done(const struct look *l);
/* Whether the chief may run a launch that this worker is part of. */
bool launch_may_use(const struct look *l, int worker);
/* Whether a pod that nobody wants stays until the run that it is part of has stopped. */
bool launch_holds(const struct look *l, const struct pod *p);
void describe(struct look *l); /* 11: the descriptive part of next */

/* Its node should begin it, and its status does not say what is in the way. */
bool pod_is_mute(const struct pod *p);
/* Why a pod does not run, in words for a sentence; NULL: nobody says (yet). */
const char *pod_wait(const struct look *l, const struct pod *p);
bool pod_is_explained(const struct look *l, const struct pod *p); /* pod_wait is not NULL */
/* A pod that lives mounts another key than ours: they could not talk to what we make. */
bool look_key_changed(const struct look *l);
/* Deletes, releases or forces a pod that nobody wants; in as many looks as that takes. */
void pod_dispose(struct look *l, const struct pod *p);
/* Forces a pod that is being deleted once its node has been silent for too long. */
void pod_outwait(struct look *l, const struct pod *p);
/* Takes our finalizer off a pod that has ended; what is then still there is outwaited. */
void pod_let_go(struct look *l, const struct pod *p);

/* Whether the pods that come later wait: one that every launch needs has no node yet. */
bool places_hold(const struct look *l);
/* Whether a launched job's pod of this index is one of those. */
bool places_come_later(enum cluster_role role, int index);
/* A pod that may have been part of a launch is lost; the job is suspended: what the next launch
 * follows. */
void launch_lost(struct look *l, const struct pod *p);
void launch_suspended(struct look *l);
/* The job is about to have more workers: what was launched last is without them. */
void launch_grown(struct look *l);
/* Events for what the job's status says and reached not long ago. */
void story_tell(struct look *l);

#endif
