/* The invariants that hold after every change. */
#include "tests/sim/truth.h"

#include "paceline/mem.h"
#include "tests/sim/agents.h"
#include "tests/sim/value.h"

void truth_new(struct sim_world *w) { w->truth = xcalloc(1, sizeof *w->truth); }

void truth_free(struct sim_world *w)
{
    for (size_t i = 0; i < w->truth->n; i++)
        free(w->truth->jobs[i].launched);
    free(w->truth->jobs);
    free(w->truth);
}

struct job_truth *truth_of(struct sim_world *w, const char *uid)
{
    for (size_t i = 0; uid && i < w->truth->n; i++) {
        if (strcmp(w->truth->jobs[i].uid, uid) == 0)
            return &w->truth->jobs[i];
    }
    return NULL;
}

static const cJSON *find_condition(const cJSON *job, const char *type)
{
    const cJSON *c;

    cJSON_ArrayForEach(c, val_get(job, "status", "conditions", NULL))
    {
        if (strcmp(val_str(c, "type"), type) == 0)
            return c;
    }
    return NULL;
}

bool job_condition(const cJSON *job, const char *type)
{
    const cJSON *c = find_condition(job, type);

    return c && strcmp(val_str(c, "status"), "True") == 0;
}

const char *job_reason(const cJSON *job, const char *type)
{
    const cJSON *c = find_condition(job, type);
    const char *reason = c ? val_str(c, "reason") : NULL;

    return reason ? reason : "";
}

bool job_terminal(const cJSON *job)
{
    return job_condition(job, "Succeeded") || job_condition(job, "Failed");
}

bool job_is_launched(const cJSON *job)
{
    return val_get(job, "spec", "model", NULL) || val_get(job, "spec", "mpi", NULL);
}

bool job_has_index(const cJSON *job, enum cluster_role role, const char *set, int index)
{
    const char *text = val_str(job, "status", "replicaStatuses", cluster_role_names[role], set);

    while (text && *text) {
        char *end;
        long first = strtol(text, &end, 10), last = first;

        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (index >= first && index <= last)
            return true;
        text = *end ? end + 1 : NULL;
    }
    return false;
}

int64_t job_keep_s(const cJSON *job)
{
    const cJSON *keep = val_get(job, "spec", "output", "keepSeconds", NULL);

    return keep ? (int64_t)val_number(keep) : 86400;
}

int64_t job_active_ms(const struct sim_world *w, const cJSON *job)
{
    int64_t since = val_ms(val_get(job, "status", "activeSince", NULL));

    return val_int(job, "status", "activeMilliseconds") + (since ? w->now_ms - since : 0);
}

static int64_t replicas(const cJSON *job, enum cluster_role role)
{
    return val_int(job, "spec", "replicas", cluster_role_names[role], "replicas");
}

/* Whether a pod of the index succeeded by itself, as far as the API was told. */
static bool did_succeed(const struct sim_world *w, const char *uid, enum cluster_role role,
                        int index)
{
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *p = &w->processes[i];

        if (p->role == role && p->index == index && p->reported_success && p->exit_code == 0 &&
            strcmp(p->job_uid, uid) == 0 && (!p->asked_ms || p->ended_ms <= p->asked_ms))
            return true;
    }
    return false;
}

/* Every worker did, but for those that were given up, and one at least. */
static bool all_succeeded(const struct sim_world *w, const struct store_object *o, const cJSON *job)
{
    int64_t workers = val_int(job, "status", "world", "worker");
    bool any = false;

    for (int i = 0; i < workers; i++) {
        bool did = did_succeed(w, o->uid, ROLE_WORKER, i);

        if (!did && !job_has_index(job, ROLE_WORKER, "lost", i))
            return false;
        any = any || did;
    }
    return any;
}

static void check_success(struct sim_world *w, const struct store_object *o, const cJSON *job)
{
    const char *policy = val_str(job, "spec", "runPolicy", "successPolicy");
    bool all = policy && strcmp(policy, "AllWorkers") == 0;
    bool chief = replicas(job, ROLE_CHIEF) > 0;
    bool by_chief = chief && did_succeed(w, o->uid, ROLE_CHIEF, 0);
    bool by_first = !chief && did_succeed(w, o->uid, ROLE_WORKER, 0);
    bool by_all = all_succeeded(w, o, job);

    if (job_is_launched(job)) { /* its chief says so, or ends with 0, when the training is done */
        all = false;
        by_first = by_first || truth_of(w, o->uid)->said_done;
    }
    if (all && !by_all && !(by_chief && val_int(job, "status", "world", "worker") == 0))
        world_fail(w, "%s Succeeded though not all workers did", o->name);
    if (!all && !by_chief && !by_first && (chief || !by_all))
        world_fail(w, "%s Succeeded though neither chief nor worker 0 did", o->name);
}

/* Others ended it, for all that it did. */
static bool was_disrupted(const struct sim_process *p)
{
    return p->evicted || (p->asked_ms && p->asked_by != ACTOR_OPERATOR);
}

/* Others may have asked it to end when it had. */
static bool ended_first(const struct sim_process *p)
{
    return !p->evicted && p->ended_ms && p->ended_ms <= p->asked_ms;
}

/* Reasons for a restart: pods that failed by themselves, or restarted in place. */
static int64_t troubles(const struct sim_world *w, const char *uid)
{
    int64_t n = 0;

    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *p = &w->processes[i];

        if (strcmp(p->job_uid, uid) == 0)
            n += p->restarts + (p->reported_failure && (!was_disrupted(p) || ended_first(p)));
    }
    return n;
}

/* Pods that count towards disruptionLimit: others ended them, or nodes took them along. */
static int64_t disruptions(const struct sim_world *w, const char *uid)
{
    int64_t n = 0;

    for (size_t i = 0; i < w->n_processes; i++)
        n += strcmp(w->processes[i].job_uid, uid) == 0 &&
             (was_disrupted(&w->processes[i]) || w->processes[i].asked_ms);
    return n;
}

/* A pod ended by itself, and badly. */
static bool one_failed(const struct sim_world *w, const char *uid)
{
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *p = &w->processes[i];

        if (strcmp(p->job_uid, uid) == 0 && p->reported_failure && !p->evicted &&
            (!p->asked_ms || (p->ended_ms && p->ended_ms <= p->asked_ms)))
            return true;
    }
    return false;
}

static void check_failure(struct sim_world *w, const struct store_object *o, const cJSON *job)
{
    const char *reason = job_reason(job, "Failed");
    int64_t deadline = val_int(job, "spec", "runPolicy", "activeDeadlineSeconds");
    int64_t limit = val_int(job, "spec", "runPolicy", "backoffLimit");
    int64_t n = troubles(w, o->uid), launches = truth_of(w, o->uid)->failed;

    if (strcmp(reason, "DeadlineExceeded") == 0) {
        if (!deadline || job_active_ms(w, job) < deadline * 1000 - 1000 - w->jump_ms)
            world_fail(w, "%s ran %lld ms and is said to have exceeded its deadline of %lld s",
                       o->name, (long long)job_active_ms(w, job), (long long)deadline);
    } else if (strcmp(reason, "BackoffLimitExceeded") == 0) {
        if (n <= limit && launches <= limit)
            world_fail(w,
                       "%s Failed by backoffLimit %lld after %lld failures of pods and %lld of "
                       "launches in a row",
                       o->name, (long long)limit, (long long)n, (long long)launches);
    } else if (strcmp(reason, "DisruptionLimitExceeded") == 0) {
        limit = val_int(job, "spec", "runPolicy", "disruptionLimit");
        if (disruptions(w, o->uid) <= limit)
            world_fail(w, "%s Failed by disruptionLimit %lld after %lld disruptions", o->name,
                       (long long)limit, (long long)disruptions(w, o->uid));
    } else if (strcmp(reason, "ReplicaFailed") == 0 && !one_failed(w, o->uid)) {
        world_fail(w, "%s Failed though none of its pods did", o->name);
    }
}

static void never_less(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                       const cJSON *next, const char *a, const char *b)
{
    int64_t was = b ? val_int(prev, "status", a, b) : val_int(prev, "status", a);
    int64_t is = b ? val_int(next, "status", a, b) : val_int(next, "status", a);

    if (is < was)
        world_fail(w, "%s: status.%s%s%s went from %lld to %lld", o->name, a, b ? "." : "",
                   b ? b : "", (long long)was, (long long)is);
}

static void check_index_sets(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                             const cJSON *next)
{
    for (int role = 0; role < N_CLUSTER_ROLES; role++) {
        for (int i = 0; i < 8; i++) {
            if (job_has_index(prev, role, "completed", i) &&
                !job_has_index(next, role, "completed", i))
                world_fail(w, "%s: status forgot that %s %d completed", o->name,
                           cluster_role_names[role], i);
        }
    }
}

/* A reason that status gives for a pod comes from the events about this pod. */
static void check_wait(struct sim_world *w, const struct store_object *o, const cJSON *job)
{
    const cJSON *running = find_condition(job, "Running");
    const char *message = running ? val_str(running, "message") : NULL;
    const char *event = message ? strstr(message, "FailedMount: ") : NULL;
    char about[128], pod[128];

    if (event && (sscanf(event, "FailedMount: %127s (see `kubectl describe pod -n %*s %127[^`]",
                         about, pod) != 2 ||
                  strcmp(about, pod) != 0))
        world_fail(w, "%s says of a pod what is another's: %s", o->name, message);
}

static void check_status(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                         const cJSON *next)
{
    bool was = prev && job_terminal(prev), is = job_terminal(next);

    if (job_condition(next, "Succeeded") && job_condition(next, "Failed"))
        world_fail(w, "%s has two terminal conditions", o->name);
    if (was && (!is || job_condition(prev, "Failed") != job_condition(next, "Failed")))
        world_fail(w, "%s was terminal and is not what it was", o->name);
    if (!was && job_condition(next, "Succeeded"))
        check_success(w, o, next);
    if (!was && job_condition(next, "Failed"))
        check_failure(w, o, next);
    if (!was && is) {
        world_trace(w, "%s %s %s", o->name, job_condition(next, "Failed") ? "Failed" : "Succeeded",
                    job_reason(next, "Failed"));
        w->stats->succeeded += job_condition(next, "Succeeded");
        w->stats->failed += job_condition(next, "Failed");
    }
    check_wait(w, o, next);
    if (val_int(next, "status", "observedGeneration") > val_int(next, "metadata", "generation"))
        world_fail(w, "%s: observedGeneration is ahead of generation", o->name);
    if (!prev)
        return;
    never_less(w, o, prev, next, "restarts", NULL);
    never_less(w, o, prev, next, "disruptions", NULL);
    never_less(w, o, prev, next, "observedGeneration", NULL);
    never_less(w, o, prev, next, "world", "generation");
    never_less(w, o, prev, next, "world", "incarnation");
    check_index_sets(w, o, prev, next);
}

/* The end of a pod is no reason for a later one: its index was given up and is tried again, or
 * has left the world. */
static bool is_past(const struct sim_process *p, const cJSON *prev, const cJSON *next)
{
    const char *role = cluster_role_names[p->role];

    if (p->index >= val_int(next, "status", "world", role))
        return true;
    return job_has_index(prev, p->role, "lost", p->index) &&
           !job_has_index(next, p->role, "lost", p->index);
}

/* A user may change the world. */
static void forgive(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                    const cJSON *next)
{
    for (size_t i = 0; i < w->n_processes; i++) {
        struct sim_process *p = &w->processes[i];

        if (strcmp(p->job_uid, o->uid) == 0 && is_past(p, prev, next))
            p->forgiven = true;
    }
}

static void job_changed(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                        const cJSON *next)
{
    struct job_truth *t = truth_of(w, o->uid);
    int64_t limit = val_int(next, "spec", "runPolicy", "backoffLimit");

    if (!t) {
        w->truth->jobs = xrealloc(w->truth->jobs, (w->truth->n + 1) * sizeof *t);
        t = &w->truth->jobs[w->truth->n++];
        *t = (struct job_truth){.edited_ms = w->now_ms};
        snprintf(t->uid, sizeof t->uid, "%s", o->uid);
        snprintf(t->name, sizeof t->name, "%s", o->name);
    }
    if (limit > t->limit)
        t->limit = limit;
    if (w->actor == ACTOR_OPERATOR) {
        AUTO(auto_free) char *world = val_print(val_get(next, "status", "world", NULL));
        AUTO(auto_free) char *roles = val_print(val_get(next, "status", "replicaStatuses", NULL));

        t->writes++;
        world_trace(w, "%s status: %s restarts %lld world %s roles %s", o->name,
                    val_str(next, "status", "state"),
                    (long long)val_int(next, "status", "restarts"), world, roles);
    } else {
        t->edits++;
        t->edited_ms = w->now_ms;
    }
    launches_job_changed(w, t, o, prev, next);
    if (prev)
        forgive(w, o, prev, next);
    check_status(w, o, prev, next);
}

/* The operator deletes jobs for their TTL only. */
static void job_gone(struct sim_world *w, const struct store_object *o, const cJSON *prev)
{
    int64_t done = val_ms(val_get(prev, "status", "completionTime", NULL));
    const cJSON *ttl = val_get(prev, "spec", "runPolicy", "ttlSecondsAfterFinished", NULL);

    if (w->actor != ACTOR_OPERATOR)
        return;
    if (!ttl || !done || !job_terminal(prev))
        world_fail(w, "the operator deleted %s, which has no TTL or is not over", o->name);
    else if (w->now_ms < done + val_number(ttl) * 1000 - 1000 - w->jump_ms)
        world_fail(w, "%s was deleted %lld ms after its end, its TTL is %lld s", o->name,
                   (long long)(w->now_ms - done), (long long)val_number(ttl));
}

static void pod_created(struct sim_world *w, const struct store_object *o, const cJSON *pod)
{
    const char *owner = object_owner(pod);
    const struct store_object *job = owner ? store_find_uid(&w->api.store, KIND_JOB, owner) : NULL;
    const cJSON *labels = val_get(pod, "metadata", "labels", NULL);
    const char *index = val_str(labels, "paceline.dev/index");

    if (w->actor != ACTOR_OPERATOR || w->actor_late || !job || !index)
        return;
    if (job_terminal(job->v->json) && !w->stolen) /* with the Lease deleted, two may lead */
        world_fail(w, "pod %s was created though its job is over", o->name);
    for (int role = 0; role < N_CLUSTER_ROLES; role++) {
        if (strcmp(val_str(labels, "paceline.dev/role"), cluster_role_names[role]) == 0 &&
            job_has_index(job->v->json, role, "completed", (int)strtol(index, NULL, 10)))
            world_fail(w, "pod %s was created though its index completed", o->name);
    }
}

void truth_changed(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                   const cJSON *next)
{
    struct job_truth *t = NULL;

    if (tenant_owns(o))
        return;
    if (o->kind == KIND_JOB) {
        if (next)
            job_changed(w, o, prev, next);
        else
            job_gone(w, o, prev);
        return;
    }
    if (o->kind == KIND_POD) {
        t = truth_of(w, object_owner(next ? next : prev));
        if (t)
            t->changes++;
        if (!prev)
            pod_created(w, o, next);
    } else if (o->kind == KIND_EVENT && next) {
        t = truth_of(w, val_str(next, "involvedObject", "uid"));
        if (prev)
            world_fail(w, "event %s was changed", o->name);
        if (t)
            t->events++;
        launches_told(w, o);
    }
}

static int64_t fence_ms(struct sim_world *w, const struct sim_process *p)
{
    const struct store_object *job = store_find_uid(&w->api.store, KIND_JOB, p->job_uid);

    return job ? val_int(job->v->json, "spec", "runPolicy", "fenceSeconds") * 1000 : 0;
}

/* Whether q, an earlier pod of the same index, may still run now. */
static bool may_overlap(struct sim_world *w, const struct sim_process *p,
                        const struct sim_process *q)
{
    if (p->late || q->late || q->stripped)
        return true;
    if (q->orphan && q->gone)
        return true; /* its node is back, and its kubelet about to end it */
    return q->lost_ms && w->now_ms - q->lost_ms >= fence_ms(w, p);
}

/* A pod of a later incarnation stands for a failed one, unless the world moved. */
static void count_replacement(struct sim_world *w, const struct sim_process *p)
{
    const struct store_object *job = store_find_uid(&w->api.store, KIND_JOB, p->job_uid);
    const struct sim_process *last = NULL;
    struct job_truth *t = truth_of(w, p->job_uid);

    if (!job || !t || p->late || p->restarts ||
        p->incarnation <= val_int(job->v->json, "status", "world", "incarnation"))
        return;
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *q = &w->processes[i];

        if (q == p || q->role != p->role || q->index != p->index ||
            strcmp(q->job_uid, p->job_uid) != 0)
            continue;
        if (q->incarnation == p->incarnation && q->started_ms)
            return; /* made again, since nobody knew of that one any more */
        if (q->incarnation < p->incarnation && (!last || q->incarnation >= last->incarnation))
            last = q;
    }
    if (!last || !last->started_ms || last->forgiven || was_disrupted(last) ||
        (last->asked_ms && last->asked_by == ACTOR_OPERATOR))
        return;
    w->stats->restarts++;
    if (++t->made > t->limit + val_int(job->v->json, "status", "launch", "forgiven"))
        world_fail(w, "%s: %lld restarts, backoffLimit is %lld", t->name, (long long)t->made,
                   (long long)t->limit);
}

/* Asked to stop so soon after it ended that, by what their clocks wrote down, it may have been the
 * other way round. */
static bool may_be_asked(const struct sim_world *w, const struct sim_process *p)
{
    int64_t ended_ms = p->ended_ms + w->nodes[p->node].skew_ms;

    return p->asked_ms && ended_ms / 1000 * 1000 + MAX_SKEW_MS >= p->asked_ms / 1000 * 1000;
}

void truth_started(struct sim_world *w, struct sim_process *p)
{
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *q = &w->processes[i];

        if (q == p || q->role != p->role || q->index != p->index ||
            strcmp(q->job_uid, p->job_uid) != 0)
            continue;
        if (q->running && !may_overlap(w, p, q))
            world_fail(w, "%s runs while %s runs", p->name, q->name);
        if (q->reported_success && q->exit_code == 0 && !p->late && !q->stripped &&
            !may_be_asked(w, q))
            world_fail(w, "%s runs though %s completed the index", p->name, q->name);
    }
    count_replacement(w, p);
}

static bool is_job_write(const struct kube_request *r)
{
    return r->method != KUBE_GET && !strstr(r->path, "/leases");
}

/* The Lease's holder; NULL: there is no Lease. */
static const char *lease_holder(const struct sim_world *w)
{
    const struct store_object *o =
        store_find(&w->api.store, KIND_LEASE, OPERATOR_NS, w->config.lease_name);

    return o ? val_str(o->v->json, "spec", "holderIdentity") : NULL;
}

void truth_request(struct sim_world *w, const struct operator_process *op,
                   const struct kube_request *r)
{
    const char *holder = lease_holder(w);

    w->n_writes += r->method != KUBE_GET;
    if (strstr(r->path, "/leases") && r->method != KUBE_GET)
        w->lease_ms = w->now_ms;
    if (op && op->stopping && is_job_write(r) && holder && !*holder && !w->stolen)
        world_fail(w, "op%d writes %.100s after it gave the Lease back", op->n, r->path);
}

void truth_sends(struct sim_world *w, const struct operator_process *op,
                 const struct kube_request *r)
{
    if (op->stopping && is_job_write(r))
        world_fail(w, "op%d is asked to stop and sends %.100s", op->n, r->path);
}

/* It may keep a Lease that it has not renewed for so long that others may have it. */
void truth_stopped(struct sim_world *w, const struct operator_process *op)
{
    const char *holder = lease_holder(w);

    if (holder && strcmp(holder, op->identity) == 0 && !w->stolen &&
        w->now_ms - w->lease_ms < w->config.renew_ms / 2)
        world_fail(w, "op%d stopped and kept the Lease", op->n);
}

void truth_each_event(struct sim_world *w)
{
    if (!w->stolen && operators_leading(w) > 1)
        world_fail(w, "two operators lead");
    if (!operators_leader(w))
        w->leader_since_ms = 0;
    else if (!w->leader_since_ms)
        w->leader_since_ms = w->now_ms;
}
