/* After the end: what cleanPodPolicy leaves, and how long the job itself stays. */
#include "operator/reconcile/look.h"

#define LEAVE_MS 60000 /* that the chief has to end, once its model is not kept any more */

/* The chief ends by itself: when its model was fetched, or nobody has done so in time; where there
 * is none, at once. A pod that has ended can still be asked for its log. */
static bool keeps_chief(const struct look *l, const struct pod *p)
{
    int64_t model = job_builtin(l->job) ? job_keep_seconds(l->job) : 0;
    int64_t end = l->next.completion_ms + seconds_ms(model) + LEAVE_MS;

    /* A creation whose answer was lost may still be carried out after the end. */
    if (l->next.launch.chief && l->next.launch.chief != launch_world(0, p->meta.uid))
        return false;
    if (!job_launched(l->job) || !status_is(&l->next, COND_SUCCEEDED) || p->role != ROLE_WORKER ||
        p->index != 0 || pod_finished(p) || l->now >= end)
        return false;
    plan_requeue(l->plan, end);
    return true;
}

static bool keeps(const struct look *l, const struct slot *slot, const struct pod *p)
{
    if (!l->job)
        return true;
    /* One that is being deleted is helped to its end. */
    if (p->incarnation < slot->incarnation || p->meta.deletion_ms)
        return false;
    if (keeps_chief(l, p))
        return true;
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
