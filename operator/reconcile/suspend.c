/* Suspend: the clock stops and every pod becomes one of the past. Resume: the clock goes on. */
#include "operator/reconcile/look.h"

/*
 * What its scheduler made of a PodGroup stays with it, and the queue may be another one when the
 * job goes on. So a new world begins, whose group does not exist yet, and that of the old one goes.
 */
static void leave_gang(struct look *l)
{
    if (job_wants_owned(l->job, OWNED_POD_GROUP))
        l->next.world.generation++;
}

static void suspend(struct look *l)
{
    if (l->next.world.generation) {
        clock_stop(l);
        look_renew(l);
        leave_gang(l);
        launch_suspended(l);
        condition_set(l, COND_SUSPENDED, true, "Suspended",
                      "runPolicy.suspend is true: the pods are deleted; set it to false to go on");
        return;
    }
    condition_set(l, COND_CREATED, true, "Created", "the job is accepted");
    condition_set(l, COND_SUSPENDED, true, "Suspended",
                  "runPolicy.suspend is true: nothing is created; set it to false to start");
}

void rule_suspend(struct look *l)
{
    bool suspended = status_is(&l->next, COND_SUSPENDED);

    if (l->job->run_policy.suspend && !suspended) {
        suspend(l);
    } else if (!l->job->run_policy.suspend && suspended) {
        condition_set(l, COND_SUSPENDED, false, "Resumed", "runPolicy.suspend is false again");
        if (l->next.world.generation)
            clock_start(l);
    }
}
