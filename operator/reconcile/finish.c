/* After the end: what cleanPodPolicy leaves, and how long the job itself stays. */
#include "operator/reconcile/look.h"

static bool keeps(const struct look *l, const struct slot *slot, const struct pod *p)
{
    if (!l->job)
        return true;
    /* One that is being deleted is helped to its end. */
    if (p->incarnation < slot->incarnation || p->meta.deletion_ms)
        return false;
    switch (l->job->run_policy.clean_pods) {
    case CLEAN_NONE:
        return true;
    case CLEAN_RUNNING:
        return pod_finished(p);
    default:
        return false;
    }
}

static void expire(struct look *l)
{
    int64_t end = l->next.completion_ms;

    if (!l->job || l->job->run_policy.ttl_seconds < 0)
        return;
    end += seconds_ms(l->job->run_policy.ttl_seconds);
    if (l->now >= end)
        plan_add(l->plan, ACTION_DELETE_JOB);
    else
        plan_requeue(l->plan, end);
}

void rule_finish(struct look *l)
{
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < l->roles[r].n; i++) {
            const struct slot *slot = &l->roles[r].slots[i];

            for (int k = 0; !slot->stale && k < slot->n_pods; k++) {
                if (keeps(l, slot, slot->pods[k]))
                    pod_let_go(l, slot->pods[k]);
                else
                    pod_dispose(l, slot->pods[k]);
            }
        }
    expire(l);
}
