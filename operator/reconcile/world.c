/*
 * Rule 7: the world, which is the set of processes that a job has and that each of them is told.
 *
 * A job without a world: a pod of each role is tried in a dry run. If the API server accepts them,
 * the world begins with generation 1: start_ms is set, Created is True, the clock starts. Pods that
 * are there without a world (status was wiped) get an older incarnation than it. A template that
 * the API server will never accept fails the job, reason InvalidTemplate; once there is a world, it
 * only makes the job PodsBlocked.
 *
 * A job whose spec has other counts than its world:
 *  - Recreate: generation + 1 and a world.incarnation above all; every pod starts anew.
 *  - Dynamic, and launched jobs: only the counts change. Each index that goes gets incarnation + 1,
 *    so that its name is not used again. So does each index that was `lost`: it is tried again,
 *    because a job that is scaled down to its lost workers would wait for ever.
 *  - A change of ps or chief of a Dynamic job concerns all processes and is done as in Recreate.
 * `completed` is never forgotten.
 */
#include "operator/reconcile/ctx.h"

static bool counts_differ(const struct ctx *ctx, enum cluster_role role)
{
    return ctx->job->replicas[role].replicas != ctx->next.world.replicas[role];
}

static void take_counts(struct ctx *ctx)
{
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        ctx->next.world.replicas[r] = ctx->job->replicas[r].replicas;
}

/* A pod of each role is shown to the API server first; true: it would take them all. */
static bool rehearsed(struct ctx *ctx)
{
    bool done = true;

    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        if (ctx->job->replicas[r].replicas == 0 || ctx->o->dry_run_ok[r])
            continue;
        done = false;
        if (ctx->o->hold_until_ms > ctx->now)
            plan_requeue(ctx->plan, ctx->o->hold_until_ms);
        else
            plan_add(ctx->plan, ACTION_DRY_RUN_POD)->role = r;
    }
    return done;
}

static void world_start(struct ctx *ctx)
{
    if (ctx->o->invalid_template) {
        terminate(ctx, COND_FAILED, "InvalidTemplate",
                  "the pod template is refused: %s; correct it and create the job again",
                  ctx->o->invalid_template);
        return;
    }
    if (!rehearsed(ctx))
        return;
    /* Pods without a world: its status was wiped. They belong to the past. */
    ctx_renew(ctx);
    ctx->next.world.generation = 1;
    take_counts(ctx);
    ctx->next.start_ms = ctx->now;
    condition_set(ctx, COND_CREATED, true, "Created", "the job is accepted");
    clock_start(ctx);
}

/*
 * Only the difference is made or taken away; what goes leaves its name unused. What was given up
 * gets another try: who scales to n wants n, and the others may be those that go.
 */
static void resize(struct ctx *ctx)
{
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < ctx->next.world.replicas[r]; i++) {
            struct index_slot *slot = &ctx->roles[r].slots[i];

            if (i < ctx->job->replicas[r].replicas && !slot->lost)
                continue;
            ctx_settle(ctx, r, i);
            slot->incarnation++;
            slot->lost = false;
        }
    launch_grown(ctx);
    take_counts(ctx);
    ctx_store(ctx);
}

/* Whether the processes that stay need not be told: agents are, by the next launch. */
static bool stays(const struct ctx *ctx)
{
    if (job_launched(ctx->job))
        return true;
    if (ctx->job->run_policy.scale != SCALE_DYNAMIC)
        return false;
    return !counts_differ(ctx, ROLE_CHIEF) && !counts_differ(ctx, ROLE_PS);
}

/* "worker from 2 to 4, ps from 1 to 2" */
static const char *list_changes(const struct ctx *ctx)
{
    const char *text = "";

    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        if (counts_differ(ctx, r))
            text =
                arena_printf(&ctx->plan->arena, "%s%s%s from %lld to %lld", text, *text ? ", " : "",
                             cluster_role_names[r], (long long)ctx->next.world.replicas[r],
                             (long long)ctx->job->replicas[r].replicas);
    return text;
}

static void rescale(struct ctx *ctx)
{
    const char *changes = list_changes(ctx);
    bool kept = stays(ctx);
    char key[64];

    if (kept) {
        resize(ctx);
    } else {
        ctx_renew(ctx);
        take_counts(ctx);
        ctx->next.world.generation++;
    }
    snprintf(key, sizeof key, "scaled-%lld", (long long)ctx->tj->meta.generation);
    plan_event(ctx->plan, false, key, "Scaled", "%s%s", changes,
               kept ? "" : "; all pods start anew with the new cluster spec");
    ctx->plan->events[ctx->plan->n_events - 1].at_ms = ctx->now; /* before they run */
}

void rule_world(struct ctx *ctx)
{
    if (status_is(&ctx->next, COND_SUSPENDED))
        return;
    if (ctx->next.world.generation == 0) {
        world_start(ctx);
        return;
    }
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        if (counts_differ(ctx, r)) {
            rescale(ctx);
            return;
        }
}
