/*
 * Rule 4: when a job has succeeded. The chief decides if there is one; otherwise worker 0, or all
 * workers. With success policy AllWorkers every worker decides, and the chief if there is one.
 * Workers that are `lost` are not waited for, but at least one worker must have completed. Worker 0
 * alone decides for a launched job.
 *
 * Success wins over a failure that is seen at the same time. A job gets one terminal condition and
 * keeps it, whatever pods and users do later.
 */
#include "operator/reconcile/ctx.h"

/* Every worker has completed, or was given up; at least one has completed. */
static bool all_workers(const struct ctx *ctx)
{
    int64_t n = ctx->next.world.replicas[ROLE_WORKER];
    int completed = 0;

    for (int i = 0; i < n; i++) {
        const struct index_slot *slot = &ctx->roles[ROLE_WORKER].slots[i];

        if (!slot->completed && !slot->lost)
            return false;
        completed += slot->completed;
    }
    return completed > 0;
}

static bool has_completed(const struct ctx *ctx, enum cluster_role role)
{
    return ctx->next.world.replicas[role] > 0 && ctx->roles[role].slots[0].completed;
}

/* A launched job is one program, and worker 0 decides for it. */
static bool needs_all(const struct ctx *ctx)
{
    return ctx->job->run_policy.success == SUCCESS_ALL_WORKERS && !job_launched(ctx->job);
}

/* The engine says so before its pod has ended; status may have it already. */
static int64_t stopped_early(const struct ctx *ctx)
{
    const struct run_report *r = job_builtin(ctx->job) ? launch_report(ctx) : NULL;

    return r && r->progress.present ? r->progress.early_epoch : ctx->next.progress.early_epoch;
}

static void succeed(struct ctx *ctx)
{
    const int64_t epoch = stopped_early(ctx);

    if (epoch)
        terminate(ctx, COND_SUCCEEDED, "WorkerSucceeded",
                  "worker 0 has succeeded; the training stopped early at epoch %lld: no better "
                  "since epoch %lld",
                  (long long)epoch, (long long)(epoch - ctx->job->training.early_stop.patience));
    else
        terminate(ctx, COND_SUCCEEDED, "WorkerSucceeded", "worker 0 has succeeded");
}

void rule_success(struct ctx *ctx)
{
    bool chief = ctx->next.world.replicas[ROLE_CHIEF] > 0,
         chief_done = has_completed(ctx, ROLE_CHIEF);
    bool workers = ctx->next.world.replicas[ROLE_WORKER] > 0;

    if (needs_all(ctx)) {
        if ((workers ? all_workers(ctx) : chief) && chief == chief_done)
            terminate(ctx, COND_SUCCEEDED, "AllWorkersSucceeded", "every worker has succeeded");
    } else if (chief) {
        if (chief_done)
            terminate(ctx, COND_SUCCEEDED, "ChiefSucceeded", "the chief has succeeded");
    } else if (has_completed(ctx, ROLE_WORKER)) {
        succeed(ctx);
    } else if (all_workers(ctx)) {
        terminate(ctx, COND_SUCCEEDED, "AllWorkersSucceeded",
                  "every worker that was not lost has succeeded");
    }
}
