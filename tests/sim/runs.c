/* Runs of the engine: their stages, steps, checkpoints in memory, and how they end. */
#include "paceline/mem.h"
#include "tests/sim/agents.h"
#include "tests/sim/value.h"

static const char *const stages[RUN_STAGES] = {"daemons", "ranks", "data"};

struct sim_agent *agent_at(struct sim_world *w, int process)
{
    struct agents *a = w->agents;

    if ((size_t)process >= a->cap) {
        size_t cap = (size_t)process + 32;

        a->agents = xrealloc(a->agents, cap * sizeof *a->agents);
        memset(a->agents + a->cap, 0, (cap - a->cap) * sizeof *a->agents);
        a->cap = cap;
    }
    return &a->agents[process];
}

struct sim_run *run_at(struct sim_world *w, int process)
{
    int run = agent_at(w, process)->run;

    return run ? &w->agents->runs[run - 1] : NULL;
}

bool run_is_on(const struct sim_run *r)
{
    return r->phase == RUN_STARTING || r->phase == RUN_TRAINING || r->phase == RUN_STOPPING;
}

struct sim_run *run_with(struct sim_world *w, int process)
{
    for (size_t i = w->agents->n_runs; i > 0; i--) {
        struct sim_run *r = &w->agents->runs[i - 1];

        for (int k = 0; k < r->n && run_is_on(r); k++)
            if (r->hosts[k] == process)
                return r;
    }
    return NULL;
}

enum run_phase run_phase_of_job(struct sim_world *w, const char *uid)
{
    for (size_t i = w->agents->n_runs; i > 0; i--) {
        const struct sim_run *r = &w->agents->runs[i - 1];

        if (run_is_on(r) && strcmp(w->processes[r->hosts[0]].job_uid, uid) == 0)
            return r->phase;
    }
    return RUN_NONE;
}

static bool hear_each_other(const struct sim_world *w, const struct sim_process *p,
                            const struct sim_process *q)
{
    return p->node == q->node || (!w->nodes[p->node].down && !w->nodes[q->node].down);
}

bool run_is_broken(const struct sim_world *w, const struct sim_run *r, bool *dead)
{
    bool broken = false;

    for (int i = 0; i < r->n; i++) {
        const struct sim_process *p = &w->processes[r->hosts[i]];

        broken = broken || !p->running || !hear_each_other(w, &w->processes[r->hosts[0]], p);
        if (dead && !p->running)
            *dead = true;
    }
    return broken;
}

bool run_is_stuck(const struct sim_world *w, const struct sim_run *r)
{
    return r->stuck_ms && w->now_ms >= r->stuck_ms;
}

static bool is_before_switch(const struct sim_run *r) { return r->switch_step && !r->switched; }

static void on_run(struct sim_world *w, int64_t id);
#define EPOCHS 65536

/* The next time at which something is due. */
static void wake(struct sim_world *w, struct sim_run *r)
{
    int64_t at = r->due_ms;

    if (!run_is_on(r))
        return;
    if (run_is_stuck(w, r) && r->phase != RUN_STOPPING) {
        at = INT64_MAX; /* until it is ended */
    } else if (r->phase == RUN_TRAINING) {
        at = r->told_ms;
        if (r->total && r->mark_ms + (r->total - r->step) * r->step_ms < at)
            at = r->mark_ms + (r->total - r->step) * r->step_ms;
        if (is_before_switch(r) && r->mark_ms + (r->switch_step - r->step) * r->step_ms < at)
            at = r->mark_ms + (r->switch_step - r->step) * r->step_ms;
    }
    if (r->fails_ms && r->fails_ms < at)
        at = r->fails_ms;
    if (r->stalled_ms)
        at = r->lost_ms;
    if (at == INT64_MAX)
        return;
    world_after(w, at - w->now_ms, on_run, (r - w->agents->runs) * EPOCHS + ++r->epoch);
}

/* Steps and checkpoints up to now: those of pod 0 and of one other. */
static void settle(struct sim_world *w, struct sim_run *r)
{
    int64_t kept, now = w->now_ms;

    if (r->phase != RUN_TRAINING || r->stalled_ms)
        return;
    if (run_is_stuck(w, r))
        now = r->stuck_ms < r->mark_ms ? r->mark_ms : r->stuck_ms;
    r->step += (now - r->mark_ms) / r->step_ms;
    r->mark_ms += (now - r->mark_ms) / r->step_ms * r->step_ms;
    if (r->total && r->step > r->total)
        r->step = r->total;
    if (is_before_switch(r) && r->step > r->switch_step)
        r->step = r->switch_step;
    if (r->foreign)
        return;
    kept = r->step - r->step % r->interval;
    for (int i = 0; i < r->n && i < 2; i++)
        if (agent_at(w, r->hosts[i])->copy < kept)
            agent_at(w, r->hosts[i])->copy = kept;
    launches_reached(w, r);
}

cJSON *run_message(struct sim_world *w, const struct sim_run *r)
{
    cJSON *m = cJSON_CreateObject(), *pods;

    val_set_str(m, "type", "run");
    val_set_int(m, "generation", r->generation);
    pods = cJSON_AddArrayToObject(m, "pods");
    for (int i = 0; i < r->n; i++)
        cJSON_AddItemToArray(pods, cJSON_CreateString(w->processes[r->hosts[i]].name));
    val_set_str(m, "phase", run_phase_names[r->phase]);
    val_set_str(m, "stage", r->phase == RUN_STARTING ? stages[r->stage] : "");
    val_set_int(m, "step", r->foreign ? 0 : r->step);
    val_set_int(m, "exit", r->exit_code);
    val_set_str(m, "message", r->message);
    if (r->phase == RUN_STOPPED && r->relaunch)
        val_set(m, "relaunch", cJSON_CreateBool(true));
    if (r->phase == RUN_DONE && r->tells) {
        cJSON *record = cJSON_AddObjectToObject(m, "record");

        val_set_str(record, "uid", w->processes[r->hosts[0]].job_uid);
        val_set_int(record, "generation", r->generation);
        if (r->foreign)
            return m;
        val_set_int(record, "step", r->step);
        val_set_str(record, "digest", "00ff");
    }
    return m;
}

/* The message, and in it the event. */
static cJSON *event_of(const struct sim_run *r, const char *name, cJSON **event)
{
    cJSON *m = cJSON_CreateObject();

    val_set_str(m, "type", "event");
    val_set_int(m, "generation", r->generation);
    *event = cJSON_AddObjectToObject(m, "event");
    val_set_str(*event, "event", name);
    return m;
}

static void add_switch(const struct sim_run *r, cJSON *to)
{
    val_set_int(to, "epoch", 1);
    val_set_int(to, "step", r->switch_step);
    val_set_str(to, "reason", "epoch");
}

cJSON *run_started(const struct sim_run *r)
{
    cJSON *event, *m = event_of(r, "start", &event), *s;
    bool fired = r->from >= r->switch_step;

    val_set_int(event, "resumedStep", r->from);
    if (!r->switch_step)
        return m;
    s = cJSON_AddObjectToObject(event, "switch");
    val_set(s, "fired", cJSON_CreateBool(fired));
    if (fired)
        add_switch(r, s);
    return m;
}

cJSON *run_switched(const struct sim_run *r)
{
    cJSON *event, *m = event_of(r, "switch", &event);

    add_switch(r, event);
    if (r->relaunch)
        val_set(event, "relaunch", cJSON_CreateBool(true));
    else
        cJSON_AddNumberToObject(event, "seconds", 0.25);
    return m;
}

cJSON *run_progress(const struct sim_run *r)
{
    bool epoch = r->step % 3 == 0;
    cJSON *event, *m = event_of(r, epoch ? "epoch" : "progress", &event);

    val_set_int(event, "step", r->step);
    val_set_int(event, "epoch", r->step / 100);
    val_set_int(event, "samplesPerSecond", 1000 * r->n);
    return m;
}

static void tell(struct sim_world *w, const struct sim_run *r)
{
    const struct sim_process *chief = &w->processes[r->hosts[0]];

    world_trace(w, "%s run %lld: %s %s step %lld %s", chief->name, (long long)r->generation,
                run_phase_names[r->phase], r->phase == RUN_STARTING ? stages[r->stage] : "",
                (long long)r->step, r->message);
    agent_say(w, r->hosts[0], run_message(w, r));
}

static void on_exit_code(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id];
    const struct sim_run *r = run_at(w, (int)id);

    if (p->running && r && (r->phase == RUN_DONE || r->phase == RUN_FAILED))
        kubelet_stop(w, p, r->exit_code);
}

bool run_is_kept(struct sim_world *w, const struct sim_process *p)
{
    const struct sim_run *r = p->running ? run_at(w, (int)(p - w->processes)) : NULL;

    return r && r->phase == RUN_DONE && r->tells && !r->foreign;
}

/* The agent ends: at once, or when its model was fetched or the time for that is over. */
static void leave(struct sim_world *w, const struct sim_run *r)
{
    const struct sim_process *chief = &w->processes[r->hosts[0]];
    const struct store_object *job = store_find_uid(&w->api.store, KIND_JOB, chief->job_uid);
    int64_t keep_ms = job && run_is_kept(w, chief) ? 1000 * job_keep_s(job->v->json) : 0;

    if (r->hangs && run_is_kept(w, chief))
        return;
    if (r->fetched_ms >= 0 && r->fetched_ms < keep_ms)
        keep_ms = r->fetched_ms;
    world_after(w, keep_ms + random_range(&w->schedule, 1, 2000), on_exit_code, r->hosts[0]);
}

/* With an exit code below 128 that trying again cannot mend, or after success, the agent ends. */
static void end(struct sim_world *w, struct sim_run *r, enum run_phase phase, int code,
                const char *why)
{
    r->phase = phase;
    r->exit_code = code;
    snprintf(r->message, sizeof r->message, "%s", why);
    if (phase != RUN_DONE)
        launches_run_over(w, r);
    if (phase == RUN_DONE && r->tells)
        truth_of(w, w->processes[r->hosts[0]].job_uid)->said_done = true;
    tell(w, r);
    if (phase == RUN_DONE || code == 3)
        leave(w, r);
}

/* Every pod starts its daemon, unless it knows of a newer run. */
static bool taken_by_all(struct sim_world *w, struct sim_run *r)
{
    for (int i = 1; i < r->n; i++) {
        struct sim_agent *peer = agent_at(w, r->hosts[i]);

        if (peer->seen >= r->generation)
            return false;
        peer->seen = r->generation;
    }
    r->taken = true;
    launches_run_taken(w, r);
    return true;
}

/* From the newest checkpoint that one of its pods has. */
static void resume(struct sim_world *w, struct sim_run *r)
{
    for (int i = 0; i < r->n; i++)
        if (agent_at(w, r->hosts[i])->copy > r->step)
            r->step = agent_at(w, r->hosts[i])->copy;
    r->from = r->step;
    r->switched = r->switch_step && r->from >= r->switch_step;
    r->relaunch = r->relaunch && !r->switched;
    launches_run_resumed(w, r);
}

static void start_on(struct sim_world *w, struct sim_run *r)
{
    if (r->stage == 0 && !taken_by_all(w, r)) {
        end(w, r, RUN_FAILED, 1, "a pod has seen a newer generation");
        return;
    }
    if (++r->stage == 1 && !r->foreign)
        resume(w, r);
    if (r->foreign)
        r->stage = RUN_STAGES;
    if (r->stage == RUN_STAGES) {
        r->phase = RUN_TRAINING;
        r->mark_ms = w->now_ms;
        r->told_ms = w->now_ms + random_range(&w->schedule, 100, 3000);
    }
    r->due_ms = w->now_ms + random_range(&w->schedule, 20, 1500);
    tell(w, r);
    if (r->phase == RUN_TRAINING && !r->foreign)
        agent_say(w, r->hosts[0], run_started(r));
}

static void stopped(struct sim_world *w, struct sim_run *r)
{
    for (int i = 0; i < r->n && i < 2 && !r->foreign; i++)
        if (agent_at(w, r->hosts[i])->copy < r->step)
            agent_at(w, r->hosts[i])->copy = r->step;
    end(w, r, RUN_STOPPED, 0, "");
}

/* The strategy changes, in the running world or by a launch. */
static void change_strategy(struct sim_world *w, struct sim_run *r)
{
    r->switched = true;
    w->stats->switches++;
    agent_say(w, r->hosts[0], run_switched(r));
    if (r->relaunch)
        stopped(w, r);
}

static void proceed(struct sim_world *w, struct sim_run *r)
{
    settle(w, r);
    if (r->stalled_ms) {
        if (w->now_ms >= r->lost_ms)
            end(w, r, RUN_FAILED, 137, "a pod was lost");
    } else if (r->fails_ms && w->now_ms >= r->fails_ms) {
        end(w, r, RUN_FAILED, r->exit_code, "the engine failed");
    } else if (run_is_stuck(w, r) && r->phase != RUN_STOPPING) {
        world_trace(w, "run %lld hangs", (long long)r->generation);
    } else if (r->phase == RUN_TRAINING) {
        if (r->total && r->step >= r->total) {
            end(w, r, RUN_DONE, 0, "");
        } else if (is_before_switch(r) && r->step >= r->switch_step) {
            change_strategy(w, r);
        } else if (w->now_ms >= r->told_ms) {
            r->told_ms = w->now_ms + random_range(&w->schedule, 500, 8000);
            if (!r->foreign)
                agent_say(w, r->hosts[0], run_progress(r));
        }
    } else if (w->now_ms >= r->due_ms) {
        if (r->phase == RUN_STARTING)
            start_on(w, r);
        else if (run_is_stuck(w, r))
            end(w, r, RUN_FAILED, 137, "it did not stop within its grace period");
        else
            stopped(w, r);
    }
    wake(w, r);
}

static void on_run(struct sim_world *w, int64_t id)
{
    struct sim_run *r = &w->agents->runs[id / EPOCHS];

    if (r->epoch == id % EPOCHS && run_is_on(r))
        proceed(w, r);
}

static void watch_pods(struct sim_world *w, struct sim_run *r)
{
    bool dead = false, broken = run_is_broken(w, r, &dead);

    if (!w->processes[r->hosts[0]].running) { /* nobody is left to tell */
        settle(w, r);
        r->phase = RUN_FAILED;
        launches_run_over(w, r);
    } else if (broken && !r->stalled_ms) {
        settle(w, r);
        r->stalled_ms = w->now_ms;
        r->lost_ms = w->now_ms + (dead ? random_range(&w->schedule, 50, 2000) : SILENCE_MS);
        wake(w, r);
    } else if (!broken && r->stalled_ms) {
        r->mark_ms += w->now_ms - r->stalled_ms;
        r->due_ms += w->now_ms - r->stalled_ms;
        r->stalled_ms = 0;
        wake(w, r);
    }
}

void runs_each_event(struct sim_world *w)
{
    for (size_t i = 0; i < w->agents->n_runs; i++)
        if (run_is_on(&w->agents->runs[i]))
            watch_pods(w, &w->agents->runs[i]);
}

static struct sim_run *run_new(struct agents *a)
{
    if (a->n_runs == a->cap_runs) {
        a->cap_runs += 16;
        a->runs = xrealloc(a->runs, a->cap_runs * sizeof *a->runs);
    }
    return &a->runs[a->n_runs++];
}

void run_begin(struct sim_world *w, int chief, const cJSON *message)
{
    struct sim_agent *agent = agent_at(w, chief);
    const cJSON *hosts = val_get(message, "hosts", NULL), *host;
    struct run_fate fate = scenario_run(w, &w->processes[chief], val_int(message, "generation"));
    struct sim_run *r = run_at(w, chief);

    if (r && run_is_on(r)) {
        settle(w, r);
        r->phase = RUN_FAILED;
        if (!run_is_broken(w, r, NULL))
            world_fail(w, "%s: run %lld was killed by the launch of %lld", w->processes[chief].name,
                       (long long)r->generation, (long long)val_int(message, "generation"));
    }
    r = run_new(w->agents);
    *r = (struct sim_run){.generation = val_int(message, "generation"),
                          .phase = RUN_STARTING,
                          .servers =
                              (int)val_int(message, "job", "spec", "replicas", "ps", "replicas"),
                          .total = fate.steps,
                          .step_ms = fate.step_ms,
                          .interval = fate.interval,
                          .switch_step = fate.switch_step,
                          .relaunch = fate.relaunch,
                          .exit_code = fate.exit_code,
                          .tells = fate.tells,
                          .foreign = fate.foreign,
                          .hangs = fate.hangs,
                          .fetched_ms = fate.fetched_ms,
                          .fails_ms = fate.fails_ms ? w->now_ms + fate.fails_ms : 0,
                          .stuck_ms = fate.stuck_ms ? w->now_ms + fate.stuck_ms : 0,
                          .due_ms = w->now_ms + random_range(&w->schedule, 10, 800)};
    cJSON_ArrayForEach(host, hosts)
    {
        if (r->n < MAX_HOSTS)
            r->hosts[r->n++] = process_at(w, val_str(host, "address"));
    }
    agent->seen = r->generation;
    agent->run = (int)w->agents->n_runs;
    tell(w, r);
    wake(w, r);
}

void run_stop(struct sim_world *w, int chief, int64_t generation)
{
    struct sim_run *r = run_at(w, chief);

    if (!r || r->generation != generation || !run_is_on(r) || r->phase == RUN_STOPPING)
        return;
    settle(w, r);
    r->phase = RUN_STOPPING;
    r->due_ms = w->now_ms + (run_is_stuck(w, r) ? 25000 : random_range(&w->schedule, 20, 6000));
    tell(w, r);
    wake(w, r);
}

void run_kill(struct sim_world *w, int chief, int64_t generation)
{
    struct sim_run *r = run_at(w, chief);

    if (!r || r->generation != generation || !run_is_on(r))
        return;
    settle(w, r);
    if (!run_is_stuck(w, r))
        world_fail(w, "%s: run %lld was killed and makes progress", w->processes[chief].name,
                   (long long)generation);
    end(w, r, RUN_FAILED, 137, "it was killed");
}
