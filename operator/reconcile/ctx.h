/* The context of one reconcile, which all rules share. Only files of this folder include it. */
#ifndef PACELINE_OPERATOR_RECONCILE_CTX_H
#define PACELINE_OPERATOR_RECONCILE_CTX_H

#include "operator/reconcile/reconcile.h"

/* One index of a role. */
struct index_slot {
    const struct pod **pods; /* all of this index, by incarnation */
    int n_pods;
    int64_t incarnation; /* the current one; rules move it */
    bool completed, lost;
    bool stale; /* a pod is newer than our status: hands off */
};

struct ctx {
    const struct observed *o;
    const struct tj *tj;
    const struct job *job; /* NULL only in finish: the spec has become invalid */
    int64_t now;
    struct plan *plan;
    const struct pod **pods; /* by role, index, incarnation, UID */
    size_t n_pods;
    struct tj_status next; /* what status should be; strings borrowed from tj and the plan */
    struct {
        struct index_slot *slots;
        int n;
    } roles[N_CLUSTER_ROLES];
    bool spec_applied; /* nothing in the spec waits to be acted on */
};

/* Indexes pods and index maps; everything in the plan's arena. */
void ctx_init(struct ctx *ctx, const struct observed *o, int64_t now, struct plan *plan);
/* Writes the slots back into the index maps of next. */
void ctx_store(struct ctx *ctx);
/* Whether next differs from the job's status in what actions depend on. */
bool ctx_changed(const struct ctx *ctx);
/* Whether index of role should have a pod: listed by the world, not done, not suspended. */
bool ctx_expects(const struct ctx *ctx, enum cluster_role role, int index);
/* The same, and our status is not older than its pods. */
bool ctx_wants(const struct ctx *ctx, enum cluster_role role, int index);
/* An incarnation above all that the job's status and pods know. */
int64_t ctx_fresh_incarnation(const struct ctx *ctx);
/* Its pod of the current incarnation; or NULL. */
const struct pod *slot_pod(const struct index_slot *slot);
/* Adds restarts to the job and the role. */
void ctx_count_restarts(struct ctx *ctx, enum cluster_role role, int64_t n);
/* Counts the kubelet's restarts of the index's current pod, which is about to be one of the past.
 */
void ctx_settle(struct ctx *ctx, enum cluster_role role, int index);
/* Begins a new world: gives every index the fresh incarnation, and counts the kubelet's restarts so
 * far. */
void ctx_renew(struct ctx *ctx);

/* Whether the pod certainly ended before it was asked to stop (rule 3). */
bool pod_ended_itself(const struct pod *p);
/*
 * Whether a pod that is being deleted has not ended fenceSeconds after it should have. Both its
 * deletionTimestamp and the time that we have watched it must say so, because our wall clock may be
 * ahead of the API server's or jump. To give up a pod that still runs would run its index twice.
 */
bool pod_is_lost(const struct ctx *ctx, const struct pod *p);
/* The time from which it is lost. */
int64_t pod_fence_ms(const struct ctx *ctx, const struct pod *p);

/* Conditions of next. The time changes with the status, reason and message at once. */
void condition_set(struct ctx *ctx, enum condition_type type, bool status, const char *reason,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Makes next terminal, once: condition, completion time, clock stopped. */
void terminate(struct ctx *ctx, enum condition_type type, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

void clock_start(struct ctx *ctx);
void clock_stop(struct ctx *ctx);

/* The rules, by their numbers in reconcile.h; each changes next or adds actions. */
void rule_completed(struct ctx *ctx);   /*  3, what succeeded */
void rule_success(struct ctx *ctx);     /*  4 */
void rule_deadline(struct ctx *ctx);    /*  5 */
void rule_failures(struct ctx *ctx);    /*  3, what failed */
void rule_suspend(struct ctx *ctx);     /*  6 */
void rule_world(struct ctx *ctx);       /*  7 */
bool rule_owned(struct ctx *ctx);       /*  8; true: all are there */
void rule_pods(struct ctx *ctx);        /*  9 */
void rule_pending(struct ctx *ctx);     /*  9, why the first that waits does */
void rule_finish(struct ctx *ctx);      /* 10 */
void rule_places(struct ctx *ctx);      /* 12, who gives its place to whom */
void rule_generation(struct ctx *ctx);  /* 12, what is to be launched */
void rule_run(struct ctx *ctx);         /* 12, launching and stopping it */
void describe_durable(struct ctx *ctx); /* 12, condition Durable */
/* 12, condition Running; why: a pod does not run, or "". */
void describe_run(struct ctx *ctx, const char *why);
/* Whether all pods of the run that the chief reports are running; other pods do not matter. */
bool launch_trains(const struct ctx *ctx);
void describe_progress(struct ctx *ctx); /* 12, progress and scaling */
/* The chief's last report of the newest run; NULL: there is none. */
const struct run_report *launch_report(const struct ctx *ctx);
/* Whether the chief has reported the training as done. Its pod may stay then, to keep the model. */
bool launch_done(const struct ctx *ctx);
/* Whether the chief may run a launch that this worker is part of. */
bool launch_may_use(const struct ctx *ctx, int worker);
/* Whether a pod that nobody wants stays until the run that it is part of has stopped. */
bool launch_holds(const struct ctx *ctx, const struct pod *p);
void describe(struct ctx *ctx); /* 11: the descriptive part of next */

/* Whether the pod has a node that has not started it, while its status does not say why. */
bool pod_is_mute(const struct pod *p);
/* Why a pod does not run, as a part of a sentence; NULL: not known (yet). */
const char *pod_pending_reason(const struct ctx *ctx, const struct pod *p);
bool pod_is_explained(const struct ctx *ctx,
                      const struct pod *p); /* pod_pending_reason is not NULL */
/* Whether a live pod mounts another key than ours. It could not talk to pods that we create now. */
bool ctx_key_changed(const struct ctx *ctx);
/* Deletes, releases or force-deletes an unwanted pod, one step per reconcile. */
void pod_dispose(struct ctx *ctx, const struct pod *p);
/* Force-deletes a pod that is being deleted once pod_is_lost. */
void pod_outwait(struct ctx *ctx, const struct pod *p);
/* Removes our finalizer from a pod that has ended. If the pod is still there later: pod_outwait. */
void pod_let_go(struct ctx *ctx, const struct pod *p);

/* Whether pods that come later have to wait, because a pod that every launch needs has no node. */
bool places_hold(const struct ctx *ctx);
/* Whether a launched job's pod of this index is one of those. */
bool places_come_later(enum cluster_role role, int index);
/* A pod that may have been part of a launch is lost; the job is suspended: what the next launch
 * follows. */
void launch_lost(struct ctx *ctx, const struct pod *p);
void launch_suspended(struct ctx *ctx);
/* The job is about to have more workers: what was launched last is without them. */
void launch_grown(struct ctx *ctx);
/* Plans events for what the job's status reached lately. */
void events_record(struct ctx *ctx);

#endif
