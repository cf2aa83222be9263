/*
 * Rule 10: after a terminal condition. cleanPodPolicy says which pods are deleted: Running those
 * that have not finished, All all, None none; pods of older incarnations are always deleted. Each
 * finished pod is released. The job is deleted ttlSeconds after completion.
 */
#include "operator/reconcile/ctx.h"

#define LEAVE_MS 60000 /* that the chief has to end, once its model is not kept any more */

/* The chief ends by itself: when its model was fetched, or nobody has done so in time; where there
 * is none, at once. A pod that has ended can still be asked for its log. */
static bool keeps_chief(const struct ctx *ctx, const struct pod *p)
{
    int64_t model = job_builtin(ctx->job) ? job_keep_seconds(ctx->job) : 0;
    int64_t end = ctx->next.completion_ms + seconds_ms(model) + LEAVE_MS;

    /* A creation whose answer was lost may still be carried out after the end. */
    if (ctx->next.launch.chief && ctx->next.launch.chief != launch_world(0, p->meta.uid))
        return false;
    if (!job_launched(ctx->job) || !status_is(&ctx->next, COND_SUCCEEDED) ||
        p->role != ROLE_WORKER || p->index != 0 || pod_finished(p) || ctx->now >= end)
        return false;
    plan_requeue(ctx->plan, end);
    return true;
}

static bool keeps(const struct ctx *ctx, const struct index_slot *slot, const struct pod *p)
{
    if (!ctx->job)
        return true;
    /* One that is being deleted is helped to its end. */
    if (p->incarnation < slot->incarnation || p->meta.deletion_ms)
        return false;
    if (keeps_chief(ctx, p))
        return true;
    switch (ctx->job->run_policy.clean_pods) {
    case CLEAN_NONE:
        return true;
    case CLEAN_RUNNING:
        return pod_finished(p);
    default:
        return false;
    }
}

static void expire(struct ctx *ctx)
{
    int64_t end = ctx->next.completion_ms;

    if (!ctx->job || ctx->job->run_policy.ttl_seconds < 0)
        return;
    end += seconds_ms(ctx->job->run_policy.ttl_seconds);
    if (ctx->now >= end)
        plan_add(ctx->plan, ACTION_DELETE_JOB);
    else
        plan_requeue(ctx->plan, end);
}

void rule_finish(struct ctx *ctx)
{
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < ctx->roles[r].n; i++) {
            const struct index_slot *slot = &ctx->roles[r].slots[i];

            for (int k = 0; !slot->stale && k < slot->n_pods; k++) {
                if (keeps(ctx, slot, slot->pods[k]))
                    pod_let_go(ctx, slot->pods[k]);
                else
                    pod_dispose(ctx, slot->pods[k]);
            }
        }
    expire(ctx);
}
