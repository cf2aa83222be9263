/*
 * Rule 6: suspend and resume. Suspend stops the clock and sets Suspended True and Running False. It
 * raises world.incarnation above every incarnation so far and empties the roles' maps of
 * incarnations, so that all pods are of an older incarnation and rule 9 deletes them. Resume sets
 * Suspended False (reason Resumed) and starts the clock again. A job that is created suspended
 * creates nothing: no dry run, no objects. Changed counts in the spec of a suspended job wait until
 * it is resumed.
 */
#include "operator/reconcile/ctx.h"

/*
 * What its scheduler made of a PodGroup stays with it, and the queue may be another one when the
 * job goes on. So a new world begins, whose group does not exist yet, and that of the old one goes.
 */
static void leave_gang(struct ctx *ctx)
{
    if (job_wants_owned(ctx->job, OWNED_POD_GROUP))
        ctx->next.world.generation++;
}

static void suspend(struct ctx *ctx)
{
    if (ctx->next.world.generation) {
        clock_stop(ctx);
        ctx_renew(ctx);
        leave_gang(ctx);
        launch_suspended(ctx);
        condition_set(ctx, COND_SUSPENDED, true, "Suspended",
                      "runPolicy.suspend is true: the pods are deleted; set it to false to go on");
        return;
    }
    condition_set(ctx, COND_CREATED, true, "Created", "the job is accepted");
    condition_set(ctx, COND_SUSPENDED, true, "Suspended",
                  "runPolicy.suspend is true: nothing is created; set it to false to start");
}

void rule_suspend(struct ctx *ctx)
{
    bool suspended = status_is(&ctx->next, COND_SUSPENDED);

    if (ctx->job->run_policy.suspend && !suspended) {
        suspend(ctx);
    } else if (!ctx->job->run_policy.suspend && suspended) {
        condition_set(ctx, COND_SUSPENDED, false, "Resumed", "runPolicy.suspend is false again");
        if (ctx->next.world.generation)
            clock_start(ctx);
    }
}
