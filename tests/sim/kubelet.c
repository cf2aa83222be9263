/* The scheduler and the kubelets: what pods really do, and what of it gets into their status. */
#include "paceline/mem.h"
#include "tests/sim/agents.h"
#include "tests/sim/value.h"
#include "tests/sim/world.h"

static void on_report(struct sim_world *w, int64_t id);
static void on_start(struct sim_world *w, int64_t id);
static void on_kill(struct sim_world *w, int64_t id);

struct sim_process *process_find(struct sim_world *w, const char *uid)
{
    for (size_t i = w->n_processes; i > 0; i--) {
        if (strcmp(w->processes[i - 1].uid, uid) == 0)
            return &w->processes[i - 1];
    }
    return NULL;
}

/* An address is never used again. */
static void address_of(char *out, size_t size, int node, int64_t id)
{
    snprintf(out, size, "10.%d.%d.%d", node, (int)(id / 250), (int)(id % 250) + 1);
}

int process_at(const struct sim_world *w, const char *address)
{
    for (size_t i = 0; i < w->n_processes; i++) {
        char own[32];

        address_of(own, sizeof own, w->processes[i].node, (int64_t)i);
        if (w->processes[i].started_ms && strcmp(own, address) == 0)
            return (int)i;
    }
    return -1;
}

static int64_t id_of(const struct sim_world *w, const struct sim_process *p)
{
    return p - w->processes;
}

static struct store_object *object_of(struct sim_world *w, const struct sim_process *p)
{
    struct store_object *o = p->gone ? NULL : store_find(&w->api.store, KIND_POD, p->ns, p->name);

    return o && strcmp(o->uid, p->uid) == 0 ? o : NULL;
}

static bool unreachable(const struct sim_world *w, const struct sim_process *p)
{
    return p->node >= 0 && w->nodes[p->node].down;
}

void pod_set_condition(struct sim_world *w, cJSON *status, const char *type, bool value,
                       const char *reason)
{
    cJSON *list = val_get(status, "conditions", NULL), *item, *found = NULL;

    if (!list)
        list = cJSON_AddArrayToObject(status, "conditions");
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(val_str(item, "type"), type) == 0)
            found = item;
    }
    if (!found) {
        found = cJSON_CreateObject();
        cJSON_AddItemToArray(list, found);
        val_set_str(found, "type", type);
    }
    if (val_str(found, "status") && !strcmp(val_str(found, "status"), value ? "True" : "False"))
        return;
    val_set_str(found, "status", value ? "True" : "False");
    val_set_str(found, "reason", reason);
    val_set(found, "lastTransitionTime", val_time(w->now_ms));
}

static int64_t node_skew_ms(const struct sim_world *w, const struct sim_process *p)
{
    return p->node >= 0 ? w->nodes[p->node].skew_ms : 0;
}

/* containerStatuses[].state of the record, in the node's time. */
static cJSON *container_state(const struct sim_process *p, int64_t skew_ms)
{
    cJSON *state = cJSON_CreateObject(), *inner;

    if (p->running) {
        inner = cJSON_AddObjectToObject(state, "running");
        val_set(inner, "startedAt", val_time(p->started_ms + skew_ms));
    } else if (p->state == POD_AT_WAITING) {
        inner = cJSON_AddObjectToObject(state, "waiting");
        val_set_str(inner, "reason", "CrashLoopBackOff");
    } else if (p->started_ms || p->state == POD_AT_ENDED) {
        inner = cJSON_AddObjectToObject(state, "terminated");
        val_set_int(inner, "exitCode", p->exit_code);
        val_set_str(inner, "reason", p->exit_code ? "Error" : "Completed");
        if (p->started_ms) {
            val_set(inner, "startedAt", val_time(p->started_ms + skew_ms));
            val_set(inner, "finishedAt", val_time(p->ended_ms + skew_ms));
        }
    } else {
        inner = cJSON_AddObjectToObject(state, "waiting");
        val_set_str(inner, "reason", "ContainerCreating");
    }
    return state;
}

static void write_status(struct sim_world *w, const struct sim_process *p, cJSON *json)
{
    cJSON *status = val_object(json, "status"), *list, *container;
    const char *name = cJSON_GetStringValue(
        val_get(cJSON_GetArrayItem(val_get(json, "spec", "containers", NULL), 0), "name", NULL));
    bool ended = p->state == POD_AT_ENDED;
    char ip[32];

    val_set_str(status, "phase",
                ended           ? (p->exit_code || p->evicted ? "Failed" : "Succeeded")
                : p->started_ms ? "Running"
                                : "Pending");
    if (p->evicted) {
        val_set_str(status, "reason", "Evicted");
        val_set_str(status, "message", "The node was low on resource: memory.");
    }
    if (p->started_ms) {
        address_of(ip, sizeof ip, p->node, id_of(w, p));
        val_set_str(status, "podIP", ip);
        if (!val_get(status, "startTime", NULL))
            val_set(status, "startTime", val_time(p->started_ms + node_skew_ms(w, p)));
    }
    pod_set_condition(w, status, "Ready", p->running && !p->asked_ms, NULL);
    list = cJSON_CreateArray();
    container = cJSON_CreateObject();
    cJSON_AddItemToArray(list, container);
    val_set_str(container, "name", name);
    val_set(container, "ready", cJSON_CreateBool(p->running));
    val_set_int(container, "restartCount", p->restarts);
    val_set(container, "state", container_state(p, node_skew_ms(w, p)));
    val_set(status, "containerStatuses", list);
}

static void report_soon(struct sim_world *w, const struct sim_process *p)
{
    world_after(w, random_range(&w->schedule, 1, 300), on_report, id_of(w, p));
}

static void on_final(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id];
    struct store_object *o = object_of(w, p);

    if (!o || unreachable(w, p))
        return;
    w->actor = ACTOR_KUBELET;
    store_delete(&w->api.store, o, 0, false);
}

static void on_report(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id];
    struct store_object *o = object_of(w, p);
    cJSON *json;

    if (!o || unreachable(w, p))
        return;
    w->actor = ACTOR_KUBELET;
    json = store_edit(o);
    write_status(w, p, json);
    store_update(&w->api.store, o, json);
    if (p->state == POD_AT_ENDED && p->asked_ms)
        world_after(w, random_range(&w->schedule, 1, 200), on_final, id);
}

/* By policy of the pod: whether the kubelet starts the container again. */
static bool restarts_in_place(struct sim_world *w, const struct sim_process *p)
{
    const struct store_object *o = object_of(w, p);
    const char *policy = o ? val_str(o->v->json, "spec", "restartPolicy") : NULL;

    if (p->asked_ms || !policy || p->evicted)
        return false;
    return strcmp(policy, "Always") == 0 || (strcmp(policy, "OnFailure") == 0 && p->exit_code != 0);
}

static void on_restart(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id];

    if (p->state != POD_AT_WAITING || p->asked_ms)
        return;
    if (unreachable(w, p)) {
        world_after(w, 1000, on_restart, id);
        return;
    }
    p->restarts++;
    p->state = POD_AT_BOUND;
    on_start(w, id);
}

void kubelet_stop(struct sim_world *w, struct sim_process *p, int exit_code)
{
    if (!p->running)
        return;
    p->running = false;
    p->epoch++;
    p->ended_ms = w->now_ms;
    p->exit_code = exit_code;
    world_trace(w, "%s exits with %d", p->name, exit_code);
    if (p->gone)
        return;
    if (restarts_in_place(w, p)) {
        p->state = POD_AT_WAITING;
        world_after(w, random_range(&w->schedule, 500, 5000) * (1 + p->restarts), on_restart,
                    id_of(w, p));
    } else {
        p->state = POD_AT_ENDED;
    }
    report_soon(w, p);
}

/* Timers of a run carry its epoch, so that those of an earlier one do nothing. */
#define EPOCHS 4096
static void run_timer(struct sim_world *w, const struct sim_process *p, int64_t ms, event_fn *fn)
{
    world_after(w, ms, fn, id_of(w, p) * EPOCHS + p->epoch);
}

static struct sim_process *of_timer(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id / EPOCHS];

    return p->epoch == id % EPOCHS && p->running ? p : NULL;
}

static void on_exit_by_itself(struct sim_world *w, int64_t id)
{
    struct sim_process *p = of_timer(w, id);

    if (p)
        kubelet_stop(w, p, scenario_fate(w, p).exit_code);
}

static void on_stopped(struct sim_world *w, int64_t id)
{
    struct sim_process *p = of_timer(w, id);

    if (p)
        kubelet_stop(w, p, scenario_fate(w, p).stop_code);
}

static void on_sigkill(struct sim_world *w, int64_t id)
{
    struct sim_process *p = of_timer(w, id);

    if (p)
        kubelet_stop(w, p, 137);
}

/* Whether all Secrets that its volumes are made of are there. */
static bool has_secrets(struct sim_world *w, const struct sim_process *p)
{
    const struct store_object *o = object_of(w, p);
    const cJSON *volumes = o ? val_get(o->v->json, "spec", "volumes", NULL) : NULL, *volume;

    cJSON_ArrayForEach(volume, volumes)
    {
        const char *name = val_str(volume, "secret", "secretName");

        if (name && !store_find(&w->api.store, KIND_SECRET, p->ns, name))
            return false;
    }
    return true;
}

static void on_start(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id];
    struct sim_fate fate;

    if (p->state != POD_AT_BOUND || p->gone || p->asked_ms)
        return;
    if (unreachable(w, p) || !has_secrets(w, p)) {
        world_after(w, 1000, on_start, id);
        return;
    }
    p->attempt = 0;
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *q = &w->processes[i];

        if (q->role == p->role && q->index == p->index && strcmp(q->job_uid, p->job_uid) == 0 &&
            q->started_ms)
            p->attempt += 1 + q->restarts - (q == p);
    }
    p->state = POD_AT_RUNNING;
    p->running = true;
    p->started_ms = w->now_ms;
    p->epoch++;
    world_trace(w, "%s runs on node %d", p->name, p->node);
    truth_started(w, p);
    fate = scenario_fate(w, p);
    if (fate.run_ms >= 0)
        run_timer(w, p, fate.run_ms, on_exit_by_itself);
    report_soon(w, p);
}

/* Whether the gang that its scheduler counts it to is there. */
static bool has_group(struct sim_world *w, const struct store_object *pod)
{
    const cJSON *meta = val_get(pod->v->json, "metadata", NULL);
    const cJSON *volcano = cJSON_GetObjectItemCaseSensitive(val_get(meta, "annotations", NULL),
                                                            "scheduling.k8s.io/group-name");
    const cJSON *plugins = cJSON_GetObjectItemCaseSensitive(val_get(meta, "labels", NULL),
                                                            "scheduling.x-k8s.io/pod-group");
    const struct store *s = &w->api.store;

    return (!volcano || store_find(s, KIND_VOLCANO_GROUP, pod->ns, volcano->valuestring)) &&
           (!plugins || store_find(s, KIND_SCHEDULER_GROUP, pod->ns, plugins->valuestring));
}

/* A volume is not there yet: only an event tells. */
static void on_unmounted(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id];
    cJSON *event, *about;
    char name[160];

    if (!object_of(w, p) || unreachable(w, p))
        return;
    w->actor = ACTOR_KUBELET;
    event = cJSON_CreateObject();
    snprintf(name, sizeof name, "%s.%lld", p->name, (long long)w->now_ms);
    val_set_str(val_object(event, "metadata"), "namespace", p->ns);
    val_set_str(val_object(event, "metadata"), "name", name);
    about = cJSON_AddObjectToObject(event, "involvedObject");
    val_set_str(about, "kind", "Pod");
    val_set_str(about, "name", p->name);
    val_set_str(about, "uid", p->uid);
    val_set_str(event, "type", "Warning");
    val_set_str(event, "reason", "FailedMount");
    val_set_str(event, "message", p->name);
    val_set(event, "lastTimestamp", val_time(w->now_ms));
    store_create(&w->api.store, KIND_EVENT, event, NULL);
}

static void on_schedule(struct sim_world *w, int64_t id);

static bool has_room(const struct sim_world *w, const struct sim_process *p)
{
    int64_t placed = 0;

    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *q = &w->processes[i];

        placed += q->node >= 0 && !q->lost_ms &&
                  (q->running || (!q->gone && q->state != POD_AT_ENDED)) &&
                  strcmp(q->job, p->job) == 0;
    }
    return placed < scenario_room(w, p->job);
}

/* The scheduler says so once, and looks again. */
static void find_none(struct sim_world *w, struct store_object *o, int64_t id)
{
    cJSON *json;

    world_after(w, random_range(&w->schedule, 500, 1500), on_schedule, id);
    if (val_get(o->v->json, "status", "conditions", NULL))
        return;
    w->actor = ACTOR_CLUSTER;
    json = store_edit(o);
    pod_set_condition(w, val_object(json, "status"), "PodScheduled", false, "Unschedulable");
    store_update(&w->api.store, o, json);
}

static void on_schedule(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id];
    struct store_object *o = object_of(w, p);
    int node = (int)random_range(&w->schedule, 0, N_NODES - 1);
    int64_t unmounted_ms = scenario_unmounted_ms(w, p);
    char name[16];
    cJSON *json;

    if (!o || p->node >= 0 || p->asked_ms)
        return;
    if (w->nodes[node].down || !has_group(w, o)) {
        world_after(w, 1000, on_schedule, id);
        return;
    }
    if (!has_room(w, p)) {
        find_none(w, o, id);
        return;
    }
    launches_pod_placed(w, p);
    w->actor = ACTOR_CLUSTER;
    p->node = node;
    p->state = POD_AT_BOUND;
    json = store_edit(o);
    snprintf(name, sizeof name, "node-%d", node);
    val_set_str(val_object(json, "spec"), "nodeName", name);
    pod_set_condition(w, val_object(json, "status"), "PodScheduled", true, NULL);
    store_update(&w->api.store, o, json);
    world_after(w, random_range(&w->schedule, 20, 900) + unmounted_ms, on_start, id);
    if (unmounted_ms)
        world_after(w, 500, on_unmounted, id);
}

/* The kubelet sees that the pod is being deleted. */
static void on_kill(struct sim_world *w, int64_t id)
{
    struct sim_process *p = &w->processes[id];
    const struct store_object *o = object_of(w, p);
    struct sim_fate fate;
    int64_t grace;

    if (unreachable(w, p))
        return;
    if (!o) { /* the object is gone: so goes what is left of it */
        if (p->running)
            kubelet_stop(w, p, 137);
        return;
    }
    if (!p->running) {
        if (p->state != POD_AT_ENDED) {
            p->exit_code = p->started_ms ? p->exit_code : 137;
            p->state = POD_AT_ENDED;
        }
        report_soon(w, p);
        return;
    }
    fate = scenario_fate(w, p);
    grace = val_int(o->v->json, "metadata", "deletionGracePeriodSeconds") * 1000;
    if (fate.stop_ms >= 0 && fate.stop_ms < grace)
        run_timer(w, p, fate.stop_ms, on_stopped);
    run_timer(w, p, grace > 0 ? grace : 10, on_sigkill);
}

static enum cluster_role role_of(const char *name)
{
    int role = 0;

    while (role < N_CLUSTER_ROLES - 1 && strcmp(name, cluster_role_names[role]) != 0)
        role++;
    return (enum cluster_role)role;
}

static void process_new(struct sim_world *w, const struct store_object *o, const cJSON *json)
{
    const cJSON *labels = val_get(json, "metadata", "labels", NULL);
    const char *role = val_str(labels, "paceline.dev/role"), *owner = object_owner(json);
    struct sim_process *p;

    if (!role || !owner)
        return;
    if (w->n_processes == w->cap_processes) {
        w->cap_processes = w->cap_processes ? w->cap_processes * 2 : 32;
        w->processes = xrealloc(w->processes, w->cap_processes * sizeof *w->processes);
    }
    p = &w->processes[w->n_processes++];
    *p = (struct sim_process){.node = -1, .role = role_of(role)};
    snprintf(p->name, sizeof p->name, "%s", o->name);
    snprintf(p->ns, sizeof p->ns, "%s", o->ns);
    snprintf(p->uid, sizeof p->uid, "%s", o->uid);
    snprintf(p->job, sizeof p->job, "%s", val_str(labels, "paceline.dev/job-name"));
    snprintf(p->job_uid, sizeof p->job_uid, "%s", owner);
    p->index = (int)strtol(val_str(labels, "paceline.dev/index"), NULL, 10);
    p->incarnation = strtoll(val_str(labels, "paceline.dev/incarnation"), NULL, 10);
    p->late = w->actor_late;
    p->created_ms = w->now_ms;
    launches_pod_made(w, p);
    world_after(w, random_range(&w->schedule, 10, 500) + scenario_unplaced_ms(w, p), on_schedule,
                id_of(w, p));
}

/* Remembers who wanted it gone, and wakes its kubelet. */
static void note_deletion(struct sim_world *w, struct sim_process *p)
{
    if (!p->asked_ms) {
        p->asked_ms = w->now_ms;
        p->asked_by = w->actor;
        world_trace(w, "%s is being deleted", p->name);
        if (w->actor == ACTOR_OPERATOR && !w->actor_late)
            launches_pod_asked(w, p);
    }
    world_after(w, random_range(&w->schedule, 10, 700), on_kill, id_of(w, p));
}

void kubelet_pod_changed(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                         const cJSON *next)
{
    struct sim_process *p = prev ? process_find(w, o->uid) : NULL;
    const char *phase = val_str(next, "status", "phase");

    if (!prev)
        process_new(w, o, next);
    if (!p)
        return;
    if (!next) {
        p->gone = true;
        p->stripped = p->stripped || (p->running && w->actor == ACTOR_USER);
        world_trace(w, "%s is gone", p->name);
        world_after(w, random_range(&w->schedule, 10, 1500), on_kill, id_of(w, p));
        return;
    }
    if (val_get(next, "metadata", "deletionTimestamp", NULL) &&
        (!val_get(prev, "metadata", "deletionTimestamp", NULL) ||
         val_int(next, "metadata", "deletionGracePeriodSeconds") <
             val_int(prev, "metadata", "deletionGracePeriodSeconds")) &&
        w->actor != ACTOR_KUBELET)
        note_deletion(w, p);
    if (phase && strcmp(phase, "Succeeded") == 0)
        p->reported_success = true;
    if (phase && strcmp(phase, "Failed") == 0)
        p->reported_failure = true;
}

void kubelet_node_back(struct sim_world *w, int node)
{
    for (size_t i = 0; i < w->n_processes; i++) {
        struct sim_process *p = &w->processes[i];

        if (p->node != node)
            continue;
        p->lost_ms = 0;
        if (w->nodes[node].dead && p->state == POD_AT_RUNNING) {
            p->state = POD_AT_ENDED; /* the reboot ended it long ago */
            p->exit_code = 137;
        }
        if (p->gone || p->asked_ms)
            world_after(w, random_range(&w->schedule, 100, 2000), on_kill, (int64_t)i);
        report_soon(w, p);
    }
}

void pod_drain(struct sim_world *w, struct sim_process *p)
{
    p->evicted = true;
    kubelet_stop(w, p, 137);
}
