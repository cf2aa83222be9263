#include "tests/sim/world.h"

#include <stdarg.h>

#include "paceline/mem.h"
#include "tests/sim/agents.h"
#include "tests/sim/value.h"

const char *const fault_names[N_FAULTS] = {
    [FAULT_CONFLICT] = "409",
    [FAULT_GONE] = "410",
    [FAULT_BUSY] = "429",
    [FAULT_ERROR] = "500",
    [FAULT_FORBIDDEN] = "403",
    [FAULT_LOST] = "answer-lost",
    [FAULT_REFUSED] = "reset",
    [FAULT_SLOW] = "slow-answer",
    [FAULT_LATE] = "late-request",
    [FAULT_TIMEOUT] = "time-out",
    [FAULT_WATCH_CUT] = "watch-cut",
    [FAULT_WATCH_HALF] = "watch-half-closed",
    [FAULT_WATCH_STALL] = "watch-stalled",
    [FAULT_WATCH_LAG] = "watch-lag",
    [FAULT_COMPACT] = "compaction",
    [FAULT_KILL] = "kill",
    [FAULT_KILL_INSIDE] = "kill-inside",
    [FAULT_STOP] = "graceful-stop",
    [FAULT_PAUSE] = "pause",
    [FAULT_FREEZE] = "freeze-inside",
    [FAULT_STEAL] = "lease-stolen",
    [FAULT_CLOCK_FORWARD] = "clock-forward",
    [FAULT_CLOCK_BACK] = "clock-back",
    [FAULT_QUOTA] = "quota",
    [FAULT_NODE_LOST] = "node-unreachable",
    [FAULT_NODE_DEAD] = "node-dead",
    [FAULT_EVICT] = "eviction",
    [FAULT_DRAIN] = "kubelet-eviction",
    [FAULT_LINK_CUT] = "link-cut",
    [FAULT_LINK_HALF] = "link-half-open",
    [FAULT_LINK_LAG] = "link-lag",
    [FAULT_LINK_PARTITION] = "link-partition",
    [FAULT_LINK_REFUSED] = "link-time-out",
    [FAULT_LAUNCH_KILL] = "kill-at-launch",
    [FAULT_USER_LABEL] = "user-label",
    [FAULT_USER_SCALE] = "user-scale",
    [FAULT_USER_SUSPEND] = "user-suspend",
    [FAULT_USER_RESUME] = "user-resume",
    [FAULT_USER_DELETE] = "user-delete",
    [FAULT_USER_CREATE] = "user-recreate",
    [FAULT_USER_POLICY] = "user-policy",
    [FAULT_USER_POD] = "user-pod-delete",
    [FAULT_USER_FORCE] = "user-pod-force",
    [FAULT_USER_STRIP] = "user-pod-strip",
    [FAULT_USER_OBJECT] = "user-object-delete",
};
const char *const situation_names[N_SITUATIONS] = {
    [AT_NO_LEADER] = "no-leader", [AT_NEW] = "new",
    [AT_OBJECTS] = "objects",     [AT_PODS] = "pods",
    [AT_RUNNING] = "running",     [AT_RESTARTING] = "restarting",
    [AT_LAUNCHING] = "launching", [AT_TRAINING] = "training",
    [AT_STOPPING] = "stopping",   [AT_SUSPENDED] = "suspended",
    [AT_SUCCEEDED] = "succeeded", [AT_FAILED] = "failed",
    [AT_DELETING] = "deleting",   [AT_GONE] = "gone",
};

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void world_after(struct sim_world *w, int64_t delay_ms, event_fn *fn, int64_t id)
{
    struct sim_event e = {w->now_ms + (delay_ms > 0 ? delay_ms : 0), w->order++, fn, id};
    size_t i = w->n_heap++;

    if (i == w->cap_heap) {
        w->cap_heap = w->cap_heap ? w->cap_heap * 2 : 256;
        w->heap = xrealloc(w->heap, w->cap_heap * sizeof *w->heap);
    }
    for (; i > 0 && before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

static struct sim_event pop(struct sim_world *w)
{
    struct sim_event top = w->heap[0], last = w->heap[--w->n_heap];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < w->n_heap) {
        if (child + 1 < w->n_heap && before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

void world_trace(struct sim_world *w, const char *fmt, ...)
{
    char *line = w->trace[w->n_trace++ % TRACE_LINES];
    int64_t t = w->now_ms - w->start_ms;
    int n = snprintf(line, sizeof w->trace[0], "%5lld.%03lld  ", (long long)(t / 1000),
                     (long long)(t % 1000));
    va_list args;

    va_start(args, fmt);
    vsnprintf(line + n, sizeof w->trace[0] - (size_t)n, fmt, args);
    va_end(args);
    for (const char *c = line; *c; c++)
        w->hash = (w->hash ^ (unsigned char)*c) * 1099511628211u;
    if (w->verbose)
        puts(line);
}

void world_fail(struct sim_world *w, const char *fmt, ...)
{
    va_list args;

    if (w->failed)
        return;
    w->failed = true;
    va_start(args, fmt);
    vsnprintf(w->failure, sizeof w->failure, fmt, args);
    va_end(args);
    world_trace(w, "BROKEN: %s", w->failure);
}

static bool condition(const cJSON *job, const char *type)
{
    const cJSON *c;

    cJSON_ArrayForEach(c, val_get(job, "status", "conditions", NULL))
    {
        if (strcmp(val_str(c, "type"), type) == 0)
            return strcmp(val_str(c, "status"), "True") == 0;
    }
    return false;
}

static const enum situation of_phase[] = {
    [RUN_STARTING] = AT_LAUNCHING, [RUN_TRAINING] = AT_TRAINING, [RUN_STOPPING] = AT_STOPPING};

static enum situation situation_of(struct sim_world *w)
{
    static const struct {
        const char *condition;
        enum situation at;
    } table[] = {{"Succeeded", AT_SUCCEEDED},
                 {"Failed", AT_FAILED},
                 {"Suspended", AT_SUSPENDED},
                 {"Restarting", AT_RESTARTING},
                 {"Running", AT_RUNNING}};
    const struct job_plan *plan = &w->jobs[w->order % (uint64_t)w->n_jobs];
    const struct store_object *o = store_find(&w->api.store, KIND_JOB, plan->ns, plan->name);

    if (!operators_leader(w))
        return AT_NO_LEADER;
    if (!o)
        return AT_GONE;
    if (val_get(o->v->json, "metadata", "deletionTimestamp", NULL))
        return AT_DELETING;
    if (run_phase_of_job(w, o->uid))
        return of_phase[run_phase_of_job(w, o->uid)];
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (condition(o->v->json, table[i].condition))
            return table[i].at;
    }
    if (!condition(o->v->json, "Created"))
        return AT_NEW;
    for (size_t i = 0; i < tenant_others(w, KIND_POD); i++) {
        const char *owner = object_owner(w->api.store.objects[KIND_POD][i]->v->json);

        if (owner && strcmp(owner, o->uid) == 0)
            return AT_PODS;
    }
    return AT_OBJECTS;
}

void world_fault(struct sim_world *w, enum fault fault)
{
    enum situation at = situation_of(w);

    w->stats->cells[fault][at]++;
    world_trace(w, "FAULT %s (%s)", fault_names[fault], situation_names[at]);
}

static void changed(void *arg, const struct store_object *o, const cJSON *prev, const cJSON *next)
{
    struct sim_world *w = arg;

    network_changed(w, o->kind);
    truth_changed(w, o, prev, next);
    if (o->kind == KIND_POD && !tenant_owns(o)) /* no node takes a pod of the tenant */
        kubelet_pod_changed(w, o, prev, next);
    gc_changed(w, o, prev, next);
}

/* Faults end: what was broken works again, and only then things must settle. */
static void become_quiet(struct sim_world *w, int64_t id)
{
    (void)id;
    world_trace(w, "quiet: faults end");
    w->quiet = true;
    w->quiet_ms = w->now_ms;
    w->api.forbid_pods = NULL;
    for (int i = 0; i < N_NODES; i++) {
        if (i == 0 && random_chance(&w->schedule, 500))
            w->nodes[i].forever = w->nodes[i].down; /* never seen again */
        if (w->nodes[i].down)
            node_return(w, i + w->nodes[i].epoch * N_NODES);
    }
    operators_heal(w);
    network_heal(w);
    agents_heal(w);
}

#define SETTLE_MS 900000         /* the longest back-off is 300 s */
#define CALM_MS 65000            /* the operator's requests are counted for so long */
#define CALM_REQUESTS 30         /* watches that end anyway */
#define CALM_TENANT_REQUESTS 650 /* ten a second for jobs whose names are taken */

static void look(struct sim_world *w, int64_t id)
{
    const char *why;

    if (!w->quiet) {
        world_after(w, 1000, look, id);
        return;
    }
    why = truth_unsettled(w);
    if (why) {
        w->settled_ms = 0;
        if (w->now_ms - w->quiet_ms > SETTLE_MS)
            world_fail(w, "does not settle: %s", why);
    } else if (!w->settled_ms) {
        world_trace(w, "settled");
        w->settled_ms = w->now_ms;
        w->settled_requests = w->n_requests;
        w->settled_tenant_requests = w->n_tenant_requests;
        w->settled_said = w->agents->n_said;
    } else if (w->now_ms - w->settled_ms >= CALM_MS) {
        w->done = true;
        w->stats->running += truth_running(w);
        if (w->n_requests - w->settled_requests >
            CALM_REQUESTS + w->agents->n_said - w->settled_said)
            world_fail(w, "%llu requests in %d s though nothing changes",
                       (unsigned long long)(w->n_requests - w->settled_requests), CALM_MS / 1000);
        if (w->n_tenant_requests - w->settled_tenant_requests > CALM_TENANT_REQUESTS)
            world_fail(w, "%llu requests in %d s for what a tenant left",
                       (unsigned long long)(w->n_tenant_requests - w->settled_tenant_requests),
                       CALM_MS / 1000);
    }
    world_after(w, 1000, look, id);
}

void world_init(struct sim_world *w, uint64_t seed, bool verbose, struct stats *stats)
{
    struct random clocks = {.state = seed * 4};

    *w = (struct sim_world){.seed = seed, .verbose = verbose, .stats = stats};
    w->schedule.state = seed * 4 + 1;
    w->faults.state = seed * 4 + 2;
    w->user.state = seed * 4 + 3;
    w->tenant.state = ~seed;
    random_next(&w->schedule);
    for (int i = 0; i < N_NODES; i++)
        w->nodes[i].skew_ms = random_range(&clocks, -MAX_SKEW_MS, MAX_SKEW_MS);
    w->hash = 14695981039346656037u;
    w->start_ms = 1800000000000 + random_range(&w->schedule, 0, 999);
    w->now_ms = w->start_ms;
    /* Versions grow by a digit or two in every history. */
    api_init(&w->api, random_range(&w->schedule, 80, 99), seed << 20);
    w->api.store.changed = changed;
    w->api.store.arg = w;
    w->api.store.now_ms = w->now_ms;
    truth_new(w);
    agents_new(w);
    scenario_make(w);
    operators_start(w);
    faults_start(w);
    world_after(w, w->quiet_ms, become_quiet, 0);
    world_after(w, 1000, look, 0);
}

bool world_run(struct sim_world *w)
{
    while (!w->failed && !w->done && w->n_heap) {
        struct sim_event e = pop(w);

        w->now_ms = e.at;
        w->api.store.now_ms = e.at;
        w->actor = ACTOR_CLUSTER;
        w->actor_late = false;
        w->stats->events++;
        e.fn(w, e.id);
        agents_each_event(w);
        truth_each_event(w);
        if (++w->n_events > 100000)
            world_fail(w, "too many events: something runs in circles");
    }
    w->stats->seeds++;
    w->stats->requests += w->n_requests;
    w->stats->pods += w->n_processes;
    w->stats->failures += w->failed;
    return !w->failed;
}

void world_release(struct sim_world *w)
{
    operators_release(w);
    network_release(w);
    scenario_release(w);
    agents_free(w);
    truth_free(w);
    api_release(&w->api);
    free(w->processes);
    free(w->heap);
}
