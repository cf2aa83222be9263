/* When a job has succeeded: by its chief, by worker 0, or by all its workers. */
#include "operator/reconcile/look.h"

/* Every worker has completed, or was given up; at least one has completed. */
static bool all_workers(const struct look *l)
{
    int64_t n = l->next.world.replicas[ROLE_WORKER];
    int completed = 0;

    for (int i = 0; i < n; i++) {
        const struct slot *slot = &l->roles[ROLE_WORKER].slots[i];

        if (!slot->completed && !slot->lost)
            return false;
        completed += slot->completed;
    }
    return completed > 0;
}

static bool has_completed(const struct look *l, enum cluster_role role)
{
    return l->next.world.replicas[role] > 0 && l->roles[role].slots[0].completed;
}

/* What agents launch is one program, which its worker 0 speaks for. */
static bool needs_all(const struct look *l)
{
    return l->job->run_policy.success == SUCCESS_ALL_WORKERS && !job_launched(l->job);
}

/* The engine says so before its pod has ended; status may have it already. */
static int64_t stopped_early(const struct look *l)
{
    const struct run_report *r = job_builtin(l->job) ? launch_report(l) : NULL;

    return r && r->progress.present ? r->progress.early_epoch : l->next.progress.early_epoch;
}

static void succeed(struct look *l)
{
    const int64_t epoch = stopped_early(l);

    if (epoch)
        terminate(l, COND_SUCCEEDED, "WorkerSucceeded",
                  "worker 0 has succeeded; the training stopped early at epoch %lld: no better "
                  "since epoch %lld",
                  (long long)epoch, (long long)(epoch - l->job->training.early_stop.patience));
    else
        terminate(l, COND_SUCCEEDED, "WorkerSucceeded", "worker 0 has succeeded");
}

void rule_success(struct look *l)
{
    bool chief = l->next.world.replicas[ROLE_CHIEF] > 0, chief_done = has_completed(l, ROLE_CHIEF);
    bool workers = l->next.world.replicas[ROLE_WORKER] > 0;

    if (needs_all(l)) {
        if ((workers ? all_workers(l) : chief) && chief == chief_done)
            terminate(l, COND_SUCCEEDED, "AllWorkersSucceeded", "every worker has succeeded");
    } else if (chief) {
        if (chief_done)
            terminate(l, COND_SUCCEEDED, "ChiefSucceeded", "the chief has succeeded");
    } else if (has_completed(l, ROLE_WORKER)) {
        succeed(l);
    } else if (all_workers(l)) {
        terminate(l, COND_SUCCEEDED, "AllWorkersSucceeded",
                  "every worker that was not lost has succeeded");
    }
}
