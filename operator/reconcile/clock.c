/* The deadline's clock: it runs while the job is not suspended. */
#include "operator/reconcile/look.h"

/* A wall clock that went back has not taken time away. */
static int64_t running_ms(const struct look *l)
{
    int64_t since = l->next.active_since_ms;

    return since && l->now > since ? l->now - since : 0;
}

void clock_start(struct look *l) { l->next.active_since_ms = l->now; }

void clock_stop(struct look *l)
{
    l->next.active_ms += running_ms(l);
    l->next.active_since_ms = 0;
}

void rule_deadline(struct look *l)
{
    int64_t seconds = l->job->run_policy.deadline_seconds;
    int64_t left;

    if (seconds < 0 || !l->next.active_since_ms)
        return;
    left = seconds_ms(seconds) - l->next.active_ms - running_ms(l);
    if (left <= 0)
        terminate(l, COND_FAILED, "DeadlineExceeded",
                  "the job ran for %lld s, activeDeadlineSeconds allows %lld: raise it in a new "
                  "job, or let the program resume from its checkpoint",
                  (long long)(l->next.active_ms + running_ms(l)) / 1000, (long long)seconds);
    else
        plan_requeue(l->plan, l->now + left);
}
