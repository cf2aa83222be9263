#include "operator/reconcile/members.h"

#include "operator/api/run_report.h"

int members_count(const struct ctx *ctx)
{
    return (int)(ctx->next.world.replicas[ROLE_WORKER] + ctx->next.world.replicas[ROLE_PS]);
}

struct member members_at(const struct ctx *ctx, int i)
{
    int workers = (int)ctx->next.world.replicas[ROLE_WORKER];

    return i < workers ? (struct member){ROLE_WORKER, i} : (struct member){ROLE_PS, i - workers};
}

const struct index_slot *members_slot(const struct ctx *ctx, int i)
{
    struct member m = members_at(ctx, i);

    return &ctx->roles[m.role].slots[m.index];
}

const struct pod *members_pod(const struct ctx *ctx, int i)
{
    const struct pod *p = slot_pod(members_slot(ctx, i));

    return p && p->phase == POD_RUNNING && p->ip && !p->meta.deletion_ms ? p : NULL;
}

const struct pod *members_chief(const struct ctx *ctx)
{
    return ctx->next.world.replicas[ROLE_WORKER] > 0 ? members_pod(ctx, 0) : NULL;
}

/* A launch waits for this pod still: it was made, or nothing trains, not long ago. */
static bool is_awaited(struct ctx *ctx, const struct pod *p)
{
    int64_t since =
        ctx->next.launch.since_ms ? ctx->next.launch.since_ms : ctx->next.active_since_ms;

    if (p && !pod_finished(p) && !p->meta.deletion_ms)
        since = p->meta.created_ms;
    since += seconds_ms(ctx->job->run_policy.replace_timeout_seconds);
    if (ctx->now >= since)
        return false;
    plan_requeue(ctx->plan, since);
    return true;
}

bool members_choose(struct ctx *ctx, struct index_map *without)
{
    int64_t least = ctx->job->min_workers > 1 ? ctx->job->min_workers : 1, left = 0;
    bool waits = false;

    *without = (struct index_map){0};
    for (int i = 0; i < members_count(ctx); i++) {
        struct member m = members_at(ctx, i);

        const struct pod *p = members_pod(ctx, i);

        if (p && pod_is_up(p)) {
            left += m.role == ROLE_WORKER;
        } else if (m.role == ROLE_WORKER) {
            index_map_set(without, m.index, 1, &ctx->plan->arena);
            waits |= is_awaited(ctx, slot_pod(members_slot(ctx, i)));
        } else {
            waits = true; /* as long as it takes */
        }
    }
    return !waits && (!without->n || (left >= least && !index_map_get(without, 0)));
}

bool members_left_out(const struct index_map *without, struct member m)
{
    return m.role == ROLE_WORKER && index_map_get(without, m.index);
}

int64_t members_world(const struct ctx *ctx, const struct index_map *without,
                      const char *(*text)(const struct pod *p))
{
    int64_t world = 0;

    for (int i = 0; i < members_count(ctx); i++) {
        const struct pod *p = members_pod(ctx, i);

        if (members_left_out(without, members_at(ctx, i)))
            continue;
        if (!p)
            return 0;
        world = launch_world(world, text(p));
    }
    return world;
}
