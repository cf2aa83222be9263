/*
 * What the engine tells of the training: how far it is, what became of StrategySwitch's switch, and
 * what each number of workers reached. Kept in status when the run that told of it is over.
 */
#include <string.h>

#include "operator/reconcile/look.h"

static void keep_scaling(struct look *l, const struct run_report *r)
{
    struct scaling *points;
    int n = l->next.n_scaling, at = 0, workers = r->replicas[ROLE_WORKER];

    if (r->phase == RUN_DONE || r->progress.samples_per_second <= 0)
        return;
    while (at < n && l->next.scaling[at].workers < workers)
        at++;
    if (n == SCALING_MAX && (at == n || l->next.scaling[at].workers != workers))
        return;
    points = arena_alloc(&l->plan->arena, ((size_t)n + 1) * sizeof *points);
    for (int i = 0; i < at; i++)
        points[i] = l->next.scaling[i];
    points[at] = (struct scaling){workers, r->progress.samples_per_second};
    for (int i = at, k = at + 1; i < n; i++)
        if (l->next.scaling[i].workers != workers)
            points[k++] = l->next.scaling[i];
    l->next.n_scaling = n + (at == n || l->next.scaling[at].workers != workers);
    l->next.scaling = points;
}

/* The strategy that trains before the switch, or behind it. */
static const char *phase_of(const struct job *job, bool switched)
{
    bool servers_first = job->strategy.change.order == SERVERS_FIRST;

    return switched == servers_first ? "AllReduce" : "ParameterServer";
}

/*
 * A run that begins says whether the checkpoint that it resumed from is of before the switch or
 * behind it; so what status said of a switch that was lost with its checkpoint is taken back. How
 * long a switch by relaunch took nobody knows but us.
 */
static void describe_strategy(struct look *l, const struct run_report *r)
{
    const struct switch_report *told = &r->switched;
    struct strategy_status *s = &l->next.strategy;
    int64_t took_ms = l->next.launch.trained_ms - l->next.launch.from_ms;

    if (!told->known || l->job->strategy.type != STRATEGY_SWITCH)
        return;
    if (told->step != s->step)
        *s = (struct strategy_status){.since_ms = told->step ? l->now : 0};
    s->phase = phase_of(l->job, told->step > 0);
    s->epoch = told->epoch;
    s->step = told->step;
    s->reason = arena_strdup(&l->plan->arena, told->reason);
    if (told->seconds > 0)
        s->seconds = told->seconds;
    else if (told->step && l->next.launch.reason == LAUNCH_SWITCH && took_ms > 0)
        s->seconds = (double)took_ms / 1e3;
}

void describe_progress(struct look *l)
{
    const struct run_report *r = l->job && job_builtin(l->job) ? launch_report(l) : NULL;

    if (!r)
        return;
    describe_strategy(l, r);
    if (r->transfer_s > 0)
        l->next.transfer_s = r->transfer_s;
    if (!r->progress.present)
        return;
    l->next.progress = r->progress;
    keep_scaling(l, r);
}
