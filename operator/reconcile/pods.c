/* Which pods go and which come. */
#include "operator/reconcile/look.h"

void pod_let_go(struct look *l, const struct pod *p)
{
    bool never_ran = p->meta.deletion_ms && !p->scheduled;

    if (!pod_finished(p) && !never_ran)
        return;
    if (p->tracked)
        plan_add(l->plan, ACTION_RELEASE_POD)->pod = p;
    else if (p->meta.deletion_ms) /* its node should have removed it */
        pod_outwait(l, p);
}

void pod_outwait(struct look *l, const struct pod *p)
{
    if (pod_is_lost(l, p))
        plan_add(l->plan, ACTION_FORCE_DELETE_POD)->pod = p;
    else
        plan_requeue(l->plan, pod_fence_ms(l, p));
}

void pod_dispose(struct look *l, const struct pod *p)
{
    if (!p->meta.deletion_ms)
        plan_add(l->plan, ACTION_DELETE_POD)->pod = p;
    else if (pod_finished(p) || !p->scheduled)
        pod_let_go(l, p);
    else
        pod_outwait(l, p);
}

/* Pods of the world before this one that may still run: theirs are the same host names. */
static bool old_world_lives(const struct look *l)
{
    for (size_t i = 0; i < l->n_pods; i++)
        if (l->pods[i]->incarnation < l->next.world.incarnation && !pod_finished(l->pods[i]))
            return true;
    return false;
}

static bool may_create(struct look *l, const struct slot *slot)
{
    int64_t wait = l->next.backoff_until_ms - l->now;

    for (int k = 0; k < slot->n_pods; k++)
        if (!pod_finished(slot->pods[k]))
            return false;
    if (l->o->hold_until_ms > l->now) {
        plan_requeue(l->plan, l->o->hold_until_ms);
        return false;
    }
    /* A wait beyond the longest was set before the wall clock went back. */
    if (slot->incarnation > l->next.world.incarnation && wait > 0 && wait <= BACKOFF_MAX_MS) {
        plan_requeue(l->plan, l->next.backoff_until_ms);
        return false;
    }
    return true;
}

static void create(struct look *l, enum cluster_role role, int index)
{
    const struct slot *slot = &l->roles[role].slots[index];
    struct action *action;

    if (!may_create(l, slot))
        return;
    action = plan_add(l->plan, ACTION_CREATE_POD);
    action->role = role;
    action->index = index;
    action->incarnation = slot->incarnation;
}

/* Whether it belongs to the job as it is: alive, or the record of how its index ended. */
static bool belongs(const struct look *l, const struct slot *slot, const struct pod *p)
{
    if (p->index >= l->next.world.replicas[p->role] || p->incarnation < slot->incarnation ||
        status_is(&l->next, COND_SUSPENDED))
        return false;
    return pod_finished(p) || (!slot->completed && !slot->lost);
}

static void review(struct look *l, const struct slot *slot)
{
    for (int k = 0; k < slot->n_pods; k++) {
        const struct pod *p = slot->pods[k];

        if (belongs(l, slot, p))
            pod_let_go(l, p);
        else if (!launch_holds(l, p))
            pod_dispose(l, p);
    }
}

void rule_pods(struct look *l)
{
    bool ready = rule_owned(l) && !old_world_lives(l), hold = places_hold(l);

    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < l->roles[r].n; i++) {
            const struct slot *slot = &l->roles[r].slots[i];

            if (slot->stale)
                continue;
            review(l, slot);
            if (ready && look_wants(l, r, i) && !(hold && places_come_later(r, i)))
                create(l, r, i);
        }
}
