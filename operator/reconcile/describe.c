/*
 * Rule 11: descriptive status, which only people and dashboards read: counts, Running, PodsBlocked,
 * Restarting False once all pods run again, observedGeneration. It is written when nothing else is
 * to be done, at most every STATUS_INTERVAL_MS, but at once when a condition came or flipped. A
 * write of durable status includes it.
 */
#include <string.h>

#include "operator/reconcile/ctx.h"

/* What the pods do, over all roles. */
struct pod_census {
    int wanted, running;
    const struct pod *waiting; /* the first that does not run and says why; or NULL */
    const char *wait;          /* and what */
};

static void count_slot(struct ctx *ctx, enum cluster_role role, int index, struct pod_census *c)
{
    const struct index_slot *slot = &ctx->roles[role].slots[index];
    const struct pod *p = slot_pod(slot);
    struct role_status *s = &ctx->next.roles[role];
    bool runs = p && p->phase == POD_RUNNING;

    s->succeeded += slot->completed;
    s->failed += slot->lost || (p && !slot->completed && p->phase == POD_FAILED);
    s->active += runs;
    s->ready += runs && p->ready;
    if (!ctx_expects(ctx, role, index))
        return;
    c->wanted++;
    if (runs && pod_is_up(p) && !p->meta.deletion_ms)
        c->running++;
    else if (p && !c->waiting && (c->wait = pod_pending_reason(ctx, p)))
        c->waiting = p;
}

static struct pod_census describe_count(struct ctx *ctx)
{
    struct pod_census c = {0};

    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        struct role_status *s = &ctx->next.roles[r];

        s->active = s->ready = s->succeeded = s->failed = 0;
        for (int i = 0; i < ctx->next.world.replicas[r]; i++)
            count_slot(ctx, r, i, &c);
    }
    return c;
}

static const char *why(const struct ctx *ctx, const struct pod_census *c)
{
    const struct pod *p = c->waiting;

    if (!p)
        return "";
    return arena_printf(
        &ctx->plan->arena, "; %s %d waits: %s (see `kubectl describe pod -n %s %s`)",
        cluster_role_names[p->role], p->index, c->wait, ctx->tj->meta.namespace_, p->meta.name);
}

static void describe_running(struct ctx *ctx, const struct pod_census *c)
{
    if (ctx->next.world.generation == 0)
        return;
    if (status_is(&ctx->next, COND_SUSPENDED)) {
        condition_set(ctx, COND_RUNNING, false, "Suspended", "the job is suspended");
    } else if ((c->wanted && c->running == c->wanted) || launch_trains(ctx)) {
        if (ctx->o->run)
            describe_run(ctx, why(ctx, c));
        else if (c->wanted == 1)
            condition_set(ctx, COND_RUNNING, true, "PodsRunning", "the pod runs");
        else
            condition_set(ctx, COND_RUNNING, true, "PodsRunning", "all %d pods run", c->wanted);
        if (status_is(&ctx->next, COND_RESTARTING) && status_is(&ctx->next, COND_RUNNING))
            condition_set(ctx, COND_RESTARTING, false, "Restarted", "%s",
                          c->running == c->wanted ? "all pods run again" : "it trains again");
    } else {
        condition_set(ctx, COND_RUNNING, false, "PodsPending", "%d of %d pods run%s", c->running,
                      c->wanted, why(ctx, c));
    }
}

/*
 * The Secret that the first waiting pod cannot mount because it lacks the keys that the operator
 * puts into its own; NULL: none. The operator may not read Secrets, so a Secret of somebody else is
 * found by the node.
 */
static const char *foreign_secret(const struct pod_census *c)
{
    const struct pod *p = c->waiting;

    return p && pod_is_mute(p) && strstr(c->wait, "\"" KEY_VOLUME "\"") &&
                   strstr(c->wait, "non-existent")
               ? p->key
               : NULL;
}

static void describe_blocked(struct ctx *ctx, const struct pod_census *c)
{
    if (ctx->o->invalid_template)
        condition_set(ctx, COND_PODS_BLOCKED, true, "InvalidTemplate", "%s",
                      ctx->o->invalid_template);
    else if (ctx_key_changed(ctx))
        condition_set(
            ctx, COND_PODS_BLOCKED, true, "KeyChanged",
            "the pods have the key of another master key than the operator has now, so that "
            "new ones could not join them: put the operator's Secret with the old one back "
            "and restart it, or suspend the job and resume it");
    else if (ctx->o->blocked)
        condition_set(ctx, COND_PODS_BLOCKED, true,
                      ctx->o->name_taken ? "NameTaken" : "PodsRefused", "%s", ctx->o->blocked);
    else if (foreign_secret(c))
        condition_set(ctx, COND_PODS_BLOCKED, true, "NameTaken",
                      "Secret %s exists and is not the one that the operator makes: delete it, and "
                      "the operator makes its own",
                      foreign_secret(c));
    else if (status_is(&ctx->next, COND_PODS_BLOCKED))
        condition_set(ctx, COND_PODS_BLOCKED, false, "PodsAccepted",
                      "the API server takes the pods again");
}

void describe(struct ctx *ctx)
{
    struct pod_census c = describe_count(ctx);

    if (!status_terminal(&ctx->next)) {
        describe_running(ctx, &c);
        describe_blocked(ctx, &c);
    }
    describe_durable(ctx);
    describe_progress(ctx);
    if (ctx->spec_applied)
        ctx->next.observed_generation = ctx->tj->meta.generation;
}
