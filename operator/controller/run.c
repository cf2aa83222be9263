#include "operator/controller/run.h"

#include <string.h>

#include "operator/controller/budget.h"
#include "operator/controller/place.h"
#include "operator/controller/requests.h"
#include "operator/controller/step.h"
#include "paceline/mem.h"

const struct tj *run_job(const struct run *run)
{
    const struct tj *tj = job_of_key(run->c, run->key);

    return tj && strcmp(tj->meta.uid, run->uid) == 0 ? tj : NULL;
}

static void run_free(struct run *run)
{
    for (int i = 0; i < N_CLUSTER_ROLES; i++)
        pod_maker_free(run->makers[i]);
    plan_release(&run->plan);
    tj_free(run->whole);
    free(run->steps);
    free(run->key);
    free(run->uid);
    free(run);
}

/* What the job's next look must know. */
static void remember(struct run *run)
{
    struct controller *c = run->c;
    struct memory *m = memories_find(c->memories, run->key);

    if (!m || strcmp(m->uid, run->uid) != 0)
        return;
    if (run->failed) {
        m->failed = true;
        m->status_failed = run->plan.status != NULL;
        return;
    }
    if (run->conflicted) /* what was read says nothing of the next write */
        return;
    m->reread = false;
    if (run->plan.status && m->blocked) /* does not show that pods can be made again */
        return;
    free(STEAL(m->blocked));
    m->failures = 0;
    m->hold_mono_ms = m->status_hold_mono_ms = 0;
    if (m->dirty_mono_ms)
        histogram_add(&c->stats.sync, (double)(c->now.mono_ms - m->dirty_mono_ms) / 1e3);
    m->dirty_mono_ms = 0;
}

void run_end_if_done(struct run *run)
{
    struct controller *c = run->c;

    if (run->n_open || (!run->give_up && run->at < run->n_steps))
        return;
    outbox_forget(&c->outbox, &run->source);
    remember(run);
    if (run->previous)
        run->previous->next = run->next;
    else
        c->runs = run->next;
    if (run->next)
        run->next->previous = run->previous;
    place_give_back(run);
    workqueue_add(c->queue, run->key, c->now.mono_ms);
    workqueue_done(c->queue, run->key, c->now.mono_ms);
    run_free(run);
}

static const struct pod_maker *maker_of(struct run *run, const struct tj *tj,
                                        enum cluster_role role, struct err *err)
{
    if (!run->makers[role])
        run->makers[role] = pod_maker_new(&run->c->objects, tj, role, err);
    return run->makers[role];
}

/* A template or an object that we ourselves cannot make: nothing is sent. */
static bool cannot_make(struct run *run, const struct action *a, const char *message)
{
    if (a->type == ACTION_DRY_RUN_POD)
        run_keep_sentence(&run_memory(run)->invalid_template, message);
    run_block(run, message);
    return false;
}

static bool make_pod(struct run *run, const struct tj *tj, const struct action *a,
                     struct request *r, outbox_done_fn **fn)
{
    struct err err;
    const struct pod_maker *maker = maker_of(run, tj, a->role, &err);
    bool dry_run = a->type == ACTION_DRY_RUN_POD;
    struct buf body;

    if (!maker)
        return cannot_make(run, a, err.msg);
    buf_init(&body, 0);
    pod_maker_body(maker, a->index, a->incarnation, &body);
    *r = request_create_pod(tj->meta.namespace_, &body, dry_run);
    *fn = dry_run ? step_rehearsed : step_pod_created;
    return true;
}

static bool make_owned(struct run *run, const struct tj *tj, const struct action *a,
                       struct request *r, outbox_done_fn **fn)
{
    struct err err;
    struct buf body;

    if (a->owned == OWNED_SECRET)
        buf_init_secret(&body, 0);
    else
        buf_init(&body, 0);
    if (owned_body(&run->c->objects, tj, a->owned, &body, &err)) {
        buf_release(&body);
        return cannot_make(run, a, err.msg);
    }
    *r = request_create_owned(tj, a->owned, &body);
    *fn = step_owned_created;
    return true;
}

static void delete_owned(struct step *s, const struct tj *tj, struct request *r,
                         outbox_done_fn **fn)
{
    struct meta object = {.name = s->object.name, .uid = s->object.uid};

    if (*object.uid) {
        *r = request_delete_owned(tj, &object, s->action.owned);
        *fn = step_owned_deleted;
    } else {
        *r = request_get_owned(tj, s->action.owned, object.name);
        *fn = step_old_read;
    }
}

static bool make_request(struct step *s, const struct tj *tj, struct request *r,
                         outbox_done_fn **fn)
{
    struct run *run = s->run;
    const struct action *a = &s->action;

    if (run->plan.status) {
        *r = request_patch_status(tj, run->plan.status);
        *fn = step_status_written;
        return true;
    }
    *fn = step_pod_changed;
    switch (a->type) {
    case ACTION_DRY_RUN_POD:
    case ACTION_CREATE_POD:
        return make_pod(run, tj, a, r, fn);
    case ACTION_CREATE_OWNED:
        return make_owned(run, tj, a, r, fn);
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
        *fn = step_events_read;
        return true;
    case ACTION_DELETE_JOB:
        *r = request_delete_job(&tj->meta);
        *fn = step_job_deleted;
        return true;
    case ACTION_LAUNCH:
        links_launch(run->c->links, run->key, tj, a->generation);
        return false;
    case ACTION_STOP:
        links_stop(run->c->links, run->key, a->generation);
        return false;
    case ACTION_KILL:
        links_kill(run->c->links, run->key, a->generation);
        return false;
    }
    return false;
}

/* Whether the step creates something from templates or layers. */
static bool needs_whole_job(const struct run *run, const struct step *s)
{
    static const bool needs[] = {
        [ACTION_DRY_RUN_POD] = true,
        [ACTION_CREATE_POD] = true,
        [ACTION_CREATE_OWNED] = true,
        [ACTION_LAUNCH] = true,
    };

    return !run->plan.status && (size_t)s->action.type < ARRAY_LEN(needs) && needs[s->action.type];
}

/* Requests the whole job. Returns false if it was requested before, or has to wait for a place. */
static bool read_whole_job(struct run *run, const struct tj *tj, struct request *r,
                           outbox_done_fn **fn, void **arg)
{
    if (!place_take(run) || run->asked_whole)
        return false;
    run->asked_whole = true;
    run->n_open++;
    *r = request_get_job(tj->meta.namespace_, tj->meta.name);
    *fn = step_job_read_whole;
    *arg = run;
    return true;
}

/* The plan holds for the job as it was: any change to it ends the run. */
static bool still_holds(const struct run *run, const struct tj *tj)
{
    return tj && strcmp(tj->meta.resource_version, run->version) == 0 && !run->c->stopping &&
           lease_leads(&run->c->lease);
}

static bool run_next(struct source *source, struct request *r, outbox_done_fn **fn, void **arg)
{
    struct run *run = (struct run *)source;
    const struct tj *tj = run_job(run);

    if (!still_holds(run, tj) || place_is_used_up(run))
        run->give_up = true;
    while (!run->give_up && run->at < run->n_steps) {
        struct step *s = &run->steps[run->at];
        int64_t began = budget_begin(run->c);
        bool made;

        if (tj->stripped && !run->whole && needs_whole_job(run, s))
            return read_whole_job(run, tj, r, fn, arg);
        run->at++;
        made = make_request(s, run->whole ? run->whole : tj, r, fn);
        budget_charge(run->c, run->key, began, 0);
        if (made) {
            *arg = s;
            run->n_open++;
            run->n_made++;
            if (run->at == run->n_steps)
                place_give_back(run);
            return true;
        }
    }
    if (run->whole)
        place_give_back(run);
    run_end_if_done(run);
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

static void step_init(struct run *run, struct step *s, const struct action *a, const struct tj *tj)
{
    char name[NAME_SIZE];
    const struct owned_ref *ref;

    s->run = run;
    s->action = *a;
    s->action.pod = NULL;
    if (a->pod) {
        copy_meta(&s->pod, &a->pod->meta, &run->plan.arena);
        s->action.role = a->pod->role;
        s->action.index = a->pod->index;
        s->action.incarnation = a->pod->incarnation;
    }
    if (a->type != ACTION_DELETE_OWNED)
        return;
    owned_name(name, tj, a->owned, a->generation);
    ref = cache_owned(run->c->cache, a->owned, &tj->meta, name);
    s->object.name = arena_strdup(&run->plan.arena, name);
    s->object.uid = arena_strdup(&run->plan.arena, ref ? ref->meta.uid : "");
}

void run_start(struct controller *c, const char *key, const struct tj *tj, struct plan *plan)
{
    struct run *run = xcalloc(1, sizeof *run);

    *run = (struct run){.source.next = run_next,
                        .c = c,
                        .key = xstrdup(key),
                        .uid = xstrdup(tj->meta.uid),
                        .plan = *plan,
                        .next = c->runs,
                        .restarts = tj->status.restarts,
                        .was_terminal = status_terminal(&tj->status)};
    memset(plan, 0, sizeof *plan);
    memcpy(run->version, tj->meta.resource_version, RV_SIZE);
    run->n_steps = run->plan.status ? 1 : run->plan.n_actions;
    run->steps = xcalloc(run->n_steps, sizeof *run->steps);
    run->steps[0].run = run;
    for (size_t i = 0; !run->plan.status && i < run->n_steps; i++)
        step_init(run, &run->steps[i], &run->plan.actions[i], tj);
    if (c->runs)
        c->runs->previous = run;
    c->runs = run;
    outbox_wake(&c->outbox, &run->source);
}

void run_free_all(struct controller *c)
{
    while (c->runs) {
        struct run *run = c->runs;

        c->runs = run->next;
        run_free(run);
    }
}
