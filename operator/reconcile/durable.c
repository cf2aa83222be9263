/* Rule 12, condition Durable of built-in jobs: whether checkpoints and the model outlive the pods.
 */
#include "operator/reconcile/ctx.h"

/* The chief's report counts; until there is one, the condition stays as it is. */
static void describe_volume(struct ctx *ctx)
{
    const struct run_report *r = launch_report(ctx);

    if (r && *r->copy_error)
        condition_set(ctx, COND_DURABLE, false, DURABLE_FAILED,
                      "the checkpoint of step %lld is in memory only: %s", (long long)r->copy_step,
                      r->copy_error);
    else if (r || !ctx->next.conditions[COND_DURABLE].present)
        condition_set(ctx, COND_DURABLE, true, "Volume",
                      "the checkpoints that spec.checkpoint asks for and the model go to folder %s "
                      "of spec.output.volume",
                      ctx->tj->meta.name);
}

void describe_durable(struct ctx *ctx)
{
    if (!ctx->job || !job_builtin(ctx->job) || !ctx->next.world.generation)
        return;
    if (!status_terminal(&ctx->next)) {
        if (ctx->job->output.volume)
            describe_volume(ctx);
        else
            condition_set(ctx, COND_DURABLE, false, "NoVolume", "%s", DURABLE_NONE);
    } else if (status_is(&ctx->next, COND_SUCCEEDED) && !ctx->job->output.volume) {
        condition_set(ctx, COND_DURABLE, false, "ModelInMemory",
                      "the model is in the memory of worker 0's pod until it is fetched, at most "
                      "for %lld s: `kubectl paceline get-model -n %s %s`",
                      (long long)job_keep_seconds(ctx->job), ctx->tj->meta.namespace_,
                      ctx->tj->meta.name);
    }
}
