/*
 * Rule 1: jobs that are left alone. A job that another controller manages (managedBy) gets nothing,
 * and so does one that cannot be read (tj->unread). Of a job that is being deleted, reconcile
 * releases each pod that is being deleted or has finished, and does nothing else.
 *
 * Rule 2: what cannot be used. A job whose spec is invalid (tj->problem, no tj->job) fails, reason
 * InvalidSpec, but only while it has no world; a job with a world keeps it and gets an event. A job
 * with a damaged status (tj->problem beside tj->job) gets an event and nothing else, so that
 * nothing runs twice.
 */
#include "operator/reconcile/reconcile.h"

#include "operator/reconcile/ctx.h"

/* The garbage collector deletes the pods of a job that goes; ours is only to let them. */
static void release_pods(struct ctx *ctx)
{
    for (size_t i = 0; i < ctx->n_pods; i++)
        if (ctx->pods[i]->tracked && (ctx->pods[i]->meta.deletion_ms || pod_finished(ctx->pods[i])))
            plan_add(ctx->plan, ACTION_RELEASE_POD)->pod = ctx->pods[i];
}

/* The job cannot be read: one that has not begun fails, one that runs is left alone (false). */
static bool reject(struct ctx *ctx)
{
    char key[64];

    if (!ctx->job && !ctx->next.world.generation) {
        terminate(ctx, COND_FAILED, "InvalidSpec", "%s", ctx->tj->problem);
        return true;
    }
    snprintf(key, sizeof key, "problem-%lld", (long long)ctx->tj->meta.generation);
    plan_event(ctx->plan, true, key, ctx->job ? "DamagedStatus" : "InvalidSpec",
               "%s; the job is left as it is until this is repaired", ctx->tj->problem);
    return false;
}

/* Whether a condition came, went or flipped. */
static bool flips(const struct ctx *ctx)
{
    const struct condition *old = ctx->tj->status.conditions, *next = ctx->next.conditions;

    for (int i = 0; i < N_CONDITIONS; i++)
        if (old[i].present != next[i].present || old[i].status != next[i].status)
            return true;
    return false;
}

/* The chief's pod ends in a moment, and with it what its agent knows. */
static bool is_last_word(const struct ctx *ctx)
{
    return ctx->o->run && ctx->o->run->phase == RUN_DONE;
}

/* Writes a changed status: at once what actions depend on, the rest now and then. */
static void reconcile_publish(struct ctx *ctx)
{
    int64_t written_ms = ctx->o->status_written_ms;
    bool durable = ctx_changed(ctx);
    struct tj_status *copy;

    describe(ctx);
    if (!durable && (ctx->plan->n_actions || status_equal(&ctx->tj->status, &ctx->next)))
        return;
    /* A last write that lies ahead was before the wall clock went back. */
    if (!durable && !flips(ctx) && !is_last_word(ctx) && written_ms <= ctx->now &&
        ctx->now < written_ms + STATUS_INTERVAL_MS) {
        plan_requeue(ctx->plan, written_ms + STATUS_INTERVAL_MS);
        return;
    }
    copy = arena_alloc(&ctx->plan->arena, sizeof *copy);
    status_copy(copy, &ctx->next, &ctx->plan->arena);
    ctx->plan->status = copy;
    ctx->plan->urgent = durable;
}

/* Rules 3 to 7: what has become of the job. */
static void decide(struct ctx *ctx)
{
    rule_completed(ctx);
    rule_success(ctx);
    rule_deadline(ctx);
    if (!status_terminal(&ctx->next))
        rule_failures(ctx);
    if (!ctx_changed(ctx))
        rule_suspend(ctx);
    if (!ctx_changed(ctx))
        rule_world(ctx);
    if (!ctx_changed(ctx))
        rule_places(ctx);
    if (!ctx_changed(ctx))
        rule_generation(ctx);
}

void reconcile(const struct observed *o, int64_t now_ms, struct plan *plan)
{
    struct ctx ctx;

    if (!tj_is_ours(o->tj))
        return;
    ctx_init(&ctx, o, now_ms, plan);
    if (o->tj->meta.deletion_ms) {
        release_pods(&ctx);
        return;
    }
    if (o->tj->unread)
        return;
    events_record(&ctx);
    if (status_terminal(&ctx.next)) {
        ctx.spec_applied = true;
        rule_finish(&ctx);
    } else if (o->tj->problem) {
        if (!reject(&ctx))
            return;
    } else {
        decide(&ctx);
        ctx.spec_applied = !ctx_changed(&ctx);
        if (ctx.spec_applied && ctx.next.world.generation) {
            rule_pods(&ctx);
            rule_run(&ctx);
            rule_pending(&ctx);
        }
    }
    reconcile_publish(&ctx);
}
