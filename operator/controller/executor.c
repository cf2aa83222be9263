#include "operator/controller/executor.h"

#include <string.h>

#include "operator/controller/action.h"
#include "operator/controller/budget.h"
#include "operator/controller/requests.h"
#include "operator/controller/whole_jobs.h"
#include "paceline/mem.h"

const struct tj *executor_job(const struct executor *ex)
{
    const struct tj *tj = job_of_key(ex->c, ex->key);

    return tj && strcmp(tj->meta.uid, ex->uid) == 0 ? tj : NULL;
}

static void executor_free(struct executor *ex)
{
    for (int i = 0; i < N_CLUSTER_ROLES; i++)
        pod_maker_free(ex->makers[i]);
    plan_release(&ex->plan);
    tj_free(ex->whole);
    free(ex->requests);
    free(ex->key);
    free(ex->uid);
    free(ex);
}

/* Keeps the facts that the job's next reconcile must know. */
static void remember(struct executor *ex)
{
    struct controller *c = ex->c;
    struct job_state *m = job_states_find(c->job_states, ex->key);

    if (!m || strcmp(m->uid, ex->uid) != 0)
        return;
    if (ex->failed) {
        m->failed = true;
        m->status_failed = ex->plan.status != NULL;
        return;
    }
    if (ex->conflicted) /* what was read says nothing of the next write */
        return;
    m->reread = false;
    if (ex->plan.status && m->blocked) /* does not show that pods can be made again */
        return;
    free(STEAL(m->blocked));
    m->failures = 0;
    m->hold_mono_ms = m->status_hold_mono_ms = 0;
    if (m->dirty_mono_ms)
        histogram_add(&c->stats.sync, (double)(c->now.mono_ms - m->dirty_mono_ms) / 1e3);
    m->dirty_mono_ms = 0;
}

void executor_end_if_done(struct executor *ex)
{
    struct controller *c = ex->c;

    if (ex->n_open || (!ex->give_up && ex->at < ex->n_requests))
        return;
    dispatcher_forget(&c->dispatcher, &ex->source);
    remember(ex);
    if (ex->previous)
        ex->previous->next = ex->next;
    else
        c->executors = ex->next;
    if (ex->next)
        ex->next->previous = ex->previous;
    whole_jobs_give_back(ex);
    workqueue_add(c->queue, ex->key, c->now.mono_ms);
    workqueue_done(c->queue, ex->key, c->now.mono_ms);
    executor_free(ex);
}

static const struct pod_maker *maker_of(struct executor *ex, const struct tj *tj,
                                        enum cluster_role role, struct err *err)
{
    if (!ex->makers[role])
        ex->makers[role] = pod_maker_new(&ex->c->objects, tj, role, err);
    return ex->makers[role];
}

/* A template or an object that we ourselves cannot make: nothing is sent. */
static bool cannot_make(struct executor *ex, const struct action *a, const char *message)
{
    if (a->type == ACTION_DRY_RUN_POD)
        executor_keep_sentence(&executor_job_state(ex)->invalid_template, message);
    executor_block(ex, message);
    return false;
}

static bool make_pod(struct executor *ex, const struct tj *tj, const struct action *a,
                     struct api_request *r, dispatcher_done_fn **fn)
{
    struct err err;
    const struct pod_maker *maker = maker_of(ex, tj, a->role, &err);
    bool dry_run = a->type == ACTION_DRY_RUN_POD;
    struct buf body;

    if (!maker)
        return cannot_make(ex, a, err.msg);
    buf_init(&body, 0);
    pod_maker_body(maker, a->index, a->incarnation, &body);
    *r = request_create_pod(tj->meta.namespace_, &body, dry_run);
    *fn = dry_run ? action_rehearsed : action_pod_created;
    return true;
}

static bool make_owned(struct executor *ex, const struct tj *tj, const struct action *a,
                       struct api_request *r, dispatcher_done_fn **fn)
{
    struct err err;
    struct buf body;

    if (a->owned == OWNED_SECRET)
        buf_init_secret(&body, 0);
    else
        buf_init(&body, 0);
    if (owned_body(&ex->c->objects, tj, a->owned, &body, &err)) {
        buf_release(&body);
        return cannot_make(ex, a, err.msg);
    }
    *r = request_create_owned(tj, a->owned, &body);
    *fn = action_owned_created;
    return true;
}

static void delete_owned(struct action_request *s, const struct tj *tj, struct api_request *r,
                         dispatcher_done_fn **fn)
{
    struct meta object = {.name = s->object.name, .uid = s->object.uid};

    if (*object.uid) {
        *r = request_delete_owned(tj, &object, s->action.owned);
        *fn = action_owned_deleted;
    } else {
        *r = request_get_owned(tj, s->action.owned, object.name);
        *fn = action_old_read;
    }
}

static bool make_request(struct action_request *s, const struct tj *tj, struct api_request *r,
                         dispatcher_done_fn **fn)
{
    struct executor *ex = s->ex;
    const struct action *a = &s->action;

    if (ex->plan.status) {
        *r = request_patch_status(tj, ex->plan.status);
        *fn = action_status_written;
        return true;
    }
    *fn = action_pod_changed;
    switch (a->type) {
    case ACTION_DRY_RUN_POD:
    case ACTION_CREATE_POD:
        return make_pod(ex, tj, a, r, fn);
    case ACTION_CREATE_OWNED:
        return make_owned(ex, tj, a, r, fn);
    case ACTION_DELETE_OWNED:
        delete_owned(s, tj, r, fn);
        return true;
    case ACTION_DELETE_POD:
    case ACTION_FORCE_DELETE_POD:
        *r = request_delete_pod(&s->pod, a->type == ACTION_FORCE_DELETE_POD);
        return true;
    case ACTION_RELEASE_POD:
        *r = request_release(&s->pod, false);
        return true;
    case ACTION_READ_EVENTS:
        *r = request_list_events(&s->pod);
        *fn = action_events_read;
        return true;
    case ACTION_DELETE_JOB:
        *r = request_delete_job(&tj->meta);
        *fn = action_job_deleted;
        return true;
    case ACTION_LAUNCH:
        agent_conns_launch(ex->c->agent_conns, ex->key, tj, a->generation);
        return false;
    case ACTION_STOP:
        agent_conns_stop(ex->c->agent_conns, ex->key, a->generation);
        return false;
    case ACTION_KILL:
        agent_conns_kill(ex->c->agent_conns, ex->key, a->generation);
        return false;
    }
    return false;
}

/* Whether the request creates something from templates or layers. */
static bool needs_whole_job(const struct executor *ex, const struct action_request *s)
{
    static const bool needs[] = {
        [ACTION_DRY_RUN_POD] = true,
        [ACTION_CREATE_POD] = true,
        [ACTION_CREATE_OWNED] = true,
        [ACTION_LAUNCH] = true,
    };

    return !ex->plan.status && (size_t)s->action.type < ARRAY_LEN(needs) && needs[s->action.type];
}

/* Requests the whole job. Returns false if it was requested before, or has to wait for a place. */
static bool read_whole_job(struct executor *ex, const struct tj *tj, struct api_request *r,
                           dispatcher_done_fn **fn, void **arg)
{
    if (!whole_jobs_take(ex) || ex->asked_whole)
        return false;
    ex->asked_whole = true;
    ex->n_open++;
    *r = request_get_job(tj->meta.namespace_, tj->meta.name);
    *fn = action_job_read_whole;
    *arg = ex;
    return true;
}

/* The plan holds for the job as it was: any change to it ends that. */
static bool still_holds(const struct executor *ex, const struct tj *tj)
{
    return tj && strcmp(tj->meta.resource_version, ex->version) == 0 && !ex->c->stopping &&
           lease_leads(&ex->c->lease);
}

static bool executor_next(struct request_source *source, struct api_request *r,
                          dispatcher_done_fn **fn, void **arg)
{
    struct executor *ex = (struct executor *)source;
    const struct tj *tj = executor_job(ex);

    if (!still_holds(ex, tj) || whole_jobs_is_used_up(ex))
        ex->give_up = true;
    while (!ex->give_up && ex->at < ex->n_requests) {
        struct action_request *s = &ex->requests[ex->at];
        int64_t began = budget_begin(ex->c);
        bool made;

        if (tj->stripped && !ex->whole && needs_whole_job(ex, s))
            return read_whole_job(ex, tj, r, fn, arg);
        ex->at++;
        made = make_request(s, ex->whole ? ex->whole : tj, r, fn);
        budget_charge(ex->c, ex->key, began, 0);
        if (made) {
            *arg = s;
            ex->n_open++;
            ex->n_made++;
            if (ex->at == ex->n_requests)
                whole_jobs_give_back(ex);
            return true;
        }
    }
    if (ex->whole)
        whole_jobs_give_back(ex);
    executor_end_if_done(ex);
    return false;
}

static void copy_meta(struct meta *out, const struct meta *m, struct arena *a)
{
    *out = *m;
    out->namespace_ = arena_strdup(a, m->namespace_);
    out->name = arena_strdup(a, m->name);
    out->uid = arena_strdup(a, m->uid);
    out->owner_uid = out->owner_name = NULL;
}

static void action_init(struct executor *ex, struct action_request *s, const struct action *a,
                        const struct tj *tj)
{
    char name[NAME_SIZE];
    const struct owned_ref *ref;

    s->ex = ex;
    s->action = *a;
    s->action.pod = NULL;
    if (a->pod) {
        copy_meta(&s->pod, &a->pod->meta, &ex->plan.arena);
        s->action.role = a->pod->role;
        s->action.index = a->pod->index;
        s->action.incarnation = a->pod->incarnation;
    }
    if (a->type != ACTION_DELETE_OWNED)
        return;
    owned_name(name, tj, a->owned, a->generation);
    ref = cache_owned(ex->c->cache, a->owned, &tj->meta, name);
    s->object.name = arena_strdup(&ex->plan.arena, name);
    s->object.uid = arena_strdup(&ex->plan.arena, ref ? ref->meta.uid : "");
}

void executor_start(struct controller *c, const char *key, const struct tj *tj, struct plan *plan)
{
    struct executor *ex = xcalloc(1, sizeof *ex);

    *ex = (struct executor){.source.next = executor_next,
                            .c = c,
                            .key = xstrdup(key),
                            .uid = xstrdup(tj->meta.uid),
                            .plan = *plan,
                            .next = c->executors,
                            .restarts = tj->status.restarts,
                            .was_terminal = status_terminal(&tj->status)};
    memset(plan, 0, sizeof *plan);
    memcpy(ex->version, tj->meta.resource_version, RV_SIZE);
    ex->n_requests = ex->plan.status ? 1 : ex->plan.n_actions;
    ex->requests = xcalloc(ex->n_requests, sizeof *ex->requests);
    ex->requests[0].ex = ex;
    for (size_t i = 0; !ex->plan.status && i < ex->n_requests; i++)
        action_init(ex, &ex->requests[i], &ex->plan.actions[i], tj);
    if (c->executors)
        c->executors->previous = ex;
    c->executors = ex;
    dispatcher_wake(&c->dispatcher, &ex->source);
}

void executor_free_all(struct controller *c)
{
    while (c->executors) {
        struct executor *ex = c->executors;

        c->executors = ex->next;
        executor_free(ex);
    }
}
