/*
 * Rule 12: which pods get a node first. No launch goes without worker 0, which leads, nor without a
 * parameter server. So the pods of the other workers are created only when these have nodes.
 *
 * When one of these finds no node, other workers that wait for a node give way at once, and nothing
 * is counted. When it has found none for replaceTimeoutSeconds, the last worker that has a node
 * gives its place, one worker after the other. It does so only if minReplicas others keep theirs
 * and it is not the only one that may have a checkpoint. A worker that is part of a run keeps its
 * place; one that a run is without gives it while the run goes on.
 *
 * The scheduler of a gang places all of its pods or none, so they are created together.
 */
#include "operator/reconcile/members.h"

static bool places_are_ours(const struct ctx *ctx)
{
    return job_launched(ctx->job) && ctx->job->scheduling.gang == GANG_NONE;
}

static bool member_is_essential(struct member m) { return m.role == ROLE_PS || m.index == 0; }

static bool pod_has_place(const struct pod *p)
{
    return p && p->scheduled && !p->meta.deletion_ms && !pod_finished(p);
}

bool places_hold(const struct ctx *ctx)
{
    for (int i = 0; places_are_ours(ctx) && i < members_count(ctx); i++) {
        struct member m = members_at(ctx, i);

        if (member_is_essential(m) && ctx_expects(ctx, m.role, m.index) &&
            !pod_has_place(slot_pod(members_slot(ctx, i))))
            return true;
    }
    return false;
}

bool places_come_later(enum cluster_role role, int index)
{
    return !member_is_essential((struct member){role, index});
}

static const struct pod *places_homeless(const struct ctx *ctx)
{
    for (int i = 0; i < members_count(ctx); i++) {
        const struct pod *p = slot_pod(members_slot(ctx, i));

        if (member_is_essential(members_at(ctx, i)) && p && pod_is_unschedulable(p))
            return p;
    }
    return NULL;
}

/* The last launch was without it, or its node took it when that stood still already: it has no
 * checkpoint. */
static bool pod_never_trained(const struct ctx *ctx, const struct pod *p)
{
    if (index_map_get(&ctx->next.launch.without, p->index))
        return true;
    if (!ctx->next.launch.since_ms)
        return !ctx->next.launch.trained_ms;
    return p->started_ms + CLOCK_SKEW_MS > ctx->next.launch.since_ms;
}

static void places_leave(struct ctx *ctx, const struct pod *p)
{
    ctx->roles[p->role].slots[p->index].incarnation++;
}

/* Those who wait for a node would take the next that is free; true: there are some. */
static bool places_clear_queue(struct ctx *ctx)
{
    bool cleared = false;

    for (int i = 1; i < ctx->next.world.replicas[ROLE_WORKER]; i++) {
        const struct pod *p = slot_pod(&ctx->roles[ROLE_WORKER].slots[i]);

        if (p && pod_is_unschedulable(p) && !launch_may_use(ctx, i)) {
            places_leave(ctx, p);
            cleared = true;
        }
    }
    return cleared;
}

/*
 * The last worker that has a place and is not part of a run, if enough others keep theirs and the
 * newest checkpoint is not lost with it; or NULL.
 */
static const struct pod *places_offer(const struct ctx *ctx)
{
    int64_t least = ctx->job->min_workers > 1 ? ctx->job->min_workers : 1, placed = 0;
    bool led = pod_has_place(slot_pod(&ctx->roles[ROLE_WORKER].slots[0]));
    const struct pod *last = NULL;

    for (int i = 1; i < ctx->next.world.replicas[ROLE_WORKER]; i++) {
        const struct pod *p = slot_pod(&ctx->roles[ROLE_WORKER].slots[i]);

        if (!pod_has_place(p))
            continue;
        placed++;
        if (!launch_may_use(ctx, i))
            last = p;
    }
    if (!last || placed < least) /* worker 0 makes up for the one that goes */
        return NULL;
    return placed > 1 || led || pod_never_trained(ctx, last) ? last : NULL;
}

void rule_places(struct ctx *ctx)
{
    const struct pod *homeless, *last;
    int64_t at;
    char key[64];

    if (!places_are_ours(ctx) || status_is(&ctx->next, COND_SUSPENDED))
        return;
    homeless = places_homeless(ctx);
    if (!homeless)
        return;
    if (places_clear_queue(ctx)) {
        ctx_store(ctx);
        return;
    }
    last = places_offer(ctx);
    if (!last)
        return;
    at = homeless->meta.created_ms + seconds_ms(ctx->job->run_policy.replace_timeout_seconds);
    if (ctx->now < at) {
        plan_requeue(ctx->plan, at);
        return;
    }
    places_leave(ctx, last);
    places_leave(ctx, homeless); /* and its time begins anew */
    ctx_store(ctx);
    snprintf(key, sizeof key, "place-%s", last->meta.uid);
    plan_event(ctx->plan, true, key, "PlaceGiven",
               "worker %d gives its place to %s %d, without which nothing is launched and which "
               "found no node within %lld s",
               last->index, cluster_role_names[homeless->role], homeless->index,
               (long long)ctx->job->run_policy.replace_timeout_seconds);
}
