/*
 * Rule 9: why a pod does not run. Mostly its status says so. It does not where the kubelet cannot
 * mount a volume or create a sandbox: only events tell of that. So the events about the first pod
 * that its node has not started and whose status is silent are read.
 */
#include <string.h>

#include "operator/reconcile/ctx.h"

bool pod_is_mute(const struct pod *p)
{
    return p->phase == POD_PENDING && p->scheduled && !p->begun && !p->reason &&
           !p->meta.deletion_ms;
}

static bool is_asked_about(const struct ctx *ctx, const struct pod *p)
{
    return ctx->o->events.pod && strcmp(ctx->o->events.pod, p->meta.uid) == 0;
}

bool pod_is_explained(const struct ctx *ctx, const struct pod *p)
{
    return p->reason || (pod_is_mute(p) && is_asked_about(ctx, p));
}

const char *pod_pending_reason(const struct ctx *ctx, const struct pod *p)
{
    if (p->reason)
        return arena_printf(&ctx->plan->arena, "%s%s%s", p->reason, p->message ? ": " : "",
                            p->message ? p->message : "");
    if (!pod_is_explained(ctx, p))
        return NULL;
    if (ctx->o->events.sentence)
        return ctx->o->events.sentence;
    return arena_printf(&ctx->plan->arena, "node %s has not begun it within %d s", p->node,
                        POD_MUTE_MS / 1000);
}

/* The first pod that is wanted and waits. */
static const struct pod *first_waiting(const struct ctx *ctx)
{
    for (size_t i = 0; i < ctx->n_pods; i++) {
        const struct pod *p = ctx->pods[i];

        if (p->phase == POD_PENDING && !p->meta.deletion_ms &&
            ctx_expects(ctx, p->role, p->index) &&
            p->incarnation == ctx->roles[p->role].slots[p->index].incarnation)
            return p;
    }
    return NULL;
}

void rule_pending(struct ctx *ctx)
{
    const struct pod *p = first_waiting(ctx);
    int64_t at;

    if (!p || !pod_is_mute(p))
        return;
    at = (p->started_ms ? p->started_ms : p->meta.created_ms) + POD_MUTE_MS;
    if (is_asked_about(ctx, p) && at < ctx->o->events.asked_ms + POD_ASK_MS)
        at = ctx->o->events.asked_ms + POD_ASK_MS;
    if (ctx->now < at)
        plan_requeue(ctx->plan, at);
    else
        plan_add(ctx->plan, ACTION_READ_EVENTS)->pod = p;
}
