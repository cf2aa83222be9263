/*
 * Rule 5: the deadline. A job fails with DeadlineExceeded when its clock has run for
 * activeDeadlineSeconds: active_ms + (now - active_since_ms). The clock stands while the job is
 * suspended.
 */
#include "operator/reconcile/ctx.h"

/* A wall clock that went back has not taken time away. */
static int64_t running_ms(const struct ctx *ctx)
{
    int64_t since = ctx->next.active_since_ms;

    return since && ctx->now > since ? ctx->now - since : 0;
}

void clock_start(struct ctx *ctx) { ctx->next.active_since_ms = ctx->now; }

void clock_stop(struct ctx *ctx)
{
    ctx->next.active_ms += running_ms(ctx);
    ctx->next.active_since_ms = 0;
}

void rule_deadline(struct ctx *ctx)
{
    int64_t seconds = ctx->job->run_policy.deadline_seconds;
    int64_t left;

    if (seconds < 0 || !ctx->next.active_since_ms)
        return;
    left = seconds_ms(seconds) - ctx->next.active_ms - running_ms(ctx);
    if (left <= 0)
        terminate(ctx, COND_FAILED, "DeadlineExceeded",
                  "the job ran for %lld s, activeDeadlineSeconds allows %lld: raise it in a new "
                  "job, or let the program resume from its checkpoint",
                  (long long)(ctx->next.active_ms + running_ms(ctx)) / 1000, (long long)seconds);
    else
        plan_requeue(ctx->plan, ctx->now + left);
}
