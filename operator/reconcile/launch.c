/*
 * Launched jobs: the engine, or another MPI program, is started by the agent of worker 0's pod, the
 * chief, on the pods that then run; one launch is a generation. What it is told stands in status
 * before it is told. A program that is not ours tells of no progress, so none is forgiven.
 */
#include <stdio.h>
#include <string.h>

#include "operator/reconcile/members.h"

#define RELAUNCH_FIRST_MS 1000 /* after the second failure in a row without progress */
#define RELAUNCH_MAX_MS 60000
#define WAITS_MS 10000 /* a launch that waits for one thing so long says so */

static const char *name_of(const struct pod *p) { return p->meta.name; }

/* A name can come again: that of a pod which was removed by force. */
static const char *uid_of(const struct pod *p) { return p->meta.uid; }

/* What stands for the pods of the next launch; 0: it waits. */
static int64_t wanted_world(struct look *l, const char *(*text)(const struct pod *p))
{
    struct ledger without;

    return members_choose(l, &without) ? members_world(l, &without, text) : 0;
}

/* What the chief says, while it is connected and is worker 0 still. That the training is done is
 * its last word: it hangs up then. */
static const struct run_report *chief_report(const struct look *l)
{
    const struct pod *chief = members_chief(l);
    const struct run_report *r = l->o->run;

    if (!r || !chief || strcmp(r->pod, chief->meta.name) != 0)
        return NULL;
    return l->o->linked || r->phase == RUN_DONE ? r : NULL;
}

static bool is_current(const struct look *l, const struct run_report *r)
{
    return r && r->generation == l->next.launch.generation;
}

const struct run_report *launch_report(const struct look *l)
{
    const struct run_report *r = chief_report(l);

    return is_current(l, r) ? r : NULL;
}

bool launch_done(const struct look *l)
{
    const struct run_report *r = job_launched(l->job) ? chief_report(l) : NULL;

    return r && r->phase == RUN_DONE && strcmp(r->record_uid, l->tj->meta.uid) == 0;
}

/* Whether this member is part of the run. Its workers are the first that are not left out. */
static bool runs_on(const struct look *l, const struct run_report *r, struct member m)
{
    const struct ledger *without = &l->next.launch.without;

    if (m.role != ROLE_WORKER || !is_current(l, r))
        return m.index < r->replicas[m.role];
    return m.index - ledger_count(without, m.index) < r->replicas[m.role] &&
           !ledger_get(without, m.index);
}

/* Of one that is wanted by a later pod only what stops is waited for: it is not asked to. */
static bool is_needed(const struct look *l, const struct run_report *r, const struct pod *p)
{
    if (!runs_on(l, r, (struct member){p->role, p->index}))
        return false;
    return p->index < l->next.world.replicas[p->role] ? r->phase == RUN_STOPPING : run_is_active(r);
}

/* It was told of a world, and will say that it runs it or refuses it. */
static bool is_asked(const struct run_report *r) { return r->told > r->generation; }

bool launch_may_use(const struct look *l, int worker)
{
    const struct run_report *r = chief_report(l);

    if (!l->next.launch.world || !members_chief(l))
        return false;
    return !r || (is_current(l, r) && run_is_active(r) &&
                  runs_on(l, r, (struct member){ROLE_WORKER, worker}));
}

bool launch_holds(const struct look *l, const struct pod *p)
{
    const struct run_report *r = chief_report(l);

    if (!job_launched(l->job) || p->phase != POD_RUNNING || p->meta.deletion_ms ||
        status_is(&l->next, COND_SUSPENDED))
        return false;
    if (!r) /* a launch stands, and its chief may still say what became of it */
        return l->next.launch.world && members_chief(l) && !l->o->unreachable;
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
    l->next.launch.outlived = l->next.disruptions;
    return true;
}

/* What the next launch follows; before the first step of the last one that is what it followed. */
static void note_break(struct look *l, enum launch_reason reason, const char *cause)
{
    if (!l->next.launch.trained_ms)
        return;
    if (l->next.launch.world)
        l->next.launch.since_ms = l->now;
    l->next.launch.reason = reason;
    l->next.launch.cause = cause;
    l->next.launch.from_ms = l->now;
    l->next.launch.trained_ms = l->next.launch.resumed = l->next.launch.workers = 0;
}

void launch_lost(struct look *l, const struct pod *p)
{
    note_break(l, LAUNCH_LOSS,
               arena_printf(&l->plan->arena, "%s %d's pod was lost", cluster_role_names[p->role],
                            p->index));
}

/* Whatever runs ends with its pods; the next launch follows nothing but pods that run again. */
void launch_suspended(struct look *l)
{
    if (l->next.launch.generation)
        l->next.launch.reason = LAUNCH_RESUME;
    l->next.launch.cause = NULL;
    l->next.launch.world = l->next.launch.from_ms = l->next.launch.since_ms = 0;
    l->next.launch.trained_ms = l->next.launch.resumed = l->next.launch.workers = 0;
}

/* A pod of a former scale may still be part of it. */
void launch_grown(struct look *l)
{
    int64_t n = l->next.launch.generation ? l->job->replicas[ROLE_WORKER].replicas : 0;

    for (int i = (int)l->next.world.replicas[ROLE_WORKER]; i < n; i++)
        if (!l->roles[ROLE_WORKER].slots[i].n_pods)
            ledger_set(&l->next.launch.without, i, 1, &l->plan->arena);
}

/* "generation 3 failed": generation 4 follows. */
static const char *after(const struct look *l, const struct run_report *r, const char *what)
{
    return arena_printf(&l->plan->arena, "generation %lld %s", (long long)r->generation, what);
}

static void note_failure(struct look *l, const struct run_report *r)
{
    int64_t failures, delay = RELAUNCH_FIRST_MS;
    bool trained = l->next.launch.trained_ms != 0;

    note_break(l, LAUNCH_LOSS,
               after(l, r, l->next.launch.stalled == r->generation ? "stalled" : "failed"));
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
    condition_set(l, COND_RESTARTING, true, trained ? "RankFailed" : "LaunchFailed",
                  "generation %lld: %s", (long long)r->generation, r->message);
    l->next.conditions[COND_RESTARTING].since_ms = l->now;
}

/* It is killed once status says why. */
static bool note_stall(struct look *l, const struct run_report *r)
{
    if (!l->o->stalled || !is_current(l, r) || !run_is_active(r) ||
        l->next.launch.stalled == r->generation)
        return false;
    l->next.launch.stalled = r->generation;
    condition_set(l, COND_STALLED, true, "NoProgress",
                  "generation %lld has told of no progress for %lld s, last at step %lld; it is "
                  "killed and launched again: see `kubectl logs -n %s %s`",
                  (long long)r->generation, (long long)l->job->run_policy.progress_deadline_seconds,
                  (long long)r->step, l->tj->meta.namespace_, r->pod);
    l->next.conditions[COND_STALLED].since_ms = l->now;
    return true;
}

/* Another program makes steps from when it runs, for all that is known. */
static bool has_stepped(const struct look *l, const struct run_report *r)
{
    if (!job_builtin(l->job))
        return r->phase == RUN_TRAINING;
    return r->progress.present && r->progress.step > r->resumed;
}

/* The newest run has made its first step; one that lives on when a pod was lost makes no other. */
static bool note_first_step(struct look *l, const struct run_report *r)
{
    if (!l->next.launch.world || !is_current(l, r) || l->next.launch.stepped == r->generation ||
        !has_stepped(l, r))
        return false;
    l->next.launch.stepped = r->generation;
    l->next.launch.trained_ms = l->now;
    l->next.launch.resumed = r->resumed;
    l->next.launch.workers = r->replicas[ROLE_WORKER];
    if (status_is(&l->next, COND_STALLED))
        condition_set(l, COND_STALLED, false, "Progress", "generation %lld makes progress",
                      (long long)r->generation);
    return true;
}

static void note_stop(struct look *l, const struct run_report *r)
{
    if (r->relaunch)
        note_break(l, LAUNCH_SWITCH, after(l, r, "stopped to change its strategy"));
    else
        note_break(l, LAUNCH_RESCALE, after(l, r, "stopped"));
    (void)note_progress(l, r);
}

/*
 * What became of the pods that the run was launched on: the first that is gone, going, over or
 * replaced, in words; NULL: all are there. With such a pod the run failed, and the end of the pod
 * is what is told and counted, in this look or in one before.
 */
static const char *lost_pod(const struct look *l, const struct run_report *r)
{
    static const enum cluster_role roles[] = {ROLE_WORKER, ROLE_PS};
    int64_t world = 0;

    for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
        for (int i = 0; i < l->roles[roles[k]].n; i++) {
            const struct slot *slot = &l->roles[roles[k]].slots[i];
            const struct pod *p = slot->n_pods ? slot->pods[slot->n_pods - 1] : NULL;

            if (!runs_on(l, r, (struct member){roles[k], i}))
                continue;
            if (!p || p->meta.deletion_ms || pod_finished(p))
                return arena_printf(&l->plan->arena, "%s %d's pod was lost",
                                    cluster_role_names[roles[k]], i);
            world = launch_world(world, p->meta.uid);
        }
    return world == l->next.launch.world ? NULL : after(l, r, "lost a pod");
}

/* The newest run has ended: what that means is noted once. */
static bool note_end(struct look *l, const struct run_report *r)
{
    const char *lost;

    if (!l->next.launch.world || !is_current(l, r) || run_is_active(r))
        return false;
    lost = lost_pod(l, r);
    if (r->phase == RUN_FAILED && lost) {
        note_break(l, LAUNCH_LOSS, lost);
        (void)note_progress(l, r);
    } else if (r->phase == RUN_FAILED)
        note_failure(l, r);
    else if (r->phase == RUN_STOPPED)
        note_stop(l, r);
    else
        return false;
    l->next.launch.world = 0;
    return true;
}

/* The pods of a launch that follows no other have come to run: its time counts from there. */
static void note_pods(struct look *l)
{
    if (l->next.launch.from_ms || l->next.launch.world || !wanted_world(l, uid_of))
        return;
    l->next.launch.from_ms = l->now;
    l->next.launch.cause = "its pods ran";
}

/* The agent has seen the generation, but not as chief: it will not take it any more. */
static bool is_missed(const struct look *l, const struct run_report *r)
{
    int64_t generation = l->next.launch.generation;

    return r->seen >= generation && r->generation != generation;
}

/*
 * A member that the last run could not be had with: it runs, but its agent was silent. The kubelet
 * may not notice for long, or never, so the pod is replaced before anything else is launched.
 */
static const struct pod *silent_pod(const struct look *l, const struct run_report *r)
{
    if (!is_current(l, r) || r->phase != RUN_FAILED || !*r->silent)
        return NULL;
    for (int i = 0; i < members_count(l); i++) {
        const struct pod *p = members_pod(l, i);

        if (p && strcmp(p->meta.name, r->silent) == 0)
            return p;
    }
    return NULL;
}

void rule_generation(struct look *l)
{
    const struct run_report *r;
    struct ledger without;
    int64_t world, wait = l->next.backoff_until_ms - l->now;

    if (!job_launched(l->job) || !l->next.world.generation || status_is(&l->next, COND_SUSPENDED))
        return;
    r = chief_report(l);
    note_pods(l);
    if (note_first_step(l, r) || note_stall(l, r) || note_end(l, r) || !r || r->phase == RUN_DONE ||
        is_asked(r) || silent_pod(l, r))
        return;
    world = members_choose(l, &without) ? members_world(l, &without, uid_of) : 0;
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
    note_break(l, LAUNCH_LOSS,
               arena_printf(&l->plan->arena, "generation %lld was lost",
                            (long long)l->next.launch.generation));
    l->next.launch.generation++;
    l->next.launch.world = world;
    l->next.launch.chief = launch_world(0, members_chief(l)->meta.uid);
    l->next.launch.without = without;
}

/* An event where a launch waits longer than most do: one for each generation and stage, or pod. */
static void tell_stage(struct look *l, const struct run_report *r)
{
    char key[96];

    if (r->phase != RUN_STARTING)
        return;
    if (l->o->quiet_ms < WAITS_MS) {
        plan_requeue(l->plan, l->now + WAITS_MS - l->o->quiet_ms);
        return;
    }
    snprintf(key, sizeof key, "waits-%lld-%s", (long long)r->generation, r->stage);
    plan_event(l->plan, false, key, "LaunchWaits",
               "generation %lld waits for %s for more than %d s: see `kubectl logs -n %s %s`",
               (long long)r->generation, *r->stage ? r->stage : "its start", WAITS_MS / 1000,
               l->tj->meta.namespace_, r->pod);
}

static bool waits_for_long(const struct look *l, const struct pod *p)
{
    return l->now >= p->meta.created_ms + WAITS_MS;
}

/* Whether a says better than b what stands in the way of a launch. */
static bool is_more_awaited(const struct look *l, const struct pod *a, const struct pod *b)
{
    bool long_a = waits_for_long(l, a), long_b = waits_for_long(l, b);

    if (!long_a || !long_b)
        return a->meta.created_ms < b->meta.created_ms;
    return pod_is_explained(l, a) && !pod_is_explained(l, b);
}

/* The pod that stands in the way of a launch; NULL: none is there. */
static const struct pod *awaited_pod(const struct look *l)
{
    const struct pod *best = NULL;

    for (int i = 0; i < members_count(l); i++) {
        const struct pod *p = slot_pod(members_slot(l, i));

        if (p && p->phase == POD_PENDING && !p->meta.deletion_ms &&
            (!best || is_more_awaited(l, p, best)))
            best = p;
    }
    return best;
}

static void tell_pod(struct look *l, const struct pod *p)
{
    const char *wait = pod_wait(l, p);
    char key[96];

    if (!waits_for_long(l, p)) {
        plan_requeue(l->plan, p->meta.created_ms + WAITS_MS);
        return;
    }
    if (pod_is_mute(p) && !wait) /* its events are read first */
        return;
    snprintf(key, sizeof key, "waits-%lld-%s-%d", (long long)l->next.launch.generation + 1,
             cluster_role_names[p->role], p->index);
    plan_event(l->plan, false, key, "LaunchWaits", "generation %lld waits for %s %d%s%s (pod %s)",
               (long long)l->next.launch.generation + 1, cluster_role_names[p->role], p->index,
               wait ? ": " : "", wait ? wait : "", p->meta.name);
}

static void tell_waits(struct look *l, const struct run_report *r)
{
    const struct pod *p = awaited_pod(l);
    struct ledger without;
    char key[64];

    if (status_is(&l->next, COND_SUSPENDED))
        return;
    snprintf(key, sizeof key, "unreachable-%lld", (long long)l->next.launch.generation);
    if (l->o->unreachable)
        plan_event(l->plan, true, key, "AgentUnreachable", "%s", l->o->unreachable);
    if (is_current(l, r) && run_is_active(r))
        tell_stage(l, r);
    else if (p && !members_choose(l, &without))
        tell_pod(l, p);
}

/*
 * Whether a run should make way for the next: all wanted pods run, and they are others; or those
 * that run are more than it has, or it has some that are not wanted. What lost a pod ends by
 * itself.
 */
static bool is_outgrown(struct look *l, const struct run_report *r)
{
    struct ledger without;

    if (!members_choose(l, &without) || members_world(l, &without, name_of) == r->world)
        return false;
    if (!without.n)
        return true;
    for (int i = 0; i < members_count(l); i++) {
        struct member m = members_at(l, i);

        if (!members_left_out(&without, m) && !runs_on(l, r, m))
            return true;
    }
    for (int role = 0; role < N_CLUSTER_ROLES; role++)
        for (int i = (int)l->next.world.replicas[role]; i <= LEDGER_MAX_INDEX; i++)
            if (runs_on(l, r, (struct member){role, i}))
                return true;
    return false;
}

static void tell_unenforced(struct look *l)
{
    char key[64];

    if (!l->o->unenforced)
        return;
    snprintf(key, sizeof key, "unenforced-%lld", (long long)l->next.launch.generation);
    plan_event(l->plan, true, key, "NetworkPolicyNotEnforced", "%s", l->o->unenforced);
}

void rule_run(struct look *l)
{
    const struct run_report *r = job_launched(l->job) ? chief_report(l) : NULL;
    bool active = is_current(l, r) && run_is_active(r);
    int64_t generation = l->next.launch.generation;

    if (job_launched(l->job))
        tell_waits(l, r);
    if (!r || status_is(&l->next, COND_SUSPENDED))
        return;
    tell_unenforced(l);
    if (silent_pod(l, r)) {
        plan_add(l->plan, ACTION_DELETE_POD)->pod = silent_pod(l, r);
    } else if (active && l->next.launch.stalled == generation) {
        if (r->killed < generation)
            plan_add(l->plan, ACTION_KILL)->generation = generation;
    } else if (r->seen < generation && r->told < generation && l->next.launch.world &&
               members_world(l, &l->next.launch.without, uid_of) == l->next.launch.world) {
        plan_add(l->plan, ACTION_LAUNCH)->generation = generation;
    } else if (active && r->phase != RUN_STOPPING && is_outgrown(l, r)) {
        plan_add(l->plan, ACTION_STOP)->generation = generation;
    }
}

static const char *plural(int n) { return n == 1 ? "" : "s"; }

/* "3 workers", "3 of 4 workers and 1 server; worker 3 waits: ..." */
static const char *describe_members(const struct look *l, const struct run_report *r,
                                    const char *why)
{
    struct arena *a = &l->plan->arena;
    int64_t wanted = l->next.world.replicas[ROLE_WORKER];
    int workers = r->replicas[ROLE_WORKER], servers = r->replicas[ROLE_PS];
    const char *and = servers ? arena_printf(a, " and %d server%s", servers, plural(servers)) : "";

    if (workers < wanted)
        return arena_printf(a, "%d of %lld workers%s%s", workers, (long long)wanted, and, why);
    return arena_printf(a, "%d worker%s%s", workers, plural(workers), and);
}

static void describe_phase(struct look *l, const struct run_report *r, const char *why)
{
    long long generation = r->generation;

    switch (r->phase) {
    case RUN_TRAINING:
    case RUN_DONE:
        condition_set(l, COND_RUNNING, true, "Training", "generation %lld trains on %s", generation,
                      describe_members(l, r, why));
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

bool launch_trains(const struct look *l)
{
    const struct run_report *r = job_launched(l->job) ? chief_report(l) : NULL;

    if (!is_current(l, r) || !run_is_active(r))
        return false;
    for (int i = 0; i < members_count(l); i++)
        if (runs_on(l, r, members_at(l, i)) && !members_pod(l, i))
            return false;
    return true;
}

void describe_run(struct look *l, const char *why)
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
        describe_phase(l, r, why);
}
