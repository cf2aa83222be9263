/* Whether everything is as its users want it, for good. */
#include <stdarg.h>

#include <inttypes.h>

#include "paceline/mem.h"
#include "tests/sim/agents.h"
#include "tests/sim/value.h"

static char reason[256];

static const char *because(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *because(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    return reason;
}

static bool finished(const cJSON *pod)
{
    const char *phase = val_str(pod, "status", "phase");

    return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

static bool tracked(const cJSON *pod)
{
    return val_has(val_get(pod, "metadata", "finalizers", NULL), "paceline.dev/tracking");
}

/* 1.5 s late is late, when a leader could have acted all the time. */
static void check_due(struct sim_world *w, const struct job_truth *t, int64_t due, const char *what)
{
    int64_t slack = w->intensity ? 200000 : 3000, from = w->leader_since_ms + slack;

    if (!w->leader_since_ms || w->n_operators == 2)
        from = w->quiet_ms + 300000;
    if (w->intensity && from < w->quiet_ms + slack)
        from = w->quiet_ms + slack;
    if (from < t->edited_ms + 3000)
        from = t->edited_ms + 3000;
    if (from < due)
        from = due;
    if (w->now_ms > from + 2500)
        world_fail(w, "%s: %s is due since %lld ms", t->name, what, (long long)(w->now_ms - due));
}

/* Whether the job's events tell of this. */
static bool told(const struct sim_world *w, const struct store_object *job, const char *what)
{
    const struct store *s = &w->api.store;

    for (size_t i = 0; i < tenant_others(w, KIND_EVENT); i++) {
        const cJSON *event = s->objects[KIND_EVENT][i]->v->json;

        if (strcmp(val_str(event, "involvedObject", "uid"), job->uid) == 0 &&
            strcmp(val_str(event, "reason"), what) == 0)
            return true;
    }
    return false;
}

/* A chief that nobody lets go may stay longer than all else takes to settle. */
static bool keeps_model(struct sim_world *w, const struct store_object *job,
                        const struct store_object *pod)
{
    const struct sim_process *p = process_find(w, pod->uid);

    return p && p->running && !p->asked_ms && launches_keep(w, p, job->v->json);
}

static bool told_of_launch(const struct sim_world *w, const struct store_object *job,
                           int64_t generation)
{
    const struct store *s = &w->api.store;
    char start[64];

    snprintf(start, sizeof start, "generation %lld trains on ", (long long)generation);
    for (size_t i = 0; i < tenant_others(w, KIND_EVENT); i++) {
        const cJSON *event = s->objects[KIND_EVENT][i]->v->json;

        if (strcmp(val_str(event, "involvedObject", "uid"), job->uid) == 0 &&
            strncmp(val_str(event, "message"), start, strlen(start)) == 0)
            return true;
    }
    return false;
}

static const char *terminal_unsettled(struct sim_world *w, const struct store_object *job)
{
    const cJSON *j = job->v->json, *ttl;
    const char *clean = val_str(j, "spec", "runPolicy", "cleanPodPolicy");
    const struct store *s = &w->api.store;

    for (size_t i = 0; i < tenant_others(w, KIND_POD); i++) {
        const struct store_object *pod = s->objects[KIND_POD][i];
        const char *owner = object_owner(pod->v->json);

        if (!owner || strcmp(owner, job->uid) != 0 || keeps_model(w, job, pod))
            continue;
        if (finished(pod->v->json) ? tracked(pod->v->json) || strcmp(clean, "All") == 0
                                   : strcmp(clean, "None") != 0)
            return because("pod %s of %s, which is over, with cleanPodPolicy %s", pod->name,
                           job->name, clean);
        if (!finished(pod->v->json)) {
            const struct sim_process *p = process_find(w, pod->uid);

            if (p && p->started_ms && scenario_fate(w, p).run_ms >= 0)
                return because("pod %s has not finished", pod->name);
        }
    }
    if (!told(w, job, job_condition(j, "Failed") ? job_reason(j, "Failed") : "Succeeded"))
        return because("no event tells how %s ended", job->name);
    ttl = val_get(j, "spec", "runPolicy", "ttlSecondsAfterFinished", NULL);
    if (ttl) {
        check_due(w, truth_of(w, job->uid),
                  val_ms(val_get(j, "status", "completionTime", NULL)) + val_number(ttl) * 1000,
                  "deletion by TTL");
        return because("%s waits for its TTL", job->name);
    }
    return NULL;
}

static bool has_run(const struct sim_world *w, const struct sim_process *p)
{
    for (size_t i = 0; i < w->agents->n_runs; i++)
        for (int k = 0; k < w->agents->runs[i].n; k++)
            if (w->agents->runs[i].hosts[k] == (int)(p - w->processes))
                return true;
    return false;
}

/* Worker 0 has no node, and the one other worker that has one may have the only checkpoint: it
 * keeps its place, and the job waits for a node. */
static bool waits_for_node(const struct sim_world *w, const struct store_object *job)
{
    const struct sim_process *only = NULL;

    if (scenario_room(w, job->name) == INT64_MAX)
        return false;
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *p = &w->processes[i];

        if (strcmp(p->job_uid, job->uid) != 0 || p->role != ROLE_WORKER || p->gone || p->node < 0 ||
            p->state == POD_AT_ENDED)
            continue;
        if (p->index == 0 || only)
            return false;
        only = p;
    }
    return only && has_run(w, only);
}

static const char *index_unsettled(struct sim_world *w, const struct store_object *job,
                                   enum cluster_role role, int index)
{
    const struct store *s = &w->api.store;
    int running = 0;
    char world[128];

    if (role == ROLE_WORKER && index == 0 && waits_for_node(w, job))
        return NULL;
    if (role == ROLE_WORKER && index > 0 && scenario_room(w, job->name) != INT64_MAX)
        return NULL; /* no room: whether it trains without is asked of the run */
    snprintf(world, sizeof world, "\"%s-%lld\"", job->name,
             (long long)val_int(job->v->json, "status", "world", "generation"));
    if (job_has_index(job->v->json, role, "completed", index) ||
        job_has_index(job->v->json, role, "lost", index))
        return NULL;
    for (size_t i = 0; i < tenant_others(w, KIND_POD); i++) {
        const struct sim_process *p = process_find(w, s->objects[KIND_POD][i]->uid);

        if (!p || strcmp(p->job_uid, job->uid) != 0 || p->role != role || p->index != index ||
            p->state == POD_AT_ENDED)
            continue;
        if (!p->running || scenario_fate(w, p).run_ms >= 0)
            return because("pod %s is on its way", p->name);
        if (!job_is_launched(job->v->json) &&
            !strstr(version_text(s->objects[KIND_POD][i]->v), world))
            return because("pod %s is of an older world than %s", p->name, world);
        running++;
    }
    if (running != 1)
        return because("%d pods of %s %s %d run", running, job->name, cluster_role_names[role],
                       index);
    return NULL;
}

/* Status and an event tell what became of the switch of the run's job. */
static bool tells_of_strategy(const struct sim_world *w, const struct store_object *job,
                              const struct sim_run *r)
{
    const cJSON *status = val_get(job->v->json, "status", NULL);
    bool servers_first =
        strcmp(val_str(job->v->json, "spec", "strategy", "switch", "order"), "ServersFirst") == 0;
    const char *phase = r->switched == servers_first ? "AllReduce" : "ParameterServer";

    if (strcmp(val_str(status, "strategy", "phase"), phase) != 0 ||
        val_int(status, "strategy", "step") != (r->switched ? r->switch_step : 0))
        return false;
    return !r->switched || told(w, job, "StrategySwitched");
}

/* It trains in exactly these pods, and for ever; else it is on its way. */
static const char *training_unsettled(struct sim_world *w, const struct store_object *job)
{
    int64_t wanted = val_int(job->v->json, "spec", "replicas", "worker", "replicas") +
                     val_int(job->v->json, "spec", "replicas", "ps", "replicas");
    int64_t running = 0, room = scenario_room(w, job->name);
    const struct sim_run *run = NULL;

    if (!job_is_launched(job->v->json))
        return NULL;
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *p = &w->processes[i];
        const struct sim_run *r = run_with(w, (int)i);

        if (!p->running || p->gone || strcmp(p->job_uid, job->uid) != 0)
            continue;
        if (!r || (run && r != run))
            return because("%s is in no run, or in another than worker 0", p->name);
        run = r;
        running++;
    }
    if (running >= room) /* a node came back: there may be more than fit now */
        wanted = running;
    if (!run || run->phase != RUN_TRAINING || run->n != wanted || running != wanted)
        return because("%s does not train on %lld pods", job->name, (long long)wanted);
    if (run_is_stuck(w, run))
        return because("%s hangs", job->name);
    if (!told_of_launch(w, job, run->generation))
        return because("no event tells of generation %lld of %s", (long long)run->generation,
                       job->name);
    if (run->switch_step && !tells_of_strategy(w, job, run))
        return because("%s: nobody tells of the strategy of generation %lld", job->name,
                       (long long)run->generation);
    return run->total ? because("%s trains", job->name) : NULL;
}

static int count_owned(const struct sim_world *w, enum store_kind kind,
                       const struct store_object *job)
{
    const struct store *s = &w->api.store;
    int n = 0;

    for (size_t i = 0; i < tenant_others(w, kind); i++) {
        const char *owner = object_owner(s->objects[kind][i]->v->json);

        n += owner && strcmp(owner, job->uid) == 0;
    }
    return n;
}

/* Whoever deletes one of them gets it back; those of former worlds are gone. Of what is not watched
 * there may be none, where no pod needs it. */
static const char *objects_unsettled(struct sim_world *w, const struct store_object *job)
{
    static const struct {
        enum store_kind kind;
        int least;
    } wanted[] = {{KIND_SERVICE, 1}, {KIND_CONFIG_MAP, 1},    {KIND_NETWORK_POLICY, 1},
                  {KIND_SECRET, 0},  {KIND_VOLCANO_GROUP, 0}, {KIND_SCHEDULER_GROUP, 0}};

    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        int n = count_owned(w, wanted[i].kind, job);
        bool known = wanted[i].kind == KIND_VOLCANO_GROUP || wanted[i].kind == KIND_SCHEDULER_GROUP
                         ? !w->unmapped
                         : true;

        if (n < wanted[i].least || (n > 1 && known))
            return because("%s has %d objects of kind %s", job->name, n,
                           kinds[wanted[i].kind].name);
    }
    return NULL;
}

/* Status counts the pods that there are: none that is gone, and none fewer. */
static const char *counts_unsettled(struct sim_world *w, const struct store_object *job)
{
    const cJSON *running = NULL, *c;
    int64_t all = 0, said = 0;

    for (int role = 0; role < N_CLUSTER_ROLES; role++) {
        int64_t n = 0, active = val_int(job->v->json, "status", "replicaStatuses",
                                        cluster_role_names[role], "active");

        for (size_t i = 0; i < w->n_processes; i++) {
            const struct sim_process *p = &w->processes[i];

            n +=
                p->running && !p->gone && (int)p->role == role && strcmp(p->job_uid, job->uid) == 0;
        }
        if (n != active)
            return because("%s: status says that %lld of %s are active, and %lld run", job->name,
                           (long long)active, cluster_role_names[role], (long long)n);
        all += n;
    }
    cJSON_ArrayForEach(c, val_get(job->v->json, "status", "conditions",
                                  NULL)) if (strcmp(val_str(c, "type"), "Running") == 0) running =
        c;
    if (running && sscanf(val_str(running, "message"), "all %" SCNd64 " pods run", &said) == 1 &&
        said != all)
        return because("%s: all %lld pods run, says status, and %lld do", job->name,
                       (long long)said, (long long)all);
    return NULL;
}

static const char *running_unsettled(struct sim_world *w, const struct store_object *job)
{
    const cJSON *j = job->v->json;
    const struct store *s = &w->api.store;
    const cJSON *deadline = val_get(j, "spec", "runPolicy", "activeDeadlineSeconds", NULL);

    for (int role = 0; role < N_CLUSTER_ROLES; role++) {
        int64_t n = val_int(j, "spec", "replicas", cluster_role_names[role], "replicas");

        for (int i = 0; i < n; i++) {
            const char *why = index_unsettled(w, job, role, i);

            if (why)
                return why;
        }
        for (size_t i = 0; i < tenant_others(w, KIND_POD); i++) {
            const struct sim_process *p = process_find(w, s->objects[KIND_POD][i]->uid);

            if (p && strcmp(p->job_uid, job->uid) == 0 && (int)p->role == role && p->index >= n)
                return because("pod %s is not wanted", p->name);
        }
    }
    if (waits_for_node(w, job))
        return told(w, job, "LaunchWaits") ? NULL
                                           : because("no event tells that %s waits", job->name);
    if (training_unsettled(w, job) || objects_unsettled(w, job))
        return reason;
    if (deadline) {
        check_due(w, truth_of(w, job->uid),
                  w->now_ms + val_number(deadline) * 1000 - job_active_ms(w, j), "its deadline");
        return because("%s waits for its deadline", job->name);
    }
    if (!job_condition(j, "Running") || job_condition(j, "Restarting"))
        return because("%s is not Running, or still Restarting", job->name);
    if (counts_unsettled(w, job))
        return reason;
    if (val_int(j, "status", "observedGeneration") != val_int(j, "metadata", "generation"))
        return because("%s: observedGeneration is old", job->name);
    return NULL;
}

static const char *suspended_unsettled(struct sim_world *w, const struct store_object *job)
{
    const struct store *s = &w->api.store;

    if (!job_condition(job->v->json, "Suspended"))
        return because("%s is not Suspended", job->name);
    for (size_t i = 0; i < tenant_others(w, KIND_POD); i++) {
        const char *owner = object_owner(s->objects[KIND_POD][i]->v->json);

        if (owner && strcmp(owner, job->uid) == 0)
            return because("pod %s of the suspended %s", s->objects[KIND_POD][i]->name, job->name);
    }
    if (job_condition(job->v->json, "Running"))
        return because("%s is Suspended and Running", job->name);
    return NULL;
}

static void check_effort(struct sim_world *w, const struct job_truth *t)
{
    if (w->stolen)
        return;
    if (t->writes > 20 + 4 * t->changes + 6 * t->edits + 2 * t->said)
        world_fail(w, "%s: %d status writes for %d changes of pods and %d edits", t->name,
                   t->writes, t->changes, t->edits);
    if (t->events > 10 + 3 * t->changes + 6 * t->edits + t->said)
        world_fail(w, "%s: %d events for %d changes of pods and %d edits", t->name, t->events,
                   t->changes, t->edits);
}

static const char *pod_unsettled(struct sim_world *w, const struct store_object *pod)
{
    const char *owner = object_owner(pod->v->json);

    if (!owner || !store_find_uid(&w->api.store, KIND_JOB, owner))
        return because("pod %s of a job that is gone", pod->name);
    if (val_get(pod->v->json, "metadata", "deletionTimestamp", NULL))
        return because("pod %s is being deleted", pod->name);
    return NULL;
}

uint64_t truth_running(const struct sim_world *w)
{
    const struct store *s = &w->api.store;
    uint64_t n = 0;

    for (size_t i = 0; i < tenant_others(w, KIND_JOB); i++)
        n += job_condition(s->objects[KIND_JOB][i]->v->json, "Running");
    return n;
}

const char *truth_unsettled(struct sim_world *w)
{
    const struct store *s = &w->api.store;
    const char *why = NULL;

    if (!operators_leader(w))
        return "nobody leads";
    if (operators_leading(w) > 1) /* and they contradict each other until one learns of it */
        return "two operators lead";
    for (size_t i = 0; i < tenant_others(w, KIND_POD) && !why; i++)
        why = pod_unsettled(w, s->objects[KIND_POD][i]);
    why = why ? why : agents_unsettled(w);
    for (size_t i = 0; i < tenant_others(w, KIND_JOB) && !why; i++) {
        const struct store_object *job = s->objects[KIND_JOB][i];
        const cJSON *j = job->v->json;

        if (val_get(j, "metadata", "deletionTimestamp", NULL))
            why = because("%s is being deleted", job->name);
        else if (!val_get(j, "status", NULL))
            why = because("%s has no status", job->name);
        else if (job_terminal(j))
            why = terminal_unsettled(w, job);
        else if (val_true(j, "spec", "runPolicy", "suspend"))
            why = suspended_unsettled(w, job);
        else
            why = running_unsettled(w, job);
    }
    for (size_t i = 0; i < w->truth->n; i++)
        check_effort(w, &w->truth->jobs[i]);
    return why;
}
