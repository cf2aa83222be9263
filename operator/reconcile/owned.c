/* A job's objects besides its pods. */
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

/* ConfigMaps of former worlds, once nobody of them is left to read one. */
static void drop_old(struct look *l)
{
    for (size_t i = 0; i < l->n_pods; i++)
        if (l->pods[i]->incarnation < l->next.world.incarnation)
            return;
    for (size_t i = 0; i < sizeof l->o->old_generations / sizeof *l->o->old_generations; i++)
        if (l->o->old_generations[i]) {
            struct action *action = plan_add(l->plan, ACTION_DELETE_OWNED);

            action->owned = OWNED_CONFIG_MAP;
            action->generation = l->o->old_generations[i];
        }
}

bool rule_owned(struct look *l)
{
    bool complete = true;

    drop_old(l);
    if (status_is(&l->next, COND_SUSPENDED))
        return false;
    for (int kind = 0; kind < N_OWNED; kind++) {
        struct action *action;

        if (l->o->have[kind] || !job_wants_owned(l->job, kind))
            continue;
        complete = false;
        if (l->o->hold_until_ms > l->now) {
            plan_requeue(l->plan, l->o->hold_until_ms);
            continue;
        }
        action = plan_add(l->plan, ACTION_CREATE_OWNED);
        action->owned = kind;
        action->generation = l->next.world.generation;
    }
    return complete;
}
