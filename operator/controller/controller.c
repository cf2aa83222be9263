#include "operator/controller/controller.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "operator/controller/budget.h"
#include "operator/controller/executor.h"
#include "operator/controller/hold.h"
#include "operator/controller/live_read.h"
#include "operator/controller/orphans.h"
#include "operator/controller/state.h"
#include "operator/controller/whole_jobs.h"
#include "operator/reconcile/reconcile.h"
#include "paceline/log.h"
#include "paceline/mem.h"

#define SWEEP_MS 30000
#define JUMP_MS 1000 /* a wall clock that moved by more against the other one has jumped */
#define LOOKS_PER_STEP 64

static char *controller_copy(const char *s) { return s ? xstrdup(s) : NULL; }

struct controller *controller_new(const struct controller_config *config,
                                  const struct kube_ops *ops, void *kube, struct moment now)
{
    struct controller *c = xcalloc(1, sizeof *c);

    c->config = *config;
    c->config.identity = controller_copy(config->identity);
    c->config.namespace_ = controller_copy(config->namespace_);
    c->config.operator_namespace = controller_copy(config->operator_namespace);
    c->config.lease_name = controller_copy(config->lease_name);
    c->config.cluster_domain = controller_copy(config->cluster_domain);
    c->config.worker_image = controller_copy(config->worker_image);
    c->config.master_key = memcpy(xmalloc(32), config->master_key, 32);
    c->objects = (struct objects_config){.operator_namespace = c->config.operator_namespace,
                                         .cluster_domain = c->config.cluster_domain,
                                         .worker_image = c->config.worker_image,
                                         .master_key = c->config.master_key};
    c->ops = ops;
    c->kube = kube;
    c->now = now;
    c->offset_ms = now.wall_ms - now.mono_ms;
    c->random = config->seed ? config->seed : 1;
    c->cache = cache_new();
    c->queue = workqueue_new();
    c->job_states = job_states_new();
    budgets_init(&c->budgets);
    c->orphans = orphans_new();
    c->agent_conns = agent_conns_new(c);
    c->sweep_mono_ms = now.mono_ms + SWEEP_MS;
    for (int i = 0; i < N_RESOURCES; i++)
        informer_init(&c->informers[i], c, (enum resource)i);
    lease_init(&c->lease, c);
    dispatcher_init(&c->dispatcher, c);
    recorder_init(&c->recorder, c);
    return c;
}

void controller_free(struct controller *c)
{
    if (!c)
        return;
    for (int i = 0; i < N_RESOURCES; i++)
        informer_release(&c->informers[i]);
    lease_release(&c->lease);
    dispatcher_release(&c->dispatcher);
    executor_free_all(c);
    agent_conns_free(c->agent_conns);
    orphans_free(c->orphans);
    budgets_release(&c->budgets);
    job_states_free(c->job_states);
    workqueue_free(c->queue);
    cache_free(c->cache);
    free((char *)c->config.identity);
    free((char *)c->config.namespace_);
    free((char *)c->config.operator_namespace);
    free((char *)c->config.lease_name);
    free((char *)c->config.cluster_domain);
    free((char *)c->config.worker_image);
    explicit_bzero((unsigned char *)c->config.master_key, 32);
    free((unsigned char *)c->config.master_key);
    free(c);
}

void key_make(char out[KEY_SIZE], const char *namespace_, const char *name)
{
    snprintf(out, KEY_SIZE, "%s/%s", namespace_, name);
}

void controller_touch(struct controller *c, const char *namespace_, const char *name)
{
    char key[KEY_SIZE];
    struct job_state *m;

    key_make(key, namespace_, name);
    m = job_states_find(c->job_states, key);
    /* A follower does not queue keys: it would keep the keys of all jobs that come and go. On
     * becoming leader it queues every job. A job that it remembers is queued all the same: as
     * leader it then drops its memory of one that is gone. */
    if (!m && !c->leads)
        return;
    if (m && !m->dirty_mono_ms)
        m->dirty_mono_ms = c->now.mono_ms;
    workqueue_add(c->queue, key, c->now.mono_ms);
}

static void touch_job(void *arg, const struct tj *tj)
{
    controller_touch(arg, tj->meta.namespace_, tj->meta.name);
}

void controller_touch_all(struct controller *c) { cache_each_job(c->cache, touch_job, c); }

void controller_count(struct controller *c, enum kube_method method, int status)
{
    c->stats.requests[method][snapshot_code(status)]++;
}

bool controller_leads(const struct controller *c) { return lease_leads(&c->lease); }

bool controller_synced(const struct controller *c)
{
    for (int i = 0; i < N_RESOURCES; i++)
        if (!c->informers[i].synced)
            return false;
    return true;
}

/* A monotonic time as wall-clock time, 0 for one that is 0 or past. */
static int64_t wall_of(const struct controller *c, int64_t mono_ms)
{
    return mono_ms > c->now.mono_ms ? c->now.wall_ms + (mono_ms - c->now.mono_ms) : 0;
}

/* The same of one that is past; 0 stays 0. */
static int64_t wall_then(const struct controller *c, int64_t mono_ms)
{
    return mono_ms ? c->now.wall_ms - (c->now.mono_ms - mono_ms) : 0;
}

/* The generation in a ConfigMap's name "<job>-<generation>"; 0: it is none of ours. */
static int64_t generation_of(const struct tj *tj, const struct owned_ref *ref)
{
    size_t n = strlen(tj->meta.name);
    char *end;
    long long generation;

    if (strncmp(ref->meta.name, tj->meta.name, n) != 0 || ref->meta.name[n] != '-')
        return 0;
    generation = strtoll(ref->meta.name + n + 1, &end, 10);
    return *end || generation < 0 ? 0 : generation;
}

static bool has_pod_of_world(const struct observed *o)
{
    for (size_t i = 0; i < o->n_pods; i++)
        if (o->pods[i]->incarnation >= o->tj->status.world.incarnation)
            return true;
    return false;
}

static void observe_owned(const struct controller *c, const struct job_state *m, struct observed *o)
{
    const struct tj *tj = o->tj;
    const struct owned_ref *ref;
    size_t n_old = 0;

    for (int kind = 0; kind < N_OWNED; kind++) {
        char name[NAME_SIZE];

        owned_name(name, tj, (enum owned_kind)kind, tj->status.world.generation);
        o->have[kind] = cache_owned(c->cache, (enum owned_kind)kind, &tj->meta, name) != NULL;
        o->seen_ms[kind] = wall_then(c, m->made_mono_ms[kind]);
    }
    o->groups_gone = m->groups_gone;
    /* Not watched. They are made before any pod, so a pod shows that they were. */
    o->have[OWNED_SECRET] = m->made[OWNED_SECRET] || o->n_pods > 0;
    o->have[OWNED_POD_GROUP] = m->made[OWNED_POD_GROUP] == tj->status.world.generation ||
                               has_pod_of_world(o) || !owned_wanted(tj, OWNED_POD_GROUP);
    for (size_t i = 0; (ref = cache_owned_at(c->cache, OWNED_CONFIG_MAP, &tj->meta, i)); i++) {
        int64_t generation = generation_of(tj, ref);

        if (generation > 0 && generation < tj->status.world.generation &&
            n_old < ARRAY_LEN(o->old_generations))
            o->old_generations[n_old++] = generation;
    }
}

/* Asked only as long as there is no world: the first pods are not made yet. */
static void observe_templates(const struct controller *c, struct job_state *m, struct observed *o)
{
    const struct tj *tj = o->tj;

    for (int role = 0; role < N_CLUSTER_ROLES; role++) {
        if (!m->dry_run_ok[role] && tj->job && !tj->status.world.generation)
            m->dry_run_ok[role] = accepted_templates_known(&c->templates, tj,
                                                           (enum cluster_role)role, c->now.mono_ms);
        o->dry_run_ok[role] = m->dry_run_ok[role];
    }
}

static double controller_seconds_of(const struct timespec *t)
{
    return (double)t->tv_sec + t->tv_nsec / 1e9;
}

/* Creates without an answer: whether they were done must be known before the next plan. */
static void read_live(struct controller *c, const struct job_state *m, const char *key,
                      const struct tj *tj)
{
    if (m->hold_mono_ms <= c->now.mono_ms) {
        live_read_start(c, key, tj);
        return;
    }
    workqueue_add_at(c->queue, key, m->hold_mono_ms);
    workqueue_done(c->queue, key, c->now.mono_ms);
}

/*
 * The chief may tell of a failed run before the watch tells of the pod that was deleted and took
 * the run with it. The pods are read before anything is concluded, once for each run.
 */
static bool is_unexplained(struct job_state *m, const struct observed *o)
{
    const struct tj_status *status = &o->tj->status;

    if (!o->run || o->run->phase != RUN_FAILED || !status->launch.world ||
        o->run->generation != status->launch.generation || m->failed_run == o->run->generation)
        return false;
    m->failed_run = o->run->generation;
    return true;
}

static void sync_job(struct controller *c, const char *key, const struct tj *tj)
{
    struct job_state *m = job_states_of(c->job_states, key, tj->meta.uid, c->now.mono_ms);
    struct observed o = {.tj = tj};
    AUTO(plan_release) struct plan plan = {0};
    struct timespec begin, end;
    char secret[NAME_SIZE];
    int64_t until;

    hold_settle(c, m);
    if (m->uncertain) {
        read_live(c, m, key, tj);
        return;
    }
    secret_name(secret, &c->objects, tj);
    o.key = secret;
    cache_watch_deletions(c->cache, &tj->meta, c->now.mono_ms);
    o.pods = cache_pods_of(c->cache, &tj->meta, &o.n_pods);
    observe_owned(c, m, &o);
    observe_templates(c, m, &o);
    agent_conns_observe(c->agent_conns, key, &o);
    if (is_unexplained(m, &o)) {
        m->uncertain = true;
        read_live(c, m, key, tj);
        return;
    }
    o.invalid_template = m->invalid_template;
    o.blocked = m->blocked;
    o.name_taken = m->name_taken;
    o.hold_until_ms = wall_of(c, m->hold_mono_ms);
    o.status_written_ms = wall_then(c, m->status_written_mono_ms);
    o.events.pod = m->events_pod;
    o.events.sentence = m->events_sentence;
    o.events.asked_ms = wall_then(c, m->events_mono_ms);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    reconcile(&o, c->now.wall_ms, &plan);
    clock_gettime(CLOCK_MONOTONIC, &end);
    histogram_add(&c->stats.reconcile, controller_seconds_of(&end) - controller_seconds_of(&begin));
    recorder_take(&c->recorder, tj, m, &plan);
    if (plan.requeue_ms) {
        int64_t wait = plan.requeue_ms - c->now.wall_ms;

        workqueue_add_at(c->queue, key, c->now.mono_ms + (wait > 0 ? wait : 0));
    }
    until = hold_until(c, m, &plan);
    if (until) {
        workqueue_add_at(c->queue, key, until);
    } else if (plan.status || plan.n_actions) {
        executor_start(c, key, tj, &plan);
        return;
    } else if (m->blocked && c->now.mono_ms >= m->hold_mono_ms) { /* nothing is wanted any more */
        free(STEAL(m->blocked));
        m->failures = 0;
        workqueue_add(c->queue, key, c->now.mono_ms);
    }
    m->dirty_mono_ms = 0;
    workqueue_done(c->queue, key, c->now.mono_ms);
}

const struct tj *job_of_key(const struct controller *c, const char *key)
{
    const char *slash = strchr(key, '/');
    char namespace_[256];

    snprintf(namespace_, sizeof namespace_, "%.*s", (int)(slash - key), key);
    return cache_job(c->cache, namespace_, slash + 1);
}

static void sync_key(struct controller *c, const char *key)
{
    const struct tj *tj;

    if (key[0] == ORPHAN_MARK) {
        orphans_sync(c, key);
        return;
    }
    tj = job_of_key(c, key);
    if (tj) {
        sync_job(c, key, tj);
        return;
    }
    job_states_drop(c->job_states, key);
    agent_conns_drop(c->agent_conns, key);
    workqueue_forget(c->queue, key);
    workqueue_done(c->queue, key, c->now.mono_ms);
}

/* The account that pays for work on this key, as budget_charge takes it. */
static void whose_key(const struct controller *c, char out[WHOSE_SIZE], const char *key)
{
    const struct pod *orphan = key[0] == ORPHAN_MARK ? cache_pod(c->cache, key + 1) : NULL;

    if (key[0] == ORPHAN_MARK)
        key = orphan ? orphan->meta.namespace_ : "";
    snprintf(out, WHOSE_SIZE, "%s", key);
}

/* A key whose job or namespace has no credit is queued again for the time when it has some. */
static void look_at(struct controller *c, const char *key)
{
    int64_t wait, began = budget_begin(c);
    char whose[WHOSE_SIZE];

    whose_key(c, whose, key); /* before the look, which may end the key's own text */
    wait = budget_wait_ms(c, whose);
    if (wait > 0) {
        c->stats.looks_delayed++;
        workqueue_add_at(c->queue, key, c->now.mono_ms + wait);
        workqueue_done(c->queue, key, c->now.mono_ms);
        return;
    }
    sync_key(c, key);
    budget_charge(c, whose, began, 0);
}

static bool may_look(const struct controller *c)
{
    return !c->stopping && c->leads && controller_synced(c) &&
           c->informers[RESOURCE_JOBS].current && c->informers[RESOURCE_PODS].current;
}

static void controller_look(struct controller *c)
{
    const char *key;

    for (int i = 0; i < LOOKS_PER_STEP; i++) {
        key = workqueue_pop(c->queue, c->now.mono_ms);
        if (!key)
            return;
        look_at(c, key);
    }
}

static void watch_clock(struct controller *c)
{
    int64_t offset_ms = c->now.wall_ms - c->now.mono_ms, moved = offset_ms - c->offset_ms;

    c->offset_ms = offset_ms;
    if (moved > JUMP_MS || moved < -JUMP_MS) {
        log_warn("the wall clock moved by %lld ms", (long long)moved);
        controller_touch_all(c); /* all deadlines are looked at again */
    }
}

/*
 * A new leader first lists jobs and pods: it must see what the former one wrote into status, and
 * every pod that it made. Its last write ended before this Lease was taken.
 */
static void watch_leadership(struct controller *c)
{
    bool leads = controller_leads(c);

    if (leads && !c->leads && c->config.elect) {
        informer_refresh(&c->informers[RESOURCE_JOBS]);
        informer_refresh(&c->informers[RESOURCE_PODS]);
    }
    if (!leads && c->leads)
        agent_conns_drop_all(c->agent_conns);
    c->leads = leads;
}

/* A graceful end has come so far that the Lease can go. */
static bool nothing_left(const struct controller *c)
{
    return c->stopping && dispatcher_idle(&c->dispatcher) && !c->executors;
}

void controller_step(struct controller *c, struct moment now)
{
    bool leads;

    c->now = now;
    watch_clock(c);
    if (nothing_left(c))
        lease_give_back(&c->lease);
    lease_step(&c->lease);
    watch_leadership(c);
    for (int i = 0; i < N_RESOURCES && !c->stopping; i++)
        informer_step(&c->informers[i]);
    leads = may_look(c);
    if (leads && !c->looked) {
        log_info("leading");
        controller_touch_all(c);
        orphans_sweep(c);
    }
    c->looked = leads;
    if (leads) {
        if (now.mono_ms >= c->sweep_mono_ms) {
            c->sweep_mono_ms = now.mono_ms + SWEEP_MS;
            orphans_sweep(c);
        }
        agent_conns_step(c->agent_conns);
        controller_look(c);
    }
    whole_jobs_step(c);
    dispatcher_step(&c->dispatcher);
}

static int64_t sooner(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

int64_t controller_next_ms(const struct controller *c, struct moment now)
{
    int64_t next = sooner(lease_next_ms(&c->lease, now.mono_ms),
                          dispatcher_next_ms(&c->dispatcher, now.mono_ms));

    if (nothing_left(c) && !c->lease.releasing)
        return 0;
    for (int i = 0; i < N_RESOURCES && !c->stopping; i++)
        next = sooner(next, informer_next_ms(&c->informers[i], now.mono_ms));
    if (may_look(c)) {
        next = sooner(next, workqueue_next_ms(c->queue, now.mono_ms));
        next = sooner(next, c->sweep_mono_ms > now.mono_ms ? c->sweep_mono_ms - now.mono_ms : 0);
        next = sooner(next, agent_conns_next_ms(c->agent_conns, now.mono_ms));
        if (!c->looked)
            next = 0;
    }
    next = sooner(next, whole_jobs_next_ms(c));
    return next < 0 ? SWEEP_MS : next;
}

void controller_stop(struct controller *c, struct moment now)
{
    if (c->stopping)
        return;
    c->now = now;
    c->stopping = true;
    for (int i = 0; i < N_RESOURCES; i++)
        informer_release(&c->informers[i]);
}

bool controller_stopped(const struct controller *c)
{
    return c->stopping && c->lease.released && dispatcher_idle(&c->dispatcher);
}

static void count_job(void *arg, const struct tj *tj)
{
    struct snapshot *out = arg;
    const struct condition *cs = tj->status.conditions;
    enum snapshot_state state = SNAPSHOT_PENDING;

    if (cs[COND_SUCCEEDED].status)
        state = SNAPSHOT_SUCCEEDED;
    else if (cs[COND_FAILED].status)
        state = SNAPSHOT_FAILED;
    else if (cs[COND_SUSPENDED].status)
        state = SNAPSHOT_SUSPENDED;
    else if (cs[COND_PODS_BLOCKED].status)
        state = SNAPSHOT_BLOCKED;
    else if (cs[COND_RESTARTING].status)
        state = SNAPSHOT_RESTARTING;
    else if (cs[COND_RUNNING].status)
        state = SNAPSHOT_RUNNING;
    out->jobs[state]++;
}

void controller_snapshot(const struct controller *c, struct moment now, struct snapshot *out)
{
    *out = c->stats;
    out->leader = controller_leads(c);
    out->synced = controller_synced(c);
    out->healthy = true;
    out->made_mono_ms = now.mono_ms;
    memset(out->jobs, 0, sizeof out->jobs);
    cache_each_job(c->cache, count_job, out);
    out->pods = cache_count(c->cache, CACHE_PODS);
    out->queue_depth = workqueue_depth(c->queue);
    out->writes_in_flight = (uint64_t)c->dispatcher.n_sent;
}
