/*
 * Rule 9: which pods go and which come.
 *
 * An unwanted pod (of an older incarnation, of an index out of range, of an index that is done) is
 * deleted once, released when it has finished, and deleted by force when it is lost (pod_is_lost).
 *
 * A wanted index that is neither completed nor lost gets a pod when it has no unfinished pod of any
 * incarnation. The pod is not created
 *  - before backoff_until_ms, if the index's incarnation is above the world's;
 *  - before hold_until_ms;
 *  - while an object of rule 8 is missing;
 *  - while a pod of an older world may still run, since both would have the same host name;
 *  - while places_hold() keeps it back (rule 12).
 * Only creation waits; deleting and releasing never do.
 */
#include "operator/reconcile/ctx.h"

void pod_let_go(struct ctx *ctx, const struct pod *p)
{
    bool never_ran = p->meta.deletion_ms && !p->scheduled;

    if (!pod_finished(p) && !never_ran)
        return;
    if (p->tracked)
        plan_add(ctx->plan, ACTION_RELEASE_POD)->pod = p;
    else if (p->meta.deletion_ms) /* its node should have removed it */
        pod_outwait(ctx, p);
}

void pod_outwait(struct ctx *ctx, const struct pod *p)
{
    if (pod_is_lost(ctx, p))
        plan_add(ctx->plan, ACTION_FORCE_DELETE_POD)->pod = p;
    else
        plan_requeue(ctx->plan, pod_fence_ms(ctx, p));
}

void pod_dispose(struct ctx *ctx, const struct pod *p)
{
    if (!p->meta.deletion_ms)
        plan_add(ctx->plan, ACTION_DELETE_POD)->pod = p;
    else if (pod_finished(p) || !p->scheduled)
        pod_let_go(ctx, p);
    else
        pod_outwait(ctx, p);
}

/* Pods of the world before this one that may still run: theirs are the same host names. */
static bool old_world_lives(const struct ctx *ctx)
{
    for (size_t i = 0; i < ctx->n_pods; i++)
        if (ctx->pods[i]->incarnation < ctx->next.world.incarnation && !pod_finished(ctx->pods[i]))
            return true;
    return false;
}

static bool may_create(struct ctx *ctx, const struct index_slot *slot)
{
    int64_t wait = ctx->next.backoff_until_ms - ctx->now;

    for (int k = 0; k < slot->n_pods; k++)
        if (!pod_finished(slot->pods[k]))
            return false;
    if (ctx->o->hold_until_ms > ctx->now) {
        plan_requeue(ctx->plan, ctx->o->hold_until_ms);
        return false;
    }
    /* A wait beyond the longest was set before the wall clock went back. */
    if (slot->incarnation > ctx->next.world.incarnation && wait > 0 && wait <= BACKOFF_MAX_MS) {
        plan_requeue(ctx->plan, ctx->next.backoff_until_ms);
        return false;
    }
    return true;
}

static void pods_create(struct ctx *ctx, enum cluster_role role, int index)
{
    const struct index_slot *slot = &ctx->roles[role].slots[index];
    struct action *action;

    if (!may_create(ctx, slot))
        return;
    action = plan_add(ctx->plan, ACTION_CREATE_POD);
    action->role = role;
    action->index = index;
    action->incarnation = slot->incarnation;
}

/* Whether it belongs to the job as it is: alive, or the record of how its index ended. */
static bool belongs(const struct ctx *ctx, const struct index_slot *slot, const struct pod *p)
{
    if (p->index >= ctx->next.world.replicas[p->role] || p->incarnation < slot->incarnation ||
        status_is(&ctx->next, COND_SUSPENDED))
        return false;
    return pod_finished(p) || (!slot->completed && !slot->lost);
}

static void review(struct ctx *ctx, const struct index_slot *slot)
{
    for (int k = 0; k < slot->n_pods; k++) {
        const struct pod *p = slot->pods[k];

        if (belongs(ctx, slot, p))
            pod_let_go(ctx, p);
        else if (!launch_holds(ctx, p))
            pod_dispose(ctx, p);
    }
}

void rule_pods(struct ctx *ctx)
{
    bool ready = rule_owned(ctx) && !old_world_lives(ctx), hold = places_hold(ctx);

    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < ctx->roles[r].n; i++) {
            const struct index_slot *slot = &ctx->roles[r].slots[i];

            if (slot->stale)
                continue;
            review(ctx, slot);
            if (ready && ctx_wants(ctx, r, i) && !(hold && places_come_later(r, i)))
                pods_create(ctx, r, i);
        }
}
