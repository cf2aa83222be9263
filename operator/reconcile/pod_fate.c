#include "operator/reconcile/ctx.h"

#define DEFAULT_FENCE_SECONDS 30 /* where the spec cannot be read any more */

bool pod_ended_itself(const struct pod *p)
{
    if (!p->meta.deletion_ms || p->ended_unasked)
        return true;
    return p->finished_ms &&
           p->finished_ms + CLOCK_SKEW_MS < p->meta.deletion_ms - p->meta.deletion_grace_ms;
}

int64_t pod_fence_ms(const struct ctx *ctx, const struct pod *p)
{
    int64_t fence =
        seconds_ms(ctx->job ? ctx->job->run_policy.fence_seconds : DEFAULT_FENCE_SECONDS);
    int64_t by_date = p->meta.deletion_ms + fence;
    int64_t by_watch = ctx->now + p->meta.deletion_grace_ms + fence - p->deleting_for_ms;

    return by_date > by_watch ? by_date : by_watch;
}

bool pod_is_lost(const struct ctx *ctx, const struct pod *p)
{
    return ctx->now >= pod_fence_ms(ctx, p);
}
