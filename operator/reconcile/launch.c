/*
 * Built-in jobs: the training is started by the agent of worker 0's pod, the chief, on the pods
 * that then run; one launch is a generation. What it is told stands in status before it is told.
 */
#include <stdio.h>
#include <string.h>

#include "operator/reconcile/look.h"

#define RELAUNCH_FIRST_MS 1000 /* after the second failure in a row without progress */
#define RELAUNCH_MAX_MS 60000

static const struct pod *worker_pod(const struct look *l, int index)
{
    const struct slot *slot = &l->roles[ROLE_WORKER].slots[index];
    const struct pod *p = slot->n_pods ? slot->pods[slot->n_pods - 1] : NULL;

    return p && p->incarnation == slot->incarnation && p->phase == POD_RUNNING && p->ip &&
                   !p->meta.deletion_ms
               ? p
               : NULL;
}

static const char *name_of(const struct pod *p) { return p->meta.name; }

/* A name can come again: that of a pod which was removed by force. */
static const char *uid_of(const struct pod *p) { return p->meta.uid; }

/* What stands for the workers' pods; 0: not all of them run. */
static int64_t wanted_world(const struct look *l, const char *(*text)(const struct pod *p))
{
    int64_t world = 0;

    for (int i = 0; i < l->next.world.replicas[ROLE_WORKER]; i++) {
        const struct pod *p = worker_pod(l, i);

        if (!p)
            return 0;
        world = launch_world(world, text(p));
    }
    return world;
}

/* What the chief says, while it is connected and is worker 0 still. That the training is done is
 * its last word: it hangs up then. */
static const struct run_report *chief_report(const struct look *l)
{
    const struct pod *chief = l->next.world.replicas[ROLE_WORKER] > 0 ? worker_pod(l, 0) : NULL;
    const struct run_report *r = l->o->run;

    if (!r || !chief || strcmp(r->pod, chief->meta.name) != 0)
        return NULL;
    return l->o->linked || r->phase == RUN_DONE ? r : NULL;
}

static bool is_current(const struct look *l, const struct run_report *r)
{
    return r && r->generation == l->next.launch.generation;
}

/* Of one that is wanted by a later pod only what stops is waited for: it is not asked to. */
static bool is_needed(const struct look *l, const struct run_report *r, const struct pod *p)
{
    if (p->index >= r->workers)
        return false;
    return p->index < l->next.world.replicas[ROLE_WORKER] ? r->phase == RUN_STOPPING
                                                          : run_is_active(r);
}

/* It was told of a world, and will say that it runs it or refuses it. */
static bool is_asked(const struct run_report *r) { return r->told > r->generation; }

bool launch_holds(const struct look *l, const struct pod *p)
{
    const struct run_report *r = chief_report(l);

    if (!job_builtin(l->job) || p->role != ROLE_WORKER || p->phase != POD_RUNNING ||
        p->meta.deletion_ms || status_is(&l->next, COND_SUSPENDED))
        return false;
    if (!r) /* a launch stands, and its chief may still say what became of it */
        return l->next.launch.world && worker_pod(l, 0) && !l->o->unreachable;
    return is_asked(r) || is_needed(l, r, p);
}

/* Steps beyond where the training was: failures so far are forgiven. */
static bool note_progress(struct look *l, const struct run_report *r)
{
    int64_t step = r->step > l->next.progress.step ? r->step : l->next.progress.step;

    if (step <= l->next.launch.step)
        return false;
    l->next.launch.step = step;
    l->next.launch.failures = 0;
    l->next.launch.forgiven = l->next.restarts;
    return true;
}

static void note_failure(struct look *l, const struct run_report *r)
{
    int64_t failures, delay = RELAUNCH_FIRST_MS;

    if (!note_progress(l, r))
        l->next.launch.failures++;
    failures = l->next.launch.failures;
    if (failures > l->job->run_policy.backoff_limit) {
        terminate(l, COND_FAILED, "BackoffLimitExceeded",
                  "%s; launches in a row without progress: %lld, backoffLimit: %lld: see `kubectl "
                  "logs -n %s %s`",
                  r->message, (long long)failures, (long long)l->job->run_policy.backoff_limit,
                  l->tj->meta.namespace_, r->pod);
        return;
    }
    for (int64_t i = 2; i < failures && delay < RELAUNCH_MAX_MS; i++)
        delay *= 2;
    if (failures > 1)
        l->next.backoff_until_ms = l->now + delay;
    condition_set(l, COND_RESTARTING, true, "LaunchFailed", "generation %lld: %s",
                  (long long)r->generation, r->message);
    l->next.conditions[COND_RESTARTING].since_ms = l->now;
}

/* The newest run has ended: what that means is noted once. */
static bool note_end(struct look *l, const struct run_report *r)
{
    if (!l->next.launch.world || !is_current(l, r) || run_is_active(r))
        return false;
    if (r->phase == RUN_FAILED)
        note_failure(l, r);
    else if (r->phase == RUN_STOPPED)
        (void)note_progress(l, r);
    else
        return false;
    l->next.launch.world = 0;
    return true;
}

/* The agent has seen the generation, but not as chief: it will not take it any more. */
static bool is_missed(const struct look *l, const struct run_report *r)
{
    int64_t generation = l->next.launch.generation;

    return r->seen >= generation && r->generation != generation;
}

void rule_generation(struct look *l)
{
    const struct run_report *r;
    int64_t world, wait = l->next.backoff_until_ms - l->now;

    if (!job_builtin(l->job) || !l->next.world.generation || status_is(&l->next, COND_SUSPENDED))
        return;
    r = chief_report(l);
    if (note_end(l, r) || !r || r->phase == RUN_DONE || is_asked(r))
        return;
    world = wanted_world(l, uid_of);
    if (!world || (world == l->next.launch.world && !is_missed(l, r)) ||
        (is_current(l, r) && run_is_active(r)))
        return;
    if (wait > 0 && wait <= RELAUNCH_MAX_MS) {
        plan_requeue(l->plan, l->next.backoff_until_ms);
        return;
    }
    (void)note_progress(l, r);
    if (l->next.launch.generation < r->seen)
        l->next.launch.generation = r->seen;
    l->next.launch.generation++;
    l->next.launch.world = world;
}

void rule_run(struct look *l)
{
    const struct run_report *r = job_builtin(l->job) ? chief_report(l) : NULL;
    int64_t world = r ? wanted_world(l, uid_of) : 0;

    if (!r)
        return;
    if (!world || status_is(&l->next, COND_SUSPENDED))
        return;
    if (world == l->next.launch.world && r->seen < l->next.launch.generation &&
        r->told < l->next.launch.generation)
        plan_add(l->plan, ACTION_LAUNCH)->generation = l->next.launch.generation;
    else if (is_current(l, r) && run_is_active(r) && r->phase != RUN_STOPPING &&
             r->world != wanted_world(l, name_of))
        plan_add(l->plan, ACTION_STOP)->generation = r->generation;
}

static void keep_scaling(struct look *l, const struct run_report *r)
{
    struct scaling *points;
    int n = l->next.n_scaling, at = 0;

    if (r->phase == RUN_DONE || r->progress.samples_per_second <= 0)
        return;
    while (at < n && l->next.scaling[at].workers < r->workers)
        at++;
    if (n == SCALING_MAX && (at == n || l->next.scaling[at].workers != r->workers))
        return;
    points = arena_alloc(&l->plan->arena, ((size_t)n + 1) * sizeof *points);
    for (int i = 0; i < at; i++)
        points[i] = l->next.scaling[i];
    points[at] = (struct scaling){r->workers, r->progress.samples_per_second};
    for (int i = at, k = at + 1; i < n; i++)
        if (l->next.scaling[i].workers != r->workers)
            points[k++] = l->next.scaling[i];
    l->next.n_scaling = n + (at == n || l->next.scaling[at].workers != r->workers);
    l->next.scaling = points;
}

static void describe_phase(struct look *l, const struct run_report *r)
{
    long long generation = r->generation;

    switch (r->phase) {
    case RUN_TRAINING:
    case RUN_DONE:
        condition_set(l, COND_RUNNING, true, "Training", "generation %lld trains on %d worker%s",
                      generation, r->workers, r->workers == 1 ? "" : "s");
        return;
    case RUN_STARTING:
        condition_set(l, COND_RUNNING, false, "Launching", "generation %lld waits for %s",
                      generation, *r->stage ? r->stage : "its start");
        return;
    case RUN_STOPPING:
        condition_set(l, COND_RUNNING, false, "Stopping",
                      "generation %lld stops after a checkpoint", generation);
        return;
    default:
        condition_set(l, COND_RUNNING, false, "Launching", "generation %lld ended: %s", generation,
                      *r->message ? r->message : "it was stopped");
    }
}

void describe_run(struct look *l)
{
    const struct run_report *r = chief_report(l);

    if (l->o->unreachable)
        condition_set(l, COND_RUNNING, false, "AgentUnreachable", "%s", l->o->unreachable);
    else if (!r)
        condition_set(l, COND_RUNNING, false, "Launching", "waits for the agent of worker 0");
    else if (!r->generation || !is_current(l, r))
        condition_set(l, COND_RUNNING, false, "Launching", "generation %lld is launched",
                      (long long)l->next.launch.generation);
    else
        describe_phase(l, r);
}

void describe_progress(struct look *l)
{
    const struct run_report *r = l->job && job_builtin(l->job) ? chief_report(l) : NULL;

    if (!is_current(l, r) || !r->progress.present)
        return;
    l->next.progress = r->progress;
    keep_scaling(l, r);
}
