/*
 * Rule 12: status of the training as the engine last reported it: how far it is, whether
 * StrategySwitch has switched, and which speed each number of workers reached. It stays in status
 * when the run is over. A run that resumes from before the switch takes the switch back.
 */
#include <string.h>

#include "operator/reconcile/ctx.h"

static void keep_scaling(struct ctx *ctx, const struct run_report *r)
{
    struct scaling *points;
    int n = ctx->next.n_scaling, at = 0, workers = r->replicas[ROLE_WORKER];

    if (r->phase == RUN_DONE || r->progress.samples_per_second <= 0)
        return;
    while (at < n && ctx->next.scaling[at].workers < workers)
        at++;
    if (n == SCALING_MAX && (at == n || ctx->next.scaling[at].workers != workers))
        return;
    points = arena_alloc(&ctx->plan->arena, ((size_t)n + 1) * sizeof *points);
    for (int i = 0; i < at; i++)
        points[i] = ctx->next.scaling[i];
    points[at] = (struct scaling){workers, r->progress.samples_per_second};
    for (int i = at, k = at + 1; i < n; i++)
        if (ctx->next.scaling[i].workers != workers)
            points[k++] = ctx->next.scaling[i];
    ctx->next.n_scaling = n + (at == n || ctx->next.scaling[at].workers != workers);
    ctx->next.scaling = points;
}

/* The strategy that trains before the switch, or after it. */
static const char *progress_phase_of(const struct job *job, bool switched)
{
    bool servers_first = job->strategy.change.order == SERVERS_FIRST;

    return switched == servers_first ? "AllReduce" : "ParameterServer";
}

/*
 * A run that begins says whether the checkpoint that it resumed from is of before the switch or
 * after it; so what status said of a switch that was lost with its checkpoint is taken back. How
 * long a switch by relaunch took nobody knows but us.
 */
static void describe_strategy(struct ctx *ctx, const struct run_report *r)
{
    const struct switch_report *told = &r->switched;
    struct strategy_status *s = &ctx->next.strategy;
    int64_t took_ms = ctx->next.launch.trained_ms - ctx->next.launch.from_ms;

    if (!told->known || ctx->job->strategy.type != STRATEGY_SWITCH)
        return;
    if (told->step != s->step)
        *s = (struct strategy_status){.since_ms = told->step ? ctx->now : 0};
    s->phase = progress_phase_of(ctx->job, told->step > 0);
    s->epoch = told->epoch;
    s->step = told->step;
    s->reason = arena_strdup(&ctx->plan->arena, told->reason);
    if (told->seconds > 0)
        s->seconds = told->seconds;
    else if (told->step && ctx->next.launch.reason == LAUNCH_SWITCH && took_ms > 0)
        s->seconds = (double)took_ms / 1e3;
}

void describe_progress(struct ctx *ctx)
{
    const struct run_report *r = ctx->job && job_builtin(ctx->job) ? launch_report(ctx) : NULL;

    if (!r)
        return;
    describe_strategy(ctx, r);
    if (r->transfer_s > 0)
        ctx->next.transfer_s = r->transfer_s;
    if (!r->progress.present)
        return;
    ctx->next.progress = r->progress;
    keep_scaling(ctx, r);
}
