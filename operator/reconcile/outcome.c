/*
 * Rule 3: how pods ended and what follows. All successes are noted first, then all failures are
 * judged together, so that the order of pods never decides.
 *
 * Success (phase Succeeded): the index joins `completed`, and the pod's restart_count is added to
 * the restarts. A pod that was asked to stop has succeeded only if it certainly ended before that:
 * we saw it finished before, or it finished more than CLOCK_SKEW_MS before the request
 * (deletion_ms - deletion_grace_ms; the node's clock gives one time, the API server's the other).
 * A graceful exit after SIGTERM is no success; it counts as a disruption. A pod of an older
 * incarnation that succeeded by itself counts as well: it ended while a suspension or a scaling was
 * being written.
 *
 * Failure (phase Failed):
 *  - A pod that was disrupted (pod->disrupted, or deleted while it ran), or whose failure the
 *    role's restart policy retries, is replaced: the index's incarnation goes up by 1, condition
 *    Restarting names the cause, the new pod waits for its back-off. ExitCode retries codes from
 *    128 on and pods without a code. OnFailure and Always retry everything: there the kubelet
 *    restarts containers, so only a lost pod ends Failed. Launched jobs follow ExitCode whatever
 *    their policy, because an agent ends with a code below 128 only where a retry cannot help.
 *  - A disruption adds 1 to the disruptions; any other failure adds 1 to the restarts of the job
 *    and of the role. Both add the pod's restart_count to the restarts.
 *  - When the restarts would exceed backoffLimit, no pod is replaced and the job fails with
 *    BackoffLimitExceeded; when the disruptions would exceed disruptionLimit, with
 *    DisruptionLimitExceeded. The default of disruptionLimit is 10 for each pod, at least 100: a
 *    drained rack is no failure of the job, but a pod that is evicted wherever it runs is not
 *    replaced for ever.
 *  - Any other failure is permanent: the job fails with ReplicaFailed. The exception is a worker of
 *    a Dynamic job with restart policy Never: it becomes `lost` as long as minReplicas others are
 *    left.
 *  - Permanent failures come before restarts; success (rule 4) and the deadline (rule 5) come
 *    before both.
 *
 * A pod that is deleted before it had a node is replaced, and nothing is counted. A pod that is
 * deleted and has not finished when pod_is_lost() says so is on a lost node: a disruption. Only
 * pods of the current incarnation fail; an older one has been decided already. A pod of a newer
 * incarnation shows that our status is stale: its index is not touched.
 *
 * The kubelet's restarts in live pods count, too: when they and the restarts so far exceed
 * backoffLimit, the job fails with BackoffLimitExceeded. They are added to the restarts when a
 * suspension or a scaling ends their pod.
 *
 * Each index has its own back-off. Its first restart is immediate, and so is one after
 * BACKOFF_RESET_MS of running, and the job's first one after progress (rule 12). The others wait
 * BACKOFF_FIRST_MS, then twice that, and so on up to BACKOFF_MAX_MS.
 */
#include "operator/reconcile/ctx.h"

enum fate {
    FATE_NONE,      /* it runs, or nothing is known yet */
    FATE_RETRY,     /* again, and it counts towards backoffLimit */
    FATE_DISRUPTED, /* again, and it counts towards disruptionLimit: others ended it */
    FATE_UNPLACED,  /* deleted before it had a node: again, and it does not count */
    FATE_PERMANENT,
};

struct failure {
    struct index_slot *slot;
    const struct pod *pod;
    bool disrupted;
};

/* The failures of one reconcile. */
struct failures {
    struct failure *retries;     /* one per index */
    int n_retries, n_disrupted;  /* the second are some of the first */
    const struct pod *permanent; /* the first that nothing tolerates; or NULL */
    const struct pod *kubelet;   /* the pod with the most restarts by the kubelet; or NULL */
    int64_t kubelet_restarts;    /* of all pods of current incarnations */
    int workers_left;
};

/* Agents end with codes below 128 only where trying again cannot help. */
static enum restart_policy policy_of(const struct ctx *ctx, const struct pod *p)
{
    return job_launched(ctx->job) ? RESTART_EXIT_CODE : ctx->job->replicas[p->role].restart;
}

static bool retryable(const struct ctx *ctx, const struct pod *p)
{
    switch (policy_of(ctx, p)) {
    case RESTART_ON_FAILURE:
    case RESTART_ALWAYS: /* the kubelet restarts containers: only a lost pod ends Failed */
        return true;
    case RESTART_EXIT_CODE:
        return !p->has_exit_code || p->exit_code >= 128;
    default:
        return false;
    }
}

static enum fate fate_of(const struct ctx *ctx, const struct pod *p)
{
    if (p->phase == POD_SUCCEEDED) /* after SIGTERM: the others were noted before */
        return FATE_DISRUPTED;
    if (p->phase == POD_FAILED && (p->disrupted || !pod_ended_itself(p)))
        return FATE_DISRUPTED;
    if (p->phase == POD_FAILED)
        return retryable(ctx, p) ? FATE_RETRY : FATE_PERMANENT;
    if (!p->meta.deletion_ms)
        return FATE_NONE;
    if (!p->scheduled)
        return FATE_UNPLACED;
    if (pod_is_lost(ctx, p))
        return FATE_DISRUPTED;
    plan_requeue(ctx->plan, pod_fence_ms(ctx, p));
    return FATE_NONE;
}

/* "worker 3 exited with code 137: OOMKilled (pod j-worker-3-0)"; *reason is the condition's. */
static const char *cause_of(const struct ctx *ctx, const struct pod *p, const char **reason)
{
    struct arena *a = &ctx->plan->arena;
    const char *who = arena_printf(a, "%s %d", cluster_role_names[p->role], p->index);
    const char *detail = p->reason ? arena_printf(a, ": %s", p->reason) : "";
    const char *what;

    if (p->message) /* what the program wrote as its last word, or who ended it */
        detail = arena_printf(a, "%s: %s", detail, p->message);

    if (!pod_finished(p)) {
        *reason = "NodeLost";
        what = arena_printf(a, "is on a node that no longer answers: %s", p->node ? p->node : "?");
    } else if (!pod_ended_itself(p)) {
        *reason = "PodDeleted";
        what = "was deleted while it ran";
    } else if (p->disrupted) {
        *reason = "PodDisrupted";
        what = arena_printf(a, "was disrupted%s", detail);
    } else if (p->has_exit_code) {
        *reason = "PodFailed";
        what = arena_printf(a, "exited with code %d%s", p->exit_code, detail);
    } else {
        *reason = "PodFailed";
        what = arena_printf(a, "failed%s", detail);
    }
    return arena_printf(a, "%s %s (pod %s)", who, what, p->meta.name);
}

void rule_completed(struct ctx *ctx)
{
    bool noted = launch_done(ctx);

    if (noted) /* its pod may stay, to keep the model */
        ctx->roles[ROLE_WORKER].slots[0].completed = true;
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < ctx->roles[r].n; i++) {
            struct index_slot *slot = &ctx->roles[r].slots[i];

            for (int k = 0; k < slot->n_pods; k++) {
                const struct pod *p = slot->pods[k];

                if (p->phase != POD_SUCCEEDED || !pod_ended_itself(p) || slot->completed ||
                    slot->stale)
                    continue;
                slot->completed = noted = true;
                if (p->incarnation == slot->incarnation)
                    ctx_count_restarts(ctx, r, p->restart_count);
            }
        }
    if (noted)
        ctx_store(ctx);
}

/* A worker of a dynamic job may fail for good while enough of the others are left; a built-in one
 * trains on all of them. */
static bool tolerated(const struct ctx *ctx, const struct failures *f, const struct pod *p)
{
    int64_t least = ctx->job->min_workers > 1 ? ctx->job->min_workers : 1;

    return !job_builtin(ctx->job) && p->role == ROLE_WORKER &&
           ctx->job->run_policy.scale == SCALE_DYNAMIC &&
           ctx->job->replicas[ROLE_WORKER].restart == RESTART_NEVER && f->workers_left > least;
}

/* The pod's part in the sum of failures; whether the index was changed. */
static bool outcome_judge(struct ctx *ctx, struct failures *f, struct index_slot *slot,
                          const struct pod *p)
{
    enum fate fate = fate_of(ctx, p);

    f->kubelet_restarts += p->restart_count;
    if (p->restart_count > (f->kubelet ? f->kubelet->restart_count : 0))
        f->kubelet = p;
    switch (fate) {
    case FATE_RETRY:
    case FATE_DISRUPTED:
        /* Twice only where a pod of this name went unseen: one replacement is enough. */
        if (f->n_retries && f->retries[f->n_retries - 1].slot == slot)
            return false;
        f->retries[f->n_retries++] = (struct failure){slot, p, fate == FATE_DISRUPTED};
        f->n_disrupted += fate == FATE_DISRUPTED;
        return false;
    case FATE_UNPLACED:
        slot->incarnation++;
        return true;
    case FATE_PERMANENT:
        if (tolerated(ctx, f, p)) {
            f->workers_left--;
            slot->lost = true;
            return true;
        }
        f->permanent = f->permanent ? f->permanent : p;
        return false;
    default:
        return false;
    }
}

static bool judge_all(struct ctx *ctx, struct failures *f)
{
    bool changed = false;

    f->retries = arena_alloc(&ctx->plan->arena, ctx->o->n_pods * sizeof *f->retries);
    for (int i = 0; i < ctx->next.world.replicas[ROLE_WORKER]; i++)
        f->workers_left += !ctx->roles[ROLE_WORKER].slots[i].lost;
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < ctx->roles[r].n; i++) {
            struct index_slot *slot = &ctx->roles[r].slots[i];
            int64_t incarnation = slot->incarnation;

            for (int k = 0; k < slot->n_pods; k++)
                if (ctx_wants(ctx, r, i) && slot->pods[k]->incarnation == incarnation)
                    changed |= outcome_judge(ctx, f, slot, slot->pods[k]);
        }
    return changed;
}

static void fail_permanent(struct ctx *ctx, const struct pod *p)
{
    enum restart_policy policy = policy_of(ctx, p);
    const char *reason, *cause = cause_of(ctx, p, &reason);

    terminate(ctx, COND_FAILED, "ReplicaFailed",
              "%s; restartPolicy %s does not restart it: see `kubectl logs -n %s %s`", cause,
              policy == RESTART_NEVER ? "Never" : "ExitCode", ctx->tj->meta.namespace_,
              p->meta.name);
}

/* " and 2 more", when more than one pod needs a restart. */
static const char *and_more(const struct ctx *ctx, int n)
{
    return n > 1 ? arena_printf(&ctx->plan->arena, " and %d more", n - 1) : "";
}

/* The first of those that were disrupted, or of those that failed; there is one. */
static const struct pod *outcome_first_of(const struct failures *f, bool disrupted)
{
    int i = 0;

    while (f->retries[i].disrupted != disrupted)
        i++;
    return f->retries[i].pod;
}

/* More than backoffLimit allows: by what we would do, or by what the kubelet did. */
static void fail_limit(struct ctx *ctx, const struct failures *f)
{
    int failed = f->n_retries - f->n_disrupted;
    const struct pod *p = failed ? outcome_first_of(f, false) : f->kubelet;
    const char *reason, *cause, *counted = failed ? "needed" : "so far";

    if (failed)
        cause = arena_printf(&ctx->plan->arena, "%s%s", cause_of(ctx, p, &reason),
                             and_more(ctx, failed));
    else
        cause = arena_printf(&ctx->plan->arena,
                             "%s %d was restarted %lld times by the kubelet (pod "
                             "%s)",
                             cluster_role_names[p->role], p->index, (long long)p->restart_count,
                             p->meta.name);
    terminate(ctx, COND_FAILED, "BackoffLimitExceeded",
              "%s; restarts %s: %lld, backoffLimit: %lld: see `kubectl logs -n %s %s`", cause,
              counted, (long long)(ctx->next.restarts + f->kubelet_restarts + failed),
              (long long)ctx->job->run_policy.backoff_limit, ctx->tj->meta.namespace_,
              p->meta.name);
}

/* Of pods that others end: a rack that is drained is no failure of the job, a pod that is evicted
 * wherever it comes to run is. */
static int64_t disruption_limit(const struct ctx *ctx)
{
    int64_t pods = 0;

    if (ctx->job->run_policy.disruption_limit >= 0)
        return ctx->job->run_policy.disruption_limit;
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        pods += ctx->next.world.replicas[r];
    return pods > 10 ? 10 * pods : 100;
}

static void fail_disrupted(struct ctx *ctx, const struct failures *f)
{
    const struct pod *p = outcome_first_of(f, true);
    const char *reason, *cause = cause_of(ctx, p, &reason);

    terminate(ctx, COND_FAILED, "DisruptionLimitExceeded",
              "%s%s; disruptions: %lld, disruptionLimit: %lld: see `kubectl describe pod -n %s %s`",
              cause, and_more(ctx, f->n_disrupted),
              (long long)(ctx->next.disruptions + f->n_disrupted), (long long)disruption_limit(ctx),
              ctx->tj->meta.namespace_, p->meta.name);
}

/* At once the first time, or after a good run; then later each time. unforgiven: restarts and
 * disruptions of the job since its last progress. */
static int64_t delay_of(const struct ctx *ctx, const struct failure *failure, int64_t unforgiven)
{
    const struct pod *p = failure->pod;
    int64_t restart = failure->slot->incarnation - ctx->next.world.incarnation;
    int64_t end = p->finished_ms ? p->finished_ms : ctx->now, delay = BACKOFF_FIRST_MS;

    if (restart > unforgiven)
        restart = unforgiven;
    if (restart < 2 || (p->started_ms && end - p->started_ms >= BACKOFF_RESET_MS))
        return 0;
    for (int64_t i = 2; i < restart && delay < BACKOFF_MAX_MS; i++)
        delay *= 2;
    return delay < BACKOFF_MAX_MS ? delay : BACKOFF_MAX_MS;
}

/* "restarts 1, backoffLimit 6", or of disruptions. */
static const char *tally(const struct ctx *ctx, bool disrupted)
{
    struct arena *a = &ctx->plan->arena;

    if (disrupted)
        return arena_printf(a, "disruptions %lld, disruptionLimit %lld",
                            (long long)ctx->next.disruptions, (long long)disruption_limit(ctx));
    return arena_printf(a, "restarts %lld, backoffLimit %lld", (long long)ctx->next.restarts,
                        (long long)ctx->job->run_policy.backoff_limit);
}

static void restart(struct ctx *ctx, const struct failures *f)
{
    bool disrupted = f->n_disrupted == f->n_retries;
    const char *reason, *cause = cause_of(ctx, outcome_first_of(f, disrupted), &reason);
    int64_t unforgiven = ctx->next.restarts - ctx->next.launch.forgiven + ctx->next.disruptions -
                         ctx->next.launch.outlived + 1;

    for (int i = 0; i < f->n_retries; i++) {
        const struct failure *failure = &f->retries[i];
        int64_t delay;

        failure->slot->incarnation++;
        launch_lost(ctx, failure->pod);
        ctx->next.disruptions += failure->disrupted;
        ctx_count_restarts(ctx, failure->pod->role,
                           !failure->disrupted + failure->pod->restart_count);
        delay = delay_of(ctx, failure, unforgiven);
        if (delay && ctx->next.backoff_until_ms < ctx->now + delay)
            ctx->next.backoff_until_ms = ctx->now + delay;
    }
    condition_set(ctx, COND_RESTARTING, true, reason, "%s%s: %s", cause,
                  and_more(ctx, f->n_retries), tally(ctx, disrupted));
    ctx->next.conditions[COND_RESTARTING].since_ms = ctx->now; /* of the latest restart */
}

void rule_failures(struct ctx *ctx)
{
    struct failures f = {0};
    bool changed = judge_all(ctx, &f);
    int64_t failed = f.n_retries - f.n_disrupted;
    int64_t restarts = ctx->next.restarts - ctx->next.launch.forgiven + f.kubelet_restarts + failed;
    int64_t disruptions = ctx->next.disruptions - ctx->next.launch.outlived + f.n_disrupted;

    if (f.permanent)
        fail_permanent(ctx, f.permanent);
    else if ((failed || f.kubelet) && restarts > ctx->job->run_policy.backoff_limit)
        fail_limit(ctx, &f);
    else if (f.n_disrupted && disruptions > disruption_limit(ctx))
        fail_disrupted(ctx, &f);
    else if (f.n_retries)
        restart(ctx, &f);
    if (changed || f.n_retries)
        ctx_store(ctx);
}
