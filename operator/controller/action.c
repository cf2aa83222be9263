#include "operator/controller/action.h"

#include <stdio.h>
#include <string.h>

#include "operator/api/pod_events.h"
#include "operator/controller/decode.h"
#include "operator/controller/requests.h"
#include "paceline/log.h"
#include "paceline/mem.h"

struct job_state *executor_job_state(struct executor *ex)
{
    return job_states_of(ex->c->job_states, ex->key, ex->uid, ex->c->now.mono_ms);
}

void executor_keep_sentence(char **at, const char *message)
{
    free(*at);
    *at = xstrdup(message);
}

/*
 * After a conflict the object is read and the plan made again at once. Not twice in a row: until a
 * plan goes through, all further conflicts are failures with the back-off of the key, as the watch
 * brings the object as well.
 */
static bool should_read(struct executor *ex)
{
    struct job_state *m = executor_job_state(ex);
    bool first = !m->reread;

    ex->conflicted = m->reread = true;
    return first;
}

void executor_block(struct executor *ex, const char *message)
{
    executor_keep_sentence(&executor_job_state(ex)->blocked, message);
    executor_job_state(ex)->name_taken = false;
    ex->failed = ex->give_up = true;
}

/* Answers that mean the same for every kind of request. */
static void action_fail(struct executor *ex, enum answer answer, const char *message)
{
    ex->failed = true;
    if (answer == ANSWER_BUSY || answer == ANSWER_UNKNOWN)
        log_debug("request failed job=%s: %s", ex->key, message);
    else
        log_info("request refused job=%s: %s", ex->key, message);
}

static void done(struct action_request *s)
{
    s->ex->n_open--;
    executor_end_if_done(s->ex);
}

static void again(struct action_request *s, struct api_request r, dispatcher_done_fn *fn)
{
    dispatcher_add(&s->ex->c->dispatcher, r, fn, s);
}

/*
 * The API server has the object, and it is ours, but we do not see it: somebody edited its labels,
 * or it is just going. The plan would be the same again, so it waits, and after a while says why.
 */
static void hidden(struct executor *ex, const char *kind, const char *name)
{
    char sentence[400];

    snprintf(sentence, sizeof sentence,
             "%s %s exists, but its labels are not those that the operator gave it: put them back "
             "or delete it",
             kind, name);
    if (executor_job_state(ex)->failures < 3)
        action_fail(ex, ANSWER_UNKNOWN, sentence);
    else
        executor_block(ex, sentence);
}

/* Whether the object is of a job of this namespace and name, this one or one before it. */
static bool has_name_of(const struct executor *ex, const struct meta *object)
{
    char key[KEY_SIZE];

    if (!object->owner_uid)
        return false;
    key_make(key, object->namespace_, object->owner_name);
    return strcmp(key, ex->key) == 0;
}

static bool executor_owns(const struct executor *ex, const struct meta *object)
{
    return has_name_of(ex, object) && strcmp(object->owner_uid, ex->uid) == 0;
}

/*
 * An object of this name is there and is not the job's: that becomes a condition. One that is being
 * deleted is waited for first. So is one of a former job of the same name, as the garbage
 * collector takes its time.
 */
static void foreign(struct executor *ex, const char *kind, const struct meta *object)
{
    char sentence[400];

    snprintf(sentence, sizeof sentence,
             "%s %s exists and does not belong to this job: delete it, or create the job with "
             "another name",
             kind, object->name);
    if ((object->deletion_ms || has_name_of(ex, object)) && executor_job_state(ex)->failures < 3) {
        action_fail(ex, ANSWER_UNKNOWN, sentence);
        return;
    }
    executor_block(ex, sentence);
    executor_job_state(ex)->name_taken = true;
}

/* Whether the pod that a step wanted to make is there, as far as we see. */
static bool has_pod_of(const struct action_request *s, const char *uid)
{
    const struct pod *pod = uid ? cache_pod(s->ex->c->cache, uid) : NULL;

    return pod && pod->role == s->action.role && pod->index == s->action.index &&
           pod->incarnation == s->action.incarnation;
}

/* After a refusal that a look at the object explains: somebody else was faster, or it is not ours.
 */
static void on_pod_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct executor *ex = s->ex;
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta = {.name = "?"};
    struct err err;

    if (answer == ANSWER_OK) {
        bool ours = meta_decode(&meta, body, &arena, &err) == 0 && executor_owns(ex, &meta);
        bool creates = s->action.type == ACTION_CREATE_POD;
        const char *found = meta.uid;

        if (s->pod.uid && found && strcmp(found, s->pod.uid) != 0)
            cache_delete_pod(ex->c->cache, s->pod.uid, "");
        if (ours || !creates)
            decode_object(ex->c, RESOURCE_PODS, body, CACHE_ANSWER);
        if (!ours && creates)
            foreign(ex, "Pod", &meta);
        else if (creates && !has_pod_of(s, found))
            hidden(ex, "pod", meta.name);
    } else if (answer == ANSWER_NOT_FOUND) {
        if (s->pod.uid)
            cache_delete_pod(ex->c->cache, s->pod.uid, "");
    } else {
        action_fail(ex, answer, message);
    }
    done(s);
}

static void read_pod(struct action_request *s)
{
    struct executor *ex = s->ex;
    char name[NAME_SIZE], namespace_[256];

    snprintf(namespace_, sizeof namespace_, "%.*s", (int)strcspn(ex->key, "/"), ex->key);
    pod_name(name, strchr(ex->key, '/') + 1, s->action.role, s->action.index,
             s->action.incarnation);
    again(s, request_get_pod(namespace_, s->pod.name ? s->pod.name : name), on_pod_read);
}

void action_pod_created(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct executor *ex = s->ex;

    switch (answer) {
    case ANSWER_OK:
        decode_object(ex->c, RESOURCE_PODS, body, CACHE_ANSWER);
        break;
    case ANSWER_EXISTS:
        read_pod(s);
        return;
    case ANSWER_FORBIDDEN:
    case ANSWER_INVALID:
    case ANSWER_NOT_FOUND: /* the namespace */
        executor_block(ex, message);
        break;
    default:
        executor_job_state(ex)->uncertain = true;
        ex->give_up = true;
        action_fail(ex, answer, message);
    }
    done(s);
}

void action_rehearsed(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct job_state *m = executor_job_state(s->ex);
    const struct tj *tj = executor_job(s->ex);

    (void)body;
    if (answer == ANSWER_OK || answer == ANSWER_EXISTS) {
        m->dry_run_ok[s->action.role] = true;
        if (tj && tj->job)
            accepted_templates_note(&s->ex->c->templates, tj, s->action.role,
                                    s->ex->c->now.mono_ms);
    } else if (answer == ANSWER_INVALID)
        executor_keep_sentence(&m->invalid_template, message);
    else if (answer == ANSWER_FORBIDDEN || answer == ANSWER_NOT_FOUND)
        executor_block(s->ex, message);
    else
        action_fail(s->ex, answer, message);
    done(s);
}

static void note_made(struct executor *ex, const struct action *a)
{
    struct job_state *m = executor_job_state(ex);

    m->made[a->owned] = a->generation;
    m->made_mono_ms[a->owned] = ex->c->now.mono_ms;
}

static bool is_watched(enum owned_kind kind)
{
    return kind != OWNED_SECRET && kind != OWNED_POD_GROUP;
}

static void on_owned_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct executor *ex = s->ex;
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta;
    struct err err;

    if (answer == ANSWER_OK && meta_decode(&meta, body, &arena, &err) == 0) {
        if (executor_owns(ex, &meta)) {
            const struct tj *tj = executor_job(ex);

            note_made(ex, &s->action);
            if (is_watched(s->action.owned)) {
                decode_owned(ex->c, s->action.owned, body, CACHE_ANSWER);
                if (tj && !cache_owned(ex->c->cache, s->action.owned, &tj->meta, meta.name))
                    hidden(ex, owned_kind_names[s->action.owned], meta.name);
            }
        } else {
            foreign(ex, owned_kind_names[s->action.owned], &meta);
        }
    } else if (answer != ANSWER_NOT_FOUND) {
        action_fail(ex, answer, message);
    }
    done(s);
}

void action_owned_created(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct executor *ex = s->ex;
    enum owned_kind kind = s->action.owned;
    const struct tj *tj = executor_job(ex);

    if (answer == ANSWER_OK) {
        note_made(ex, &s->action);
        if (is_watched(kind)) /* nobody would tell us what became of it */
            decode_owned(ex->c, kind, body, CACHE_ANSWER);
    } else if (answer == ANSWER_EXISTS && kind == OWNED_SECRET) {
        note_made(ex, &s->action); /* its name stands for its key, and we may not read */
    } else if (answer == ANSWER_EXISTS && tj) {
        char name[NAME_SIZE];

        owned_name(name, tj, kind, tj->status.world.generation);
        again(s, request_get_owned(tj, kind, name), on_owned_read);
        return;
    } else if (answer == ANSWER_FORBIDDEN && s->action.again) {
        note_made(ex, &s->action); /* a quota counts before a name is looked up */
    } else if (answer == ANSWER_NOT_FOUND && kind == OWNED_POD_GROUP) {
        executor_block(ex,
                       "the cluster has no such PodGroups: install the gang's scheduler, or set "
                       "runPolicy.schedulingPolicy.gang to None");
    } else if (answer == ANSWER_FORBIDDEN || answer == ANSWER_INVALID ||
               answer == ANSWER_NOT_FOUND) {
        executor_block(ex, message);
    } else {
        action_fail(ex, answer, message);
    }
    done(s);
}

void action_owned_deleted(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct job_state *m = executor_job_state(s->ex);
    const struct action *a = &s->action;

    (void)body;
    if (answer != ANSWER_OK && answer != ANSWER_NOT_FOUND) {
        /* Also a conflict: if its name is another one's by now, the watch says so. */
        action_fail(s->ex, answer, message);
    } else {
        cache_delete_owned(s->ex->c->cache, a->owned, s->object.uid, "");
        if (a->owned == OWNED_POD_GROUP)
            m->groups_gone = a->generation;
    }
    done(s);
}

/* One that we do not watch is read first: it goes by its UID, and only if it is the job's. */
void action_old_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    const struct tj *tj = executor_job(s->ex);
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta;
    struct err err;

    if (answer == ANSWER_OK && tj && meta_decode(&meta, body, &arena, &err) == 0 &&
        meta_controls(&tj->meta, &meta)) {
        again(s, request_delete_owned(tj, &meta, s->action.owned), action_owned_deleted);
        return;
    }
    action_owned_deleted(s, answer == ANSWER_OK ? ANSWER_NOT_FOUND : answer, NULL, message);
}

void action_pod_changed(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct executor *ex = s->ex;
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "kind"));

    if (answer == ANSWER_OK) {
        if (!kind || strcmp(kind, "Pod") != 0 || decode_is_gone(body)) {
            cache_delete_pod(ex->c->cache, s->pod.uid, "");
            done(s);
            return;
        }
        decode_object(ex->c, RESOURCE_PODS, body, CACHE_ANSWER);
        if (s->action.type == ACTION_FORCE_DELETE_POD && !s->second) {
            s->second = true; /* and not if its node has just reported: that would be lost */
            decode_version(body, s->pod.resource_version);
            again(s, request_release(&s->pod, true), action_pod_changed);
            return;
        }
        if (s->action.type == ACTION_FORCE_DELETE_POD) /* at once again would be for ever */
            action_fail(ex, answer, "a pod stays: it has a finalizer of somebody else");
    } else if (answer == ANSWER_NOT_FOUND) {
        cache_delete_pod(ex->c->cache, s->pod.uid, "");
    } else if ((answer == ANSWER_CONFLICT || answer == ANSWER_INVALID) && should_read(ex)) {
        /* It changed, or the name is another pod's: a patch of another UID is invalid. */
        read_pod(s);
        return;
    } else {
        action_fail(ex, answer, message);
    }
    done(s);
}

/* Nothing depends on them, so a refusal is no failure: then they say nothing. */
void action_events_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct job_state *m = executor_job_state(s->ex);
    AUTO(arena_release) struct arena arena = {0};
    const char *sentence = answer == ANSWER_OK ? pod_events_newest(body, &arena) : NULL;

    if (answer != ANSWER_OK)
        log_debug("events not read job=%s: %s", s->ex->key, message);
    executor_keep_sentence(&m->events_pod, s->pod.uid);
    free(STEAL(m->events_sentence));
    m->events_sentence = sentence ? xstrdup(sentence) : NULL;
    m->events_mono_ms = s->ex->c->now.mono_ms;
    done(s);
}

static void on_job_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct executor *ex = s->ex;
    const struct tj *tj = executor_job(ex);

    if (answer == ANSWER_OK) {
        decode_object(ex->c, RESOURCE_JOBS, body, CACHE_ANSWER);
    } else if (answer != ANSWER_NOT_FOUND) {
        action_fail(ex, answer, message);
    } else if (tj) {
        decode_no_job(ex->c, tj);
    }
    done(s);
}

void action_job_read_whole(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct executor *ex = arg;
    const struct tj *tj;
    struct err err;

    ex->n_open--;
    if (answer == ANSWER_OK) {
        decode_object(ex->c, RESOURCE_JOBS, body, CACHE_ANSWER);
        if (tj_decode(&ex->whole, body, &err) == 0 && strcmp(ex->whole->meta.uid, ex->uid) == 0 &&
            strcmp(ex->whole->meta.resource_version, ex->version) == 0) {
            dispatcher_wake(&ex->c->dispatcher, &ex->source);
            return;
        }
        ex->conflicted = true; /* it has changed: the plan is of another version */
    } else if (answer == ANSWER_NOT_FOUND) {
        tj = executor_job(ex);
        if (tj)
            decode_no_job(ex->c, tj);
    } else {
        action_fail(ex, answer, message);
    }
    ex->give_up = true;
    executor_end_if_done(ex);
}

static void action_read_job(struct action_request *s)
{
    char namespace_[256];

    snprintf(namespace_, sizeof namespace_, "%.*s", (int)strcspn(s->ex->key, "/"), s->ex->key);
    again(s, request_get_job(namespace_, strchr(s->ex->key, '/') + 1), on_job_read);
}

/* The status is written: what it says of restarts and ends goes into the metrics. */
static void count_status(struct executor *ex)
{
    const struct tj_status *status = ex->plan.status;
    const struct condition *restarting = &status->conditions[COND_RESTARTING];
    struct snapshot *stats = &ex->c->stats;
    enum snapshot_restart why = SNAPSHOT_EXIT;

    if (restarting->reason && (strcmp(restarting->reason, "PodDisrupted") == 0 ||
                               strcmp(restarting->reason, "PodDeleted") == 0))
        why = SNAPSHOT_DISRUPTED;
    else if (restarting->reason && strcmp(restarting->reason, "NodeLost") == 0)
        why = SNAPSHOT_LOST;
    if (status->restarts > ex->restarts)
        stats->restarts[why] += (uint64_t)(status->restarts - ex->restarts);
    if (!ex->was_terminal && status->conditions[COND_SUCCEEDED].status)
        stats->jobs_finished[0]++;
    if (!ex->was_terminal && status->conditions[COND_FAILED].status)
        stats->jobs_finished[1]++;
}

/* Whether the answer shows what was written; a CRD that lacks a field drops it without a word, and
 * the same status would be written for ever. */
static bool was_kept(struct executor *ex, const cJSON *body)
{
    const struct tj *tj = executor_job(ex);
    char version[RV_SIZE] = "";

    decode_version(body, version);
    return !tj || strcmp(version, tj->meta.resource_version) != 0 ||
           status_equal_durable(&tj->status, ex->plan.status);
}

void action_status_written(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct executor *ex = s->ex;

    switch (answer) {
    case ANSWER_OK:
        executor_job_state(ex)->status_written_mono_ms = ex->c->now.mono_ms;
        count_status(ex);
        if (!decode_object(ex->c, RESOURCE_JOBS, body, CACHE_ANSWER))
            action_fail(ex, ANSWER_UNKNOWN, "the answer is no TrainingJob");
        else if (!was_kept(ex, body))
            action_fail(
                ex, ANSWER_INVALID,
                "the API server did not keep the status: is the CRD older than the operator?");
        break;
    case ANSWER_CONFLICT:
        if (!should_read(ex)) {
            action_fail(ex, answer, message);
            break;
        }
        action_read_job(s);
        return;
    case ANSWER_NOT_FOUND:
        action_read_job(s);
        return;
    default:
        action_fail(ex, answer, message);
    }
    done(s);
}

void action_job_deleted(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct action_request *s = arg;
    struct executor *ex = s->ex;

    (void)body;
    if (answer == ANSWER_OK || answer == ANSWER_CONFLICT || answer == ANSWER_NOT_FOUND) {
        action_read_job(s);
        return;
    }
    action_fail(ex, answer, message);
    done(s);
}
