/*
 * Rule 8: a job's objects besides its pods. The Service, Secret, ConfigMap (of this generation),
 * NetworkPolicy and PodGroup that the job needs and that are not there are created before any pod.
 *
 * Secrets and PodGroups are not watched. They are created again when a pod waits, or is about to be
 * created, and they were last known to be there more than OWNED_DOUBT_MS ago. The name of a Secret
 * stands for one key: if a live pod mounts another key than our master key makes, neither Secret
 * nor pods are created, and the job is PodsBlocked.
 *
 * The PodGroup and then the ConfigMap of an older generation are deleted when no pod of an older
 * world is left. They are created in the other order, so that a PodGroup always has its ConfigMap.
 */
#include <string.h>

#include "operator/reconcile/ctx.h"

bool job_wants_owned(const struct job *job, enum owned_kind kind)
{
    switch (kind) {
    case OWNED_NETWORK_POLICY:
        return job->network.type == NETWORK_JOB;
    case OWNED_POD_GROUP:
        return job->scheduling.gang == GANG_VOLCANO ||
               job->scheduling.gang == GANG_SCHEDULER_PLUGINS;
    default:
        return true;
    }
}

bool ctx_key_changed(const struct ctx *ctx)
{
    for (size_t i = 0; i < ctx->n_pods; i++) {
        const struct pod *p = ctx->pods[i];

        if (p->key && p->incarnation >= ctx->next.world.incarnation && !pod_finished(p) &&
            !p->meta.deletion_ms && strcmp(p->key, ctx->o->key) != 0)
            return true;
    }
    return false;
}

static int64_t oldest_generation(const struct ctx *ctx)
{
    int64_t oldest = 0;

    for (size_t i = 0; i < sizeof ctx->o->old_generations / sizeof *ctx->o->old_generations; i++) {
        int64_t generation = ctx->o->old_generations[i];

        if (generation && (!oldest || generation < oldest))
            oldest = generation;
    }
    return oldest;
}

/*
 * Objects of former worlds, once nobody of them is left: one after the other, and the ConfigMap
 * last, which is watched, so that it stands for both.
 */
static void drop_old(struct ctx *ctx)
{
    int64_t generation = oldest_generation(ctx);
    struct action *action;

    for (size_t i = 0; i < ctx->n_pods; i++)
        if (ctx->pods[i]->incarnation < ctx->next.world.incarnation)
            return;
    if (!generation)
        return;
    action = plan_add(ctx->plan, ACTION_DELETE_OWNED);
    action->generation = generation;
    action->owned = job_wants_owned(ctx->job, OWNED_POD_GROUP) && ctx->o->groups_gone < generation
                        ? OWNED_POD_GROUP
                        : OWNED_CONFIG_MAP;
}

/* Whether the pod of a wanted index is to be made, or may wait for the object. */
static bool owned_is_needed(enum owned_kind kind, const struct index_slot *slot)
{
    const struct pod *p = slot_pod(slot);

    if (!p)
        return true;
    return kind == OWNED_SECRET ? p->key && pod_is_mute(p)
                                : p->phase == POD_PENDING && !p->scheduled;
}

/* Kinds that are not watched are there unless it is long ago that they were, and it matters. */
static bool is_doubtful(struct ctx *ctx, enum owned_kind kind)
{
    int64_t until = ctx->o->seen_ms[kind] + OWNED_DOUBT_MS;
    bool needed = false;

    if (kind != OWNED_SECRET && kind != OWNED_POD_GROUP)
        return false;
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < ctx->roles[r].n; i++)
            needed |= ctx_expects(ctx, r, i) && owned_is_needed(kind, &ctx->roles[r].slots[i]);
    if (needed && ctx->now < until && kind == OWNED_POD_GROUP)
        plan_requeue(ctx->plan, until); /* a pod that has a node is looked at again in any case */
    return needed && ctx->now >= until;
}

bool rule_owned(struct ctx *ctx)
{
    bool complete = true;

    drop_old(ctx);
    if (status_is(&ctx->next, COND_SUSPENDED) || ctx_key_changed(ctx))
        return false;
    for (int kind = 0; kind < N_OWNED; kind++) {
        struct action *action;

        if (!job_wants_owned(ctx->job, kind) || (ctx->o->have[kind] && !is_doubtful(ctx, kind)))
            continue;
        complete = false;
        /* For a former world the ConfigMap stands for both (drop_old). */
        if (kind == OWNED_POD_GROUP && !ctx->o->have[OWNED_CONFIG_MAP])
            continue;
        if (ctx->o->hold_until_ms > ctx->now) {
            plan_requeue(ctx->plan, ctx->o->hold_until_ms);
            continue;
        }
        action = plan_add(ctx->plan, ACTION_CREATE_OWNED);
        action->owned = kind;
        action->generation = ctx->next.world.generation;
        action->again = ctx->o->have[kind];
    }
    return complete;
}
