/*
 * Rule 12: launched jobs. The pods of rule 9 are agents. Worker 0's agent, the chief, starts the
 * engine, or another MPI program, on the pods that run then; one launch is a generation.
 *
 *  - A launch needs the pods that members_choose() asks for, and a chief that is connected and
 *    idle. Then launch.generation goes up by 1, and launch.world stands for these pods. The chief
 * is told after that is in status. Nothing else is launched before it has answered.
 *  - A pod with a readiness probe counts as running, here and in condition Running, when it is
 *    Ready. A pod that ceases to be Ready while a run has it changes nothing.
 *  - A run is stopped when all wanted pods run and are others than its own, or when the pods that
 *    can run are more than its own, or fewer because the job was scaled down. Pods beyond the count
 *    stay until the run has stopped, and while a running chief may still connect. Pods that are
 *    wanted again by then stay, too, if the run was asked to stop.
 *  - A failed run is launched again, later each time. More than backoffLimit failures in a row
 *    without a step of progress fail the job; a step also forgives the restarts and disruptions so
 *    far. A program that is not ours reports no progress, so nothing is forgiven. A run that failed
 *    after it lost a pod is no failure: the loss is what is told and counted.
 *  - A pod whose agent was silent is deleted once the run that failed for it is noted. It may run
 *    without its node or its network, and is replaced like a pod that was evicted.
 *  - A run that reports no progress for progressDeadlineSeconds is Stalled. It is killed once that
 *    is in status, and has then failed.
 *  - A run that stopped by itself is launched again with the second strategy of StrategySwitch.
 *  - Status says what a launch follows (pods that run, a loss, a stop) and when it made its first
 *    step before an event does. A first step and the end of a run that are heard of together are
 *    written one after the other, so that each launch has its event.
 */
#include <stdio.h>
#include <string.h>

#include "operator/reconcile/members.h"

#define RELAUNCH_FIRST_MS 1000 /* after the second failure in a row without progress */
#define RELAUNCH_MAX_MS 60000
#define WAITS_MS 10000 /* a launch that waits for one thing so long says so */

static const char *launch_name_of(const struct pod *p) { return p->meta.name; }

/* A name can come again: that of a pod which was removed by force. */
static const char *uid_of(const struct pod *p) { return p->meta.uid; }

/* The hash of the next launch's pods; 0: the launch waits. */
static int64_t wanted_world(struct ctx *ctx, const char *(*text)(const struct pod *p))
{
    struct index_map without;

    return members_choose(ctx, &without) ? members_world(ctx, &without, text) : 0;
}

/* The chief's report, while the chief is connected and still worker 0. A report that the training
 * is done stays valid, because the chief closes the connection then. */
static const struct run_report *chief_report(const struct ctx *ctx)
{
    const struct pod *chief = members_chief(ctx);
    const struct run_report *r = ctx->o->run;

    if (!r || !chief || strcmp(r->pod, chief->meta.name) != 0)
        return NULL;
    return ctx->o->linked || r->phase == RUN_DONE ? r : NULL;
}

static bool is_current(const struct ctx *ctx, const struct run_report *r)
{
    return r && r->generation == ctx->next.launch.generation;
}

const struct run_report *launch_report(const struct ctx *ctx)
{
    const struct run_report *r = chief_report(ctx);

    return is_current(ctx, r) ? r : NULL;
}

bool launch_done(const struct ctx *ctx)
{
    const struct run_report *r = job_launched(ctx->job) ? chief_report(ctx) : NULL;

    return r && r->phase == RUN_DONE && strcmp(r->record_uid, ctx->tj->meta.uid) == 0;
}

/* Whether this member is part of the run. Its workers are the first that are not left out. */
static bool runs_on(const struct ctx *ctx, const struct run_report *r, struct member m)
{
    const struct index_map *without = &ctx->next.launch.without;

    if (m.role != ROLE_WORKER || !is_current(ctx, r))
        return m.index < r->replicas[m.role];
    return m.index - index_map_count(without, m.index) < r->replicas[m.role] &&
           !index_map_get(without, m.index);
}

/* Of one that is wanted by a later pod only what stops is waited for: it is not asked to. */
static bool launch_is_needed(const struct ctx *ctx, const struct run_report *r, const struct pod *p)
{
    if (!runs_on(ctx, r, (struct member){p->role, p->index}))
        return false;
    return p->index < ctx->next.world.replicas[p->role] ? r->phase == RUN_STOPPING
                                                        : run_is_active(r);
}

/* It was told of a world, and will say that it runs it or refuses it. */
static bool is_asked(const struct run_report *r) { return r->told > r->generation; }

bool launch_may_use(const struct ctx *ctx, int worker)
{
    const struct run_report *r = chief_report(ctx);

    if (!ctx->next.launch.world || !members_chief(ctx))
        return false;
    return !r || (is_current(ctx, r) && run_is_active(r) &&
                  runs_on(ctx, r, (struct member){ROLE_WORKER, worker}));
}

bool launch_holds(const struct ctx *ctx, const struct pod *p)
{
    const struct run_report *r = chief_report(ctx);

    if (!job_launched(ctx->job) || p->phase != POD_RUNNING || p->meta.deletion_ms ||
        status_is(&ctx->next, COND_SUSPENDED))
        return false;
    if (!r) /* a launch stands, and its chief may still say what became of it */
        return ctx->next.launch.world && members_chief(ctx) && !ctx->o->unreachable;
    return is_asked(r) || launch_is_needed(ctx, r, p);
}

/* Steps beyond where the training was: failures so far are forgiven. */
static bool note_progress(struct ctx *ctx, const struct run_report *r)
{
    int64_t step = r->step > ctx->next.progress.step ? r->step : ctx->next.progress.step;

    if (step <= ctx->next.launch.step)
        return false;
    ctx->next.launch.step = step;
    ctx->next.launch.failures = 0;
    ctx->next.launch.forgiven = ctx->next.restarts;
    ctx->next.launch.outlived = ctx->next.disruptions;
    return true;
}

/* Notes what the next launch follows. If the last launch made no step, its own cause stays. */
static void note_break(struct ctx *ctx, enum launch_reason reason, const char *cause)
{
    if (!ctx->next.launch.trained_ms)
        return;
    if (ctx->next.launch.world)
        ctx->next.launch.since_ms = ctx->now;
    ctx->next.launch.reason = reason;
    ctx->next.launch.cause = cause;
    ctx->next.launch.from_ms = ctx->now;
    ctx->next.launch.trained_ms = ctx->next.launch.resumed = ctx->next.launch.workers = 0;
}

void launch_lost(struct ctx *ctx, const struct pod *p)
{
    note_break(ctx, LAUNCH_LOSS,
               arena_printf(&ctx->plan->arena, "%s %d's pod was lost", cluster_role_names[p->role],
                            p->index));
}

/* Whatever runs ends with its pods; the next launch follows nothing but pods that run again. */
void launch_suspended(struct ctx *ctx)
{
    if (ctx->next.launch.generation)
        ctx->next.launch.reason = LAUNCH_RESUME;
    ctx->next.launch.cause = NULL;
    ctx->next.launch.world = ctx->next.launch.from_ms = ctx->next.launch.since_ms = 0;
    ctx->next.launch.trained_ms = ctx->next.launch.resumed = ctx->next.launch.workers = 0;
}

/* A pod of a former scale may still be part of it. */
void launch_grown(struct ctx *ctx)
{
    int64_t n = ctx->next.launch.generation ? ctx->job->replicas[ROLE_WORKER].replicas : 0;

    for (int i = (int)ctx->next.world.replicas[ROLE_WORKER]; i < n; i++)
        if (!ctx->roles[ROLE_WORKER].slots[i].n_pods)
            index_map_set(&ctx->next.launch.without, i, 1, &ctx->plan->arena);
}

/* "generation 3 failed": generation 4 follows. */
static const char *after(const struct ctx *ctx, const struct run_report *r, const char *what)
{
    return arena_printf(&ctx->plan->arena, "generation %lld %s", (long long)r->generation, what);
}

static void note_failure(struct ctx *ctx, const struct run_report *r)
{
    int64_t failures, delay = RELAUNCH_FIRST_MS;
    bool trained = ctx->next.launch.trained_ms != 0;

    note_break(ctx, LAUNCH_LOSS,
               after(ctx, r, ctx->next.launch.stalled == r->generation ? "stalled" : "failed"));
    if (!note_progress(ctx, r))
        ctx->next.launch.failures++;
    failures = ctx->next.launch.failures;
    if (failures > ctx->job->run_policy.backoff_limit) {
        terminate(ctx, COND_FAILED, "BackoffLimitExceeded",
                  "%s; launches in a row without progress: %lld, backoffLimit: %lld: see `kubectl "
                  "logs -n %s %s`",
                  r->message, (long long)failures, (long long)ctx->job->run_policy.backoff_limit,
                  ctx->tj->meta.namespace_, r->pod);
        return;
    }
    for (int64_t i = 2; i < failures && delay < RELAUNCH_MAX_MS; i++)
        delay *= 2;
    if (failures > 1)
        ctx->next.backoff_until_ms = ctx->now + delay;
    condition_set(ctx, COND_RESTARTING, true, trained ? "RankFailed" : "LaunchFailed",
                  "generation %lld: %s", (long long)r->generation, r->message);
    ctx->next.conditions[COND_RESTARTING].since_ms = ctx->now;
}

/* It is killed once status says why. */
static bool note_stall(struct ctx *ctx, const struct run_report *r)
{
    if (!ctx->o->stalled || !is_current(ctx, r) || !run_is_active(r) ||
        ctx->next.launch.stalled == r->generation)
        return false;
    ctx->next.launch.stalled = r->generation;
    condition_set(ctx, COND_STALLED, true, "NoProgress",
                  "generation %lld has told of no progress for %lld s, last at step %lld; it is "
                  "killed and launched again: see `kubectl logs -n %s %s`",
                  (long long)r->generation,
                  (long long)ctx->job->run_policy.progress_deadline_seconds, (long long)r->step,
                  ctx->tj->meta.namespace_, r->pod);
    ctx->next.conditions[COND_STALLED].since_ms = ctx->now;
    return true;
}

/* Another program makes steps from when it runs, for all that is known. */
static bool has_stepped(const struct ctx *ctx, const struct run_report *r)
{
    if (!job_builtin(ctx->job))
        return r->phase == RUN_TRAINING;
    return r->progress.present && r->progress.step > r->resumed;
}

/* The newest run has made its first step; one that lives on when a pod was lost makes no other. */
static bool note_first_step(struct ctx *ctx, const struct run_report *r)
{
    if (!ctx->next.launch.world || !is_current(ctx, r) ||
        ctx->next.launch.stepped == r->generation || !has_stepped(ctx, r))
        return false;
    ctx->next.launch.stepped = r->generation;
    ctx->next.launch.trained_ms = ctx->now;
    ctx->next.launch.resumed = r->resumed;
    ctx->next.launch.workers = r->replicas[ROLE_WORKER];
    if (status_is(&ctx->next, COND_STALLED))
        condition_set(ctx, COND_STALLED, false, "Progress", "generation %lld makes progress",
                      (long long)r->generation);
    return true;
}

static void note_stop(struct ctx *ctx, const struct run_report *r)
{
    if (r->relaunch)
        note_break(ctx, LAUNCH_SWITCH, after(ctx, r, "stopped to change its strategy"));
    else
        note_break(ctx, LAUNCH_RESCALE, after(ctx, r, "stopped"));
    (void)note_progress(ctx, r);
}

/*
 * What became of the pods that the run was launched on: the first that is gone, going, over or
 * replaced, in words; NULL: all are there. With such a pod the run failed, and the end of the pod
 * is what is told and counted, in this look or in one before.
 */
static const char *lost_pod(const struct ctx *ctx, const struct run_report *r)
{
    static const enum cluster_role roles[] = {ROLE_WORKER, ROLE_PS};
    int64_t world = 0;

    for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
        for (int i = 0; i < ctx->roles[roles[k]].n; i++) {
            const struct index_slot *slot = &ctx->roles[roles[k]].slots[i];
            const struct pod *p = slot->n_pods ? slot->pods[slot->n_pods - 1] : NULL;

            if (!runs_on(ctx, r, (struct member){roles[k], i}))
                continue;
            if (!p || p->meta.deletion_ms || pod_finished(p))
                return arena_printf(&ctx->plan->arena, "%s %d's pod was lost",
                                    cluster_role_names[roles[k]], i);
            world = launch_world(world, p->meta.uid);
        }
    return world == ctx->next.launch.world ? NULL : after(ctx, r, "lost a pod");
}

/* The newest run has ended: what that means is noted once. */
static bool launch_note_end(struct ctx *ctx, const struct run_report *r)
{
    const char *lost;

    if (!ctx->next.launch.world || !is_current(ctx, r) || run_is_active(r))
        return false;
    lost = lost_pod(ctx, r);
    if (r->phase == RUN_FAILED && lost) {
        note_break(ctx, LAUNCH_LOSS, lost);
        (void)note_progress(ctx, r);
    } else if (r->phase == RUN_FAILED)
        note_failure(ctx, r);
    else if (r->phase == RUN_STOPPED)
        note_stop(ctx, r);
    else
        return false;
    ctx->next.launch.world = 0;
    return true;
}

/* The pods of a launch that follows no other have come to run: its time counts from there. */
static void note_pods(struct ctx *ctx)
{
    if (ctx->next.launch.from_ms || ctx->next.launch.world || !wanted_world(ctx, uid_of))
        return;
    ctx->next.launch.from_ms = ctx->now;
    ctx->next.launch.cause = "its pods ran";
}

/* The agent has seen the generation, but not as chief: it will not take it any more. */
static bool launch_is_missed(const struct ctx *ctx, const struct run_report *r)
{
    int64_t generation = ctx->next.launch.generation;

    return r->seen >= generation && r->generation != generation;
}

/*
 * A member that the last run could not be had with: it runs, but its agent was silent. The kubelet
 * may not notice for long, or never, so the pod is replaced before anything else is launched.
 */
static const struct pod *silent_pod(const struct ctx *ctx, const struct run_report *r)
{
    if (!is_current(ctx, r) || r->phase != RUN_FAILED || !*r->silent)
        return NULL;
    for (int i = 0; i < members_count(ctx); i++) {
        const struct pod *p = members_pod(ctx, i);

        if (p && strcmp(p->meta.name, r->silent) == 0)
            return p;
    }
    return NULL;
}

void rule_generation(struct ctx *ctx)
{
    const struct run_report *r;
    struct index_map without;
    int64_t world, wait = ctx->next.backoff_until_ms - ctx->now;

    if (!job_launched(ctx->job) || !ctx->next.world.generation ||
        status_is(&ctx->next, COND_SUSPENDED))
        return;
    r = chief_report(ctx);
    note_pods(ctx);
    if (note_first_step(ctx, r) || note_stall(ctx, r) || launch_note_end(ctx, r) || !r ||
        r->phase == RUN_DONE || is_asked(r) || silent_pod(ctx, r))
        return;
    world = members_choose(ctx, &without) ? members_world(ctx, &without, uid_of) : 0;
    if (!world || (world == ctx->next.launch.world && !launch_is_missed(ctx, r)) ||
        (is_current(ctx, r) && run_is_active(r)))
        return;
    if (wait > 0 && wait <= RELAUNCH_MAX_MS) {
        plan_requeue(ctx->plan, ctx->next.backoff_until_ms);
        return;
    }
    (void)note_progress(ctx, r);
    if (ctx->next.launch.generation < r->seen)
        ctx->next.launch.generation = r->seen;
    note_break(ctx, LAUNCH_LOSS,
               arena_printf(&ctx->plan->arena, "generation %lld was lost",
                            (long long)ctx->next.launch.generation));
    ctx->next.launch.generation++;
    ctx->next.launch.world = world;
    ctx->next.launch.chief = launch_world(0, members_chief(ctx)->meta.uid);
    ctx->next.launch.without = without;
}

/* An event where a launch waits longer than most do: one for each generation and stage, or pod. */
static void tell_stage(struct ctx *ctx, const struct run_report *r)
{
    char key[96];

    if (r->phase != RUN_STARTING)
        return;
    if (ctx->o->quiet_ms < WAITS_MS) {
        plan_requeue(ctx->plan, ctx->now + WAITS_MS - ctx->o->quiet_ms);
        return;
    }
    snprintf(key, sizeof key, "waits-%lld-%s", (long long)r->generation, r->stage);
    plan_event(ctx->plan, false, key, "LaunchWaits",
               "generation %lld waits for %s for more than %d s: see `kubectl logs -n %s %s`",
               (long long)r->generation, *r->stage ? r->stage : "its start", WAITS_MS / 1000,
               ctx->tj->meta.namespace_, r->pod);
}

static bool waits_for_long(const struct ctx *ctx, const struct pod *p)
{
    return ctx->now >= p->meta.created_ms + WAITS_MS;
}

/* Whether a says better than b what stands in the way of a launch. */
static bool is_more_awaited(const struct ctx *ctx, const struct pod *a, const struct pod *b)
{
    bool long_a = waits_for_long(ctx, a), long_b = waits_for_long(ctx, b);

    if (!long_a || !long_b)
        return a->meta.created_ms < b->meta.created_ms;
    return pod_is_explained(ctx, a) && !pod_is_explained(ctx, b);
}

/* The pod that stands in the way of a launch; NULL: none is there. */
static const struct pod *awaited_pod(const struct ctx *ctx)
{
    const struct pod *best = NULL;

    for (int i = 0; i < members_count(ctx); i++) {
        const struct pod *p = slot_pod(members_slot(ctx, i));

        if (p && p->phase == POD_PENDING && !p->meta.deletion_ms &&
            (!best || is_more_awaited(ctx, p, best)))
            best = p;
    }
    return best;
}

static void tell_pod(struct ctx *ctx, const struct pod *p)
{
    const char *wait = pod_pending_reason(ctx, p);
    char key[96];

    if (!waits_for_long(ctx, p)) {
        plan_requeue(ctx->plan, p->meta.created_ms + WAITS_MS);
        return;
    }
    if (pod_is_mute(p) && !wait) /* its events are read first */
        return;
    snprintf(key, sizeof key, "waits-%lld-%s-%d", (long long)ctx->next.launch.generation + 1,
             cluster_role_names[p->role], p->index);
    plan_event(ctx->plan, false, key, "LaunchWaits", "generation %lld waits for %s %d%s%s (pod %s)",
               (long long)ctx->next.launch.generation + 1, cluster_role_names[p->role], p->index,
               wait ? ": " : "", wait ? wait : "", p->meta.name);
}

static void tell_waits(struct ctx *ctx, const struct run_report *r)
{
    const struct pod *p = awaited_pod(ctx);
    struct index_map without;
    char key[64];

    if (status_is(&ctx->next, COND_SUSPENDED))
        return;
    snprintf(key, sizeof key, "unreachable-%lld", (long long)ctx->next.launch.generation);
    if (ctx->o->unreachable)
        plan_event(ctx->plan, true, key, "AgentUnreachable", "%s", ctx->o->unreachable);
    if (is_current(ctx, r) && run_is_active(r))
        tell_stage(ctx, r);
    else if (p && !members_choose(ctx, &without))
        tell_pod(ctx, p);
}

/*
 * Whether a run should make way for the next: all wanted pods run, and they are others; or those
 * that run are more than it has, or it has some that are not wanted. What lost a pod ends by
 * itself.
 */
static bool is_outgrown(struct ctx *ctx, const struct run_report *r)
{
    struct index_map without;

    if (!members_choose(ctx, &without) || members_world(ctx, &without, launch_name_of) == r->world)
        return false;
    if (!without.n)
        return true;
    for (int i = 0; i < members_count(ctx); i++) {
        struct member m = members_at(ctx, i);

        if (!members_left_out(&without, m) && !runs_on(ctx, r, m))
            return true;
    }
    for (int role = 0; role < N_CLUSTER_ROLES; role++)
        for (int i = (int)ctx->next.world.replicas[role]; i <= INDEX_MAP_MAX_INDEX; i++)
            if (runs_on(ctx, r, (struct member){role, i}))
                return true;
    return false;
}

static void tell_unenforced(struct ctx *ctx)
{
    char key[64];

    if (!ctx->o->unenforced)
        return;
    snprintf(key, sizeof key, "unenforced-%lld", (long long)ctx->next.launch.generation);
    plan_event(ctx->plan, true, key, "NetworkPolicyNotEnforced", "%s", ctx->o->unenforced);
}

void rule_run(struct ctx *ctx)
{
    const struct run_report *r = job_launched(ctx->job) ? chief_report(ctx) : NULL;
    bool active = is_current(ctx, r) && run_is_active(r);
    int64_t generation = ctx->next.launch.generation;

    if (job_launched(ctx->job))
        tell_waits(ctx, r);
    if (!r || status_is(&ctx->next, COND_SUSPENDED))
        return;
    tell_unenforced(ctx);
    if (silent_pod(ctx, r)) {
        plan_add(ctx->plan, ACTION_DELETE_POD)->pod = silent_pod(ctx, r);
    } else if (active && ctx->next.launch.stalled == generation) {
        if (r->killed < generation)
            plan_add(ctx->plan, ACTION_KILL)->generation = generation;
    } else if (r->seen < generation && r->told < generation && ctx->next.launch.world &&
               members_world(ctx, &ctx->next.launch.without, uid_of) == ctx->next.launch.world) {
        plan_add(ctx->plan, ACTION_LAUNCH)->generation = generation;
    } else if (active && r->phase != RUN_STOPPING && is_outgrown(ctx, r)) {
        plan_add(ctx->plan, ACTION_STOP)->generation = generation;
    }
}

static const char *launch_plural(int n) { return n == 1 ? "" : "s"; }

/* "3 workers", "3 of 4 workers and 1 server; worker 3 waits: ..." */
static const char *describe_members(const struct ctx *ctx, const struct run_report *r,
                                    const char *why)
{
    struct arena *a = &ctx->plan->arena;
    int64_t wanted = ctx->next.world.replicas[ROLE_WORKER];
    int workers = r->replicas[ROLE_WORKER], servers = r->replicas[ROLE_PS];
    const char *and =
        servers ? arena_printf(a, " and %d server%s", servers, launch_plural(servers)) : "";

    if (workers < wanted)
        return arena_printf(a, "%d of %lld workers%s%s", workers, (long long)wanted, and, why);
    return arena_printf(a, "%d worker%s%s", workers, launch_plural(workers), and);
}

static void describe_phase(struct ctx *ctx, const struct run_report *r, const char *why)
{
    long long generation = r->generation;

    switch (r->phase) {
    case RUN_TRAINING:
    case RUN_DONE:
        condition_set(ctx, COND_RUNNING, true, "Training", "generation %lld trains on %s",
                      generation, describe_members(ctx, r, why));
        return;
    case RUN_STARTING:
        condition_set(ctx, COND_RUNNING, false, "Launching", "generation %lld waits for %s",
                      generation, *r->stage ? r->stage : "its start");
        return;
    case RUN_STOPPING:
        condition_set(ctx, COND_RUNNING, false, "Stopping",
                      "generation %lld stops after a checkpoint", generation);
        return;
    default:
        condition_set(ctx, COND_RUNNING, false, "Launching", "generation %lld ended: %s",
                      generation, *r->message ? r->message : "it was stopped");
    }
}

bool launch_trains(const struct ctx *ctx)
{
    const struct run_report *r = job_launched(ctx->job) ? chief_report(ctx) : NULL;

    if (!is_current(ctx, r) || !run_is_active(r))
        return false;
    for (int i = 0; i < members_count(ctx); i++)
        if (runs_on(ctx, r, members_at(ctx, i)) && !members_pod(ctx, i))
            return false;
    return true;
}

void describe_run(struct ctx *ctx, const char *why)
{
    const struct run_report *r = chief_report(ctx);

    if (ctx->o->unreachable)
        condition_set(ctx, COND_RUNNING, false, "AgentUnreachable", "%s", ctx->o->unreachable);
    else if (!r)
        condition_set(ctx, COND_RUNNING, false, "Launching", "waits for the agent of worker 0");
    else if (!r->generation || !is_current(ctx, r))
        condition_set(ctx, COND_RUNNING, false, "Launching", "generation %lld is launched",
                      (long long)ctx->next.launch.generation);
    else
        describe_phase(ctx, r, why);
}
