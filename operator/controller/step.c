#include "operator/controller/step.h"

#include <stdio.h>
#include <string.h>

#include "operator/api/pod_events.h"
#include "operator/controller/decode.h"
#include "operator/controller/requests.h"
#include "paceline/log.h"
#include "paceline/mem.h"

struct memory *run_memory(struct run *run)
{
    return memories_of(run->c->memories, run->key, run->uid, run->c->now.mono_ms);
}

void run_keep_sentence(char **at, const char *message)
{
    free(*at);
    *at = xstrdup(message);
}

/*
 * After a conflict the object is read and the plan made again at once. Not twice in a row: until a
 * plan goes through, all further conflicts are failures with the back-off of the key, as the watch
 * brings the object as well.
 */
static bool should_read(struct run *run)
{
    struct memory *m = run_memory(run);
    bool first = !m->reread;

    run->conflicted = m->reread = true;
    return first;
}

void run_block(struct run *run, const char *message)
{
    run_keep_sentence(&run_memory(run)->blocked, message);
    run_memory(run)->name_taken = false;
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
    run_end_if_done(s->run);
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
    if (run_memory(run)->failures < 3)
        fail(run, ANSWER_UNKNOWN, sentence);
    else
        run_block(run, sentence);
}

/* Whether the object is of a job of this namespace and name, this one or one before it. */
static bool has_name_of(const struct run *run, const struct meta *object)
{
    char key[KEY_SIZE];

    if (!object->owner_uid)
        return false;
    key_make(key, object->namespace_, object->owner_name);
    return strcmp(key, run->key) == 0;
}

static bool run_owns(const struct run *run, const struct meta *object)
{
    return has_name_of(run, object) && strcmp(object->owner_uid, run->uid) == 0;
}

/*
 * An object of this name is there and is not the job's: that becomes a condition. One that is being
 * deleted is waited for first. So is one of a former job of the same name, as the garbage
 * collector takes its time.
 */
static void foreign(struct run *run, const char *kind, const struct meta *object)
{
    char sentence[400];

    snprintf(sentence, sizeof sentence,
             "%s %s exists and does not belong to this job: delete it, or create the job with "
             "another name",
             kind, object->name);
    if ((object->deletion_ms || has_name_of(run, object)) && run_memory(run)->failures < 3) {
        fail(run, ANSWER_UNKNOWN, sentence);
        return;
    }
    run_block(run, sentence);
    run_memory(run)->name_taken = true;
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
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta = {.name = "?"};
    struct err err;

    if (answer == ANSWER_OK) {
        bool ours = meta_decode(&meta, body, &arena, &err) == 0 && run_owns(run, &meta);
        bool creates = s->action.type == ACTION_CREATE_POD;
        const char *found = meta.uid;

        if (s->pod.uid && found && strcmp(found, s->pod.uid) != 0)
            cache_delete_pod(run->c->cache, s->pod.uid, "");
        if (ours || !creates)
            decode_object(run->c, RESOURCE_PODS, body, CACHE_ANSWER);
        if (!ours && creates)
            foreign(run, "Pod", &meta);
        else if (creates && !has_pod_of(s, found))
            hidden(run, "pod", meta.name);
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

void step_pod_created(void *arg, enum answer answer, const cJSON *body, const char *message)
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
        run_block(run, message);
        break;
    default:
        run_memory(run)->uncertain = true;
        run->give_up = true;
        fail(run, answer, message);
    }
    done(s);
}

void step_rehearsed(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct memory *m = run_memory(s->run);
    const struct tj *tj = run_job(s->run);

    (void)body;
    if (answer == ANSWER_OK || answer == ANSWER_EXISTS) {
        m->dry_run_ok[s->action.role] = true;
        if (tj && tj->job)
            templates_note(&s->run->c->templates, tj, s->action.role, s->run->c->now.mono_ms);
    } else if (answer == ANSWER_INVALID)
        run_keep_sentence(&m->invalid_template, message);
    else if (answer == ANSWER_FORBIDDEN || answer == ANSWER_NOT_FOUND)
        run_block(s->run, message);
    else
        fail(s->run, answer, message);
    done(s);
}

static void note_made(struct run *run, const struct action *a)
{
    struct memory *m = run_memory(run);

    m->made[a->owned] = a->generation;
    m->made_mono_ms[a->owned] = run->c->now.mono_ms;
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
        if (run_owns(run, &meta)) {
            const struct tj *tj = run_job(run);

            note_made(run, &s->action);
            if (is_watched(s->action.owned)) {
                decode_owned(run->c, s->action.owned, body, CACHE_ANSWER);
                if (tj && !cache_owned(run->c->cache, s->action.owned, &tj->meta, meta.name))
                    hidden(run, owned_kind_names[s->action.owned], meta.name);
            }
        } else {
            foreign(run, owned_kind_names[s->action.owned], &meta);
        }
    } else if (answer != ANSWER_NOT_FOUND) {
        fail(run, answer, message);
    }
    done(s);
}

void step_owned_created(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;
    enum owned_kind kind = s->action.owned;
    const struct tj *tj = run_job(run);

    if (answer == ANSWER_OK) {
        note_made(run, &s->action);
        if (is_watched(kind)) /* nobody would tell us what became of it */
            decode_owned(run->c, kind, body, CACHE_ANSWER);
    } else if (answer == ANSWER_EXISTS && kind == OWNED_SECRET) {
        note_made(run, &s->action); /* its name stands for its key, and we may not read */
    } else if (answer == ANSWER_EXISTS && tj) {
        char name[NAME_SIZE];

        owned_name(name, tj, kind, tj->status.world.generation);
        again(s, request_get_owned(tj, kind, name), on_owned_read);
        return;
    } else if (answer == ANSWER_FORBIDDEN && s->action.again) {
        note_made(run, &s->action); /* a quota counts before a name is looked up */
    } else if (answer == ANSWER_NOT_FOUND && kind == OWNED_POD_GROUP) {
        run_block(run, "the cluster has no such PodGroups: install the gang's scheduler, or set "
                       "runPolicy.schedulingPolicy.gang to None");
    } else if (answer == ANSWER_FORBIDDEN || answer == ANSWER_INVALID ||
               answer == ANSWER_NOT_FOUND) {
        run_block(run, message);
    } else {
        fail(run, answer, message);
    }
    done(s);
}

void step_owned_deleted(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct memory *m = run_memory(s->run);
    const struct action *a = &s->action;

    (void)body;
    if (answer != ANSWER_OK && answer != ANSWER_NOT_FOUND) {
        /* Also a conflict: if its name is another one's by now, the watch says so. */
        fail(s->run, answer, message);
    } else {
        cache_delete_owned(s->run->c->cache, a->owned, s->object.uid, "");
        if (a->owned == OWNED_POD_GROUP)
            m->groups_gone = a->generation;
    }
    done(s);
}

/* One that we do not watch is read first: it goes by its UID, and only if it is the job's. */
void step_old_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    const struct tj *tj = run_job(s->run);
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta;
    struct err err;

    if (answer == ANSWER_OK && tj && meta_decode(&meta, body, &arena, &err) == 0 &&
        meta_controls(&tj->meta, &meta)) {
        again(s, request_delete_owned(tj, &meta, s->action.owned), step_owned_deleted);
        return;
    }
    step_owned_deleted(s, answer == ANSWER_OK ? ANSWER_NOT_FOUND : answer, NULL, message);
}

void step_pod_changed(void *arg, enum answer answer, const cJSON *body, const char *message)
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
            again(s, request_release(&s->pod, true), step_pod_changed);
            return;
        }
        if (s->action.type == ACTION_FORCE_DELETE_POD) /* at once again would be for ever */
            fail(run, answer, "a pod stays: it has a finalizer of somebody else");
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

/* Nothing depends on them, so a refusal is no failure: then they say nothing. */
void step_events_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct memory *m = run_memory(s->run);
    AUTO(arena_release) struct arena arena = {0};
    const char *sentence = answer == ANSWER_OK ? pod_events_newest(body, &arena) : NULL;

    if (answer != ANSWER_OK)
        log_debug("events not read job=%s: %s", s->run->key, message);
    run_keep_sentence(&m->events_pod, s->pod.uid);
    free(STEAL(m->events_sentence));
    m->events_sentence = sentence ? xstrdup(sentence) : NULL;
    m->events_mono_ms = s->run->c->now.mono_ms;
    done(s);
}

static void on_job_read(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;
    const struct tj *tj = run_job(run);

    if (answer == ANSWER_OK) {
        decode_object(run->c, RESOURCE_JOBS, body, CACHE_ANSWER);
    } else if (answer != ANSWER_NOT_FOUND) {
        fail(run, answer, message);
    } else if (tj) {
        decode_no_job(run->c, tj);
    }
    done(s);
}

void step_job_read_whole(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct run *run = arg;
    const struct tj *tj;
    struct err err;

    run->n_open--;
    if (answer == ANSWER_OK) {
        decode_object(run->c, RESOURCE_JOBS, body, CACHE_ANSWER);
        if (tj_decode(&run->whole, body, &err) == 0 &&
            strcmp(run->whole->meta.uid, run->uid) == 0 &&
            strcmp(run->whole->meta.resource_version, run->version) == 0) {
            outbox_wake(&run->c->outbox, &run->source);
            return;
        }
        run->conflicted = true; /* it has changed: the plan is of another version */
    } else if (answer == ANSWER_NOT_FOUND) {
        tj = run_job(run);
        if (tj)
            decode_no_job(run->c, tj);
    } else {
        fail(run, answer, message);
    }
    run->give_up = true;
    run_end_if_done(run);
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
    const struct tj *tj = run_job(run);
    char version[RV_SIZE] = "";

    decode_version(body, version);
    return !tj || strcmp(version, tj->meta.resource_version) != 0 ||
           status_equal_durable(&tj->status, run->plan.status);
}

void step_status_written(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct step *s = arg;
    struct run *run = s->run;

    switch (answer) {
    case ANSWER_OK:
        run_memory(run)->status_written_mono_ms = run->c->now.mono_ms;
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

void step_job_deleted(void *arg, enum answer answer, const cJSON *body, const char *message)
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
