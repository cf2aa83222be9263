#include <stdarg.h>

#include "operator/api/field.h"
#include "operator/reconcile/ctx.h"

static void set(struct ctx *ctx, enum condition_type type, bool status, const char *reason,
                const char *fmt, va_list args)
{
    struct condition *c = &ctx->next.conditions[type];
    bool flips = !c->present || c->status != status;
    va_list again;
    char *message;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    message = arena_alloc(&ctx->plan->arena, (size_t)n + 1);
    vsnprintf(message, (size_t)n + 1, fmt, args);
    text_mend(message);
    message[text_cut(message, STATUS_MAX_MESSAGE)] = '\0';
    *c = (struct condition){
        .present = true,
        .status = status,
        .reason = reason,
        .message = message,
        .since_ms = flips ? ctx->now : c->since_ms,
    };
}

void condition_set(struct ctx *ctx, enum condition_type type, bool status, const char *reason,
                   const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    set(ctx, type, status, reason, fmt, args);
    va_end(args);
}

void terminate(struct ctx *ctx, enum condition_type type, const char *reason, const char *fmt, ...)
{
    static const enum condition_type passing[] = {COND_RUNNING, COND_RESTARTING, COND_STALLED,
                                                  COND_PODS_BLOCKED};
    va_list args;

    va_start(args, fmt);
    set(ctx, type, true, reason, fmt, args);
    va_end(args);
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (ctx->next.conditions[passing[i]].present)
            condition_set(ctx, passing[i], false, "JobFinished", "the job has ended");
    clock_stop(ctx);
    ctx->next.completion_ms = ctx->now;
    ctx->next.backoff_until_ms = 0;
}
