/* A job's objects besides its pods. */
#include <string.h>

#include "operator/reconcile/look.h"

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

bool look_key_changed(const struct look *l)
{
    for (size_t i = 0; i < l->n_pods; i++) {
        const struct pod *p = l->pods[i];

        if (p->key && p->incarnation >= l->next.world.incarnation && !pod_finished(p) &&
            !p->meta.deletion_ms && strcmp(p->key, l->o->key) != 0)
            return true;
    }
    return false;
}

static int64_t oldest_generation(const struct look *l)
{
    int64_t oldest = 0;

    for (size_t i = 0; i < sizeof l->o->old_generations / sizeof *l->o->old_generations; i++) {
        int64_t generation = l->o->old_generations[i];

        if (generation && (!oldest || generation < oldest))
            oldest = generation;
    }
    return oldest;
}

/*
 * Objects of former worlds, once nobody of them is left: one after the other, and the ConfigMap
 * last, which is watched, so that it stands for both.
 */
static void drop_old(struct look *l)
{
    int64_t generation = oldest_generation(l);
    struct action *action;

    for (size_t i = 0; i < l->n_pods; i++)
        if (l->pods[i]->incarnation < l->next.world.incarnation)
            return;
    if (!generation)
        return;
    action = plan_add(l->plan, ACTION_DELETE_OWNED);
    action->generation = generation;
    action->owned = job_wants_owned(l->job, OWNED_POD_GROUP) && l->o->groups_gone < generation
                        ? OWNED_POD_GROUP
                        : OWNED_CONFIG_MAP;
}

/* Whether the pod of a wanted index is to be made, or may wait for the object. */
static bool is_needed(enum owned_kind kind, const struct slot *slot)
{
    const struct pod *p = slot_pod(slot);

    if (!p)
        return true;
    return kind == OWNED_SECRET ? p->key && pod_is_mute(p)
                                : p->phase == POD_PENDING && !p->scheduled;
}

/* Kinds that are not watched are there unless it is long ago that they were, and it matters. */
static bool is_doubtful(struct look *l, enum owned_kind kind)
{
    int64_t until = l->o->seen_ms[kind] + OWNED_DOUBT_MS;
    bool needed = false;

    if (kind != OWNED_SECRET && kind != OWNED_POD_GROUP)
        return false;
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < l->roles[r].n; i++)
            needed |= look_expects(l, r, i) && is_needed(kind, &l->roles[r].slots[i]);
    if (needed && l->now < until && kind == OWNED_POD_GROUP)
        plan_requeue(l->plan, until); /* a pod that has a node is looked at again in any case */
    return needed && l->now >= until;
}

bool rule_owned(struct look *l)
{
    bool complete = true;

    drop_old(l);
    if (status_is(&l->next, COND_SUSPENDED) || look_key_changed(l))
        return false;
    for (int kind = 0; kind < N_OWNED; kind++) {
        struct action *action;

        if (!job_wants_owned(l->job, kind) || (l->o->have[kind] && !is_doubtful(l, kind)))
            continue;
        complete = false;
        /* For a former world the ConfigMap stands for both (drop_old). */
        if (kind == OWNED_POD_GROUP && !l->o->have[OWNED_CONFIG_MAP])
            continue;
        if (l->o->hold_until_ms > l->now) {
            plan_requeue(l->plan, l->o->hold_until_ms);
            continue;
        }
        action = plan_add(l->plan, ACTION_CREATE_OWNED);
        action->owned = kind;
        action->generation = l->next.world.generation;
        action->again = l->o->have[kind];
    }
    return complete;
}
