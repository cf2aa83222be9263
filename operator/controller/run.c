#include "operator/controller/run.h"

#include <stdio.h>
#include <string.h>

#include "operator/controller/decode.h"
#include "operator/controller/orphans.h"
#include "operator/controller/requests.h"
#include "operator/controller/state.h"
#include "paceline/log.h"
#include "paceline/mem.h"

/* One action, with what it needs of its pod: the cache may have forgotten it by then. */
struct step {
    struct run *run;
    struct action action;
    struct meta pod; /* strings in the plan's arena */
    struct owned_ref_name {
        const char *name, *uid;
    } object;
    bool second; /* the other half of a forced deletion */
};

struct run {
    struct source source; /* first */
    struct run *next, *previous;
    struct controller *c;
    char *key, *uid;
    char version[RV_SIZE]; /* of the job that the plan was made for */
    struct plan plan;
    struct step *steps;
    size_t n_steps, at;
    size_t n_open;    /* requests without an answer */
    bool give_up;     /* send no more */
    bool failed;      /* back off before the next look */
    int64_t restarts; /* of the job before a status is written */
    bool was_terminal;
    struct pod_maker *makers[N_CLUSTER_ROLES];
};

static const struct tj *job_of(const struct run *run)
{
    const struct tj *tj = job_of_key(run->c, run->key);

    return tj && strcmp(tj->meta.uid, run->uid) == 0 ? tj : NULL;
}

static void run_free(struct run *run)
{
    for (int i = 0; i < N_CLUSTER_ROLES; i++)
        pod_maker_free(run->makers[i]);
    plan_release(&run->plan);
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
    if (run->plan.status && m->blocked) /* does not show that pods can be made again */
        return;
    free(STEAL(m->blocked));
    m->failures = 0;
    m->hold_mono_ms = m->status_hold_mono_ms = 0;
    if (m->dirty_mono_ms)
        histogram_add(&c->stats.sync, (double)(c->now.mono_ms - m->dirty_mono_ms) / 1e3);
    m->dirty_mono_ms = 0;
}

static void end_if_done(struct run *run)
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
    workqueue_add(c->queue, run->key, c->now.mono_ms);
    workqueue_done(c->queue, run->key, c->now.mono_ms);
    run_free(run);
}

static struct memory *memory_of_run(struct run *run)
{
    return memories_of(run->c->memories, run->key, run->uid);
}

static void keep_sentence(char **at, const char *message)
{
    free(*at);
    *at = xstrdup(message);
}

/*
 * After a conflict the object is read, but not twice in a row: the watch brings it as well, and
 * write and read in lockstep could meet a server that refuses every other request for ever.
 */
static bool should_read(struct run *run)
{
    struct memory *m = memory_of_run(run);

    m->reread = !m->reread;
    return m->reread;
}

/* The server takes no more of these for now: its sentence becomes a condition. */
static void block(struct run *run, const char *message)
{
    keep_sentence(&memory_of_run(run)->blocked, message);
    run->failed = run->give_up = true;
}

/* Answers that mean the same for every kind of request. */
static void fail(struct run *run, enum answer answer, const char *message)
{
    run->failed = true;
    if (answer == ANSWER_BUSY || answer == ANSWER_UNKNOWN)
        log_debug("request failed job=%s: %s", run->key, message);
    else
        log_info("request refused job=%s: %s", run->key, message);
}

static void done(struct step *s)
{
    s->run->n_open--;
    end_if_done(s->run);
}

static void again(struct step *s, struct request r, outbox_done_fn *fn)
{
    outbox_add(&s->run->c->outbox, r, fn, s);
}

/*
 * The API server has the object, and it is ours, but we do not see it: somebody edited its labels,
 * or it is just going. The plan would be the same again, so it waits, and after a while says why.
 */
static void hidden(struct run *run, const char *kind, const char *name)
{
    char sentence[400];

    snprintf(sentence, sizeof sentence,
             "%s %s exists, but its labels are not those that the operator gave it: put them back "
             "or delete it",
             kind, name);
    if (memory_of_run(run)->failures < 3)
        fail(run, ANSWER_UNKNOWN, sentence);
    else
        block(run, sentence);
}

/* Whether the pod that a step wanted to make is there, as far as we see. */
static bool has_pod_of(const struct step *s, const char *uid)
{
    const struct pod *pod = uid ? cache_pod(s->run->c->cache, uid) : NULL;

    return pod && pod->role == s->action.role && pod->index == s->action.index &&
           pod->incarnation == s->action.incarnation;
}

/* After a refusal that a look at the object explains: somebody else was faster, or it is not ours.
 */
static void on_pod_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;
    const cJSON *owner = NULL;
    bool ours = false;

    if (answer == ANSWER_OK) {
        const cJSON *meta = cJSON_GetObjectItemCaseSensitive(body, "metadata");

        const char *found = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "uid"));

        if (s->pod.uid && found && strcmp(found, s->pod.uid) != 0)
            cache_delete_pod(run->c->cache, s->pod.uid, "");
        cJSON_ArrayForEach(owner, cJSON_GetObjectItemCaseSensitive(meta, "ownerReferences"))
        {
            const char *uid = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(owner, "uid"));

            ours = ours || (uid && strcmp(uid, run->uid) == 0);
        }
        decode_object(run->c, RESOURCE_PODS, body, CACHE_ANSWER);
        if (!ours && s->action.type == ACTION_CREATE_POD) {
            char sentence[400], name[NAME_SIZE];

            pod_name(name, strchr(run->key, '/') + 1, s->action.role, s->action.index,
                     s->action.incarnation);
            snprintf(sentence, sizeof sentence,
                     "pod %s exists and belongs to something else; it must go first", name);
            block(run, sentence);
        } else if (s->action.type == ACTION_CREATE_POD && !has_pod_of(s, found)) {
            hidden(run, "pod", cJSON_GetStringValue(cJSON_GetObjectItem(meta, "name")));
        }
    } else if (answer == ANSWER_NOT_FOUND) {
        if (s->pod.uid)
            cache_delete_pod(run->c->cache, s->pod.uid, "");
    } else {
        fail(run, answer, message);
    }
    done(s);
}

static void read_pod(struct step *s)
{
    struct run *run = s->run;
    char name[NAME_SIZE], namespace_[256];

    snprintf(namespace_, sizeof namespace_, "%.*s", (int)strcspn(run->key, "/"), run->key);
    pod_name(name, strchr(run->key, '/') + 1, s->action.role, s->action.index,
             s->action.incarnation);
    again(s, request_get_pod(namespace_, s->pod.name ? s->pod.name : name), on_pod_read);
}

static void on_pod_created(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;

    switch (answer) {
    case ANSWER_OK:
        decode_object(run->c, RESOURCE_PODS, body, CACHE_ANSWER);
        break;
    case ANSWER_EXISTS:
        read_pod(s);
        return;
    case ANSWER_FORBIDDEN:
    case ANSWER_INVALID:
    case ANSWER_NOT_FOUND: /* the namespace */
        block(run, message);
        break;
    default:
        memory_of_run(run)->uncertain = true;
        run->give_up = true;
        fail(run, answer, message);
    }
    done(s);
}

static void on_dry_run(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct memory *m = memory_of_run(s->run);
    const struct tj *tj = job_of(s->run);

    (void)body;
    if (answer == ANSWER_OK || answer == ANSWER_EXISTS) {
        m->dry_run_ok[s->action.role] = true;
        if (tj && tj->job)
            templates_note(&s->run->c->templates, tj, s->action.role, s->run->c->now.mono_ms);
    } else if (answer == ANSWER_INVALID)
        keep_sentence(&m->invalid_template, message);
    else if (answer == ANSWER_FORBIDDEN || answer == ANSWER_NOT_FOUND)
        block(s->run, message);
    else
        fail(s->run, answer, message);
    done(s);
}

static bool is_watched(enum owned_kind kind)
{
    return kind != OWNED_SECRET && kind != OWNED_POD_GROUP;
}

static void on_owned_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta;
    struct err err;

    if (answer == ANSWER_OK && meta_decode(&meta, body, &arena, &err) == 0) {
        if (meta.owner_uid && strcmp(meta.owner_uid, run->uid) == 0) {
            memory_of_run(run)->made[s->action.owned] = s->action.generation;
            decode_owned(run->c, s->action.owned, body, CACHE_ANSWER);
            if (is_watched(s->action.owned) &&
                !cache_owned(run->c->cache, s->action.owned, run->uid, meta.name))
                hidden(run, owned_kind_names[s->action.owned], meta.name);
        } else {
            char sentence[400];

            snprintf(sentence, sizeof sentence,
                     "%s %s exists and does not belong to this job; it must go first",
                     owned_kind_names[s->action.owned], meta.name);
            block(run, sentence);
        }
    } else if (answer != ANSWER_NOT_FOUND) {
        fail(run, answer, message);
    }
    done(s);
}

static void on_owned_created(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;
    enum owned_kind kind = s->action.owned;
    const struct tj *tj = job_of(run);

    if (answer == ANSWER_OK) {
        memory_of_run(run)->made[kind] = s->action.generation;
        if (kind != OWNED_SECRET) /* its bytes go no further */
            decode_owned(run->c, kind, body, CACHE_ANSWER);
    } else if (answer == ANSWER_EXISTS && kind == OWNED_SECRET) {
        memory_of_run(run)->made[kind] =
            s->action.generation; /* its name has the job's UID, and we may not read */
    } else if (answer == ANSWER_EXISTS && tj) {
        char name[NAME_SIZE];

        owned_name(name, tj, kind, tj->status.world.generation);
        again(s, request_get_owned(tj, kind, name), on_owned_read);
        return;
    } else if (answer == ANSWER_NOT_FOUND && kind == OWNED_POD_GROUP) {
        block(run, "the cluster has no such PodGroups: install the gang's scheduler, or set "
                   "runPolicy.schedulingPolicy.gang to None");
    } else if (answer == ANSWER_FORBIDDEN || answer == ANSWER_INVALID ||
               answer == ANSWER_NOT_FOUND) {
        block(run, message);
    } else {
        fail(run, answer, message);
    }
    done(s);
}

static void on_owned_deleted(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;

    (void)body;
    if (answer == ANSWER_OK || answer == ANSWER_NOT_FOUND || answer == ANSWER_CONFLICT)
        cache_delete_owned(s->run->c->cache, s->action.owned, s->object.uid, "");
    else
        fail(s->run, answer, message);
    done(s);
}

static void on_pod_changed(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "kind"));

    if (answer == ANSWER_OK) {
        if (!kind || strcmp(kind, "Pod") != 0 || decode_is_gone(body)) {
            cache_delete_pod(run->c->cache, s->pod.uid, "");
            done(s);
            return;
        }
        decode_object(run->c, RESOURCE_PODS, body, CACHE_ANSWER);
        if (s->action.type == ACTION_FORCE_DELETE_POD && !s->second) {
            s->second = true; /* and not if its node has just reported: that would be lost */
            decode_version(body, s->pod.resource_version);
            again(s, request_release(&s->pod, true), on_pod_changed);
            return;
        }
    } else if (answer == ANSWER_NOT_FOUND) {
        cache_delete_pod(run->c->cache, s->pod.uid, "");
    } else if ((answer == ANSWER_CONFLICT || answer == ANSWER_INVALID) && should_read(run)) {
        /* It changed, or the name is another pod's: a patch of another UID is invalid. */
        read_pod(s);
        return;
    } else {
        fail(run, answer, message);
    }
    done(s);
}

static void on_job_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;
    const struct tj *tj = job_of(run);

    if (answer == ANSWER_OK) {
        decode_object(run->c, RESOURCE_JOBS, body, CACHE_ANSWER);
    } else if (answer != ANSWER_NOT_FOUND) {
        fail(run, answer, message);
    } else if (tj) {
        cache_delete_job(run->c->cache, tj->meta.namespace_, tj->meta.name, run->uid, "");
        orphans_job_gone(run->c, run->uid);
    }
    done(s);
}

static void read_job(struct step *s)
{
    char namespace_[256];

    snprintf(namespace_, sizeof namespace_, "%.*s", (int)strcspn(s->run->key, "/"), s->run->key);
    again(s, request_get_job(namespace_, strchr(s->run->key, '/') + 1), on_job_read);
}

/* The status is written: what it says of restarts and ends goes into the metrics. */
static void count_status(struct run *run)
{
    const struct tj_status *status = run->plan.status;
    const struct condition *restarting = &status->conditions[COND_RESTARTING];
    struct snapshot *stats = &run->c->stats;
    enum snapshot_restart why = SNAPSHOT_EXIT;

    if (restarting->reason && (strcmp(restarting->reason, "PodDisrupted") == 0 ||
                               strcmp(restarting->reason, "PodDeleted") == 0))
        why = SNAPSHOT_DISRUPTED;
    else if (restarting->reason && strcmp(restarting->reason, "NodeLost") == 0)
        why = SNAPSHOT_LOST;
    if (status->restarts > run->restarts)
        stats->restarts[why] += (uint64_t)(status->restarts - run->restarts);
    if (!run->was_terminal && status->conditions[COND_SUCCEEDED].status)
        stats->jobs_finished[0]++;
    if (!run->was_terminal && status->conditions[COND_FAILED].status)
        stats->jobs_finished[1]++;
}

/* Whether the answer shows what was written; a CRD that lacks a field drops it without a word, and
 * the same status would be written for ever. */
static bool was_kept(struct run *run, const cJSON *body)
{
    const struct tj *tj = job_of(run);
    char version[RV_SIZE] = "";

    decode_version(body, version);
    return !tj || strcmp(version, tj->meta.resource_version) != 0 ||
           status_equal_durable(&tj->status, run->plan.status);
}

static void on_status(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;

    switch (answer) {
    case ANSWER_OK:
        memory_of_run(run)->status_written_mono_ms = run->c->now.mono_ms;
        count_status(run);
        if (!decode_object(run->c, RESOURCE_JOBS, body, CACHE_ANSWER))
            fail(run, ANSWER_UNKNOWN, "the answer is no TrainingJob");
        else if (!was_kept(run, body))
            fail(run, ANSWER_INVALID,
                 "the API server did not keep the status: is the CRD older than the operator?");
        break;
    case ANSWER_CONFLICT:
        if (!should_read(run)) {
            fail(run, answer, message);
            break;
        }
        read_job(s);
        return;
    case ANSWER_NOT_FOUND:
        read_job(s);
        return;
    default:
        fail(run, answer, message);
    }
    done(s);
}

static void on_job_deleted(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;

    (void)body;
    if (answer == ANSWER_OK || answer == ANSWER_CONFLICT || answer == ANSWER_NOT_FOUND) {
        read_job(s);
        return;
    }
    fail(run, answer, message);
    done(s);
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
        keep_sentence(&memory_of_run(run)->invalid_template, message);
    block(run, message);
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
    *fn = dry_run ? on_dry_run : on_pod_created;
    return true;
}

static bool make_owned(struct run *run, const struct tj *tj, const struct action *a,
                       struct request *r, outbox_done_fn **fn)
{
    struct err err;
    struct buf body;

    buf_init(&body, 0);
    if (owned_body(&run->c->objects, tj, a->owned, &body, &err)) {
        buf_release(&body);
        return cannot_make(run, a, err.msg);
    }
    *r = request_create_owned(tj, a->owned, &body);
    *fn = on_owned_created;
    return true;
}

static bool make_request(struct step *s, const struct tj *tj, struct request *r,
                         outbox_done_fn **fn)
{
    struct run *run = s->run;
    const struct action *a = &s->action;

    if (run->plan.status) {
        *r = request_patch_status(tj, run->plan.status);
        *fn = on_status;
        return true;
    }
    *fn = on_pod_changed;
    switch (a->type) {
    case ACTION_DRY_RUN_POD:
    case ACTION_CREATE_POD:
        return make_pod(run, tj, a, r, fn);
    case ACTION_CREATE_OWNED:
        return make_owned(run, tj, a, r, fn);
    case ACTION_DELETE_OWNED:
        *r = request_delete_owned(tj, &(struct meta){.name = s->object.name, .uid = s->object.uid},
                                  a->owned);
        *fn = on_owned_deleted;
        return true;
    case ACTION_DELETE_POD:
    case ACTION_FORCE_DELETE_POD:
        *r = request_delete_pod(&s->pod, a->type == ACTION_FORCE_DELETE_POD);
        return true;
    case ACTION_RELEASE_POD:
        *r = request_release(&s->pod, false);
        return true;
    case ACTION_DELETE_JOB:
        *r = request_delete_job(&tj->meta);
        *fn = on_job_deleted;
        return true;
    }
    return false;
}

/* The plan holds for the job as it was: any change to it ends the run. */
static bool still_holds(const struct run *run, const struct tj *tj)
{
    return tj && strcmp(tj->meta.resource_version, run->version) == 0 &&
           lease_leads(&run->c->lease);
}

static bool run_next(struct source *source, struct request *r, outbox_done_fn **fn, void **arg)
{
    struct run *run = (struct run *)source;
    const struct tj *tj = job_of(run);

    if (!still_holds(run, tj))
        run->give_up = true;
    while (!run->give_up && run->at < run->n_steps) {
        struct step *s = &run->steps[run->at++];

        if (make_request(s, tj, r, fn)) {
            *arg = s;
            run->n_open++;
            return true;
        }
    }
    end_if_done(run);
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
    ref = cache_owned(run->c->cache, a->owned, tj->meta.uid, name);
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
