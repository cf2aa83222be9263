#include "operator/controller/orphans.h"

#include <stdio.h>
#include <string.h>

#include "operator/controller/decode.h"
#include "operator/controller/requests.h"
#include "operator/controller/state.h"
#include "paceline/mem.h"

#define N_GONE 512
#define RETRY_MS 1000
#define FENCE_MS 30000 /* runPolicy.fenceSeconds went with the job: its default */

struct orphans {
    char gone[N_GONE][64]; /* UIDs of jobs that are surely gone, the oldest is overwritten */
    size_t n;
};

struct orphans *orphans_new(void) { return xcalloc(1, sizeof(struct orphans)); }
void orphans_free(struct orphans *o) { free(o); }

static bool is_gone(const struct orphans *o, const char *uid)
{
    for (size_t i = 0; i < N_GONE && i < o->n; i++)
        if (strcmp(o->gone[i], uid) == 0)
            return true;
    return false;
}

static void note_gone(struct orphans *o, const char *uid)
{
    if (strlen(uid) < sizeof o->gone[0] && !is_gone(o, uid))
        snprintf(o->gone[o->n++ % N_GONE], sizeof o->gone[0], "%s", uid);
}

bool orphans_knows_gone(const struct controller *c, const char *job_uid)
{
    return is_gone(c->orphans, job_uid);
}

/* No job of it is to be asked for. */
static bool is_alone(const struct controller *c, const struct pod *pod)
{
    return !pod_is_owned(pod) || is_gone(c->orphans, pod->meta.owner_uid);
}

bool orphans_is(const struct controller *c, const struct pod *pod)
{
    const struct tj *tj;

    if (!pod_is_owned(pod))
        return pod->tracked;
    tj = cache_job(c->cache, pod->meta.namespace_, pod->meta.owner_name);
    if (!c->informers[RESOURCE_JOBS].synced ||
        (tj && strcmp(tj->meta.uid, pod->meta.owner_uid) == 0))
        return false;
    return pod->meta.deletion_ms || (pod->tracked && is_alone(c, pod));
}

void orphans_touch(struct controller *c, const char *pod_uid)
{
    char key[KEY_SIZE];

    if (!c->leads) /* all are swept when it does */
        return;
    snprintf(key, sizeof key, "%c%s", ORPHAN_MARK, pod_uid);
    workqueue_add(c->queue, key, c->now.mono_ms);
}

static void touch_if_orphan(void *arg, const struct pod *pod)
{
    struct controller *c = arg;

    if (orphans_is(c, pod))
        orphans_touch(c, pod->meta.uid);
}

void orphans_job_gone(struct controller *c, const char *uid)
{
    size_t n;
    const struct pod *const *pods = cache_pods_of(c->cache, uid, &n);

    note_gone(c->orphans, uid);
    for (size_t i = 0; i < n; i++)
        touch_if_orphan(c, pods[i]);
}

void orphans_sweep(struct controller *c) { cache_each_pod(c->cache, touch_if_orphan, c); }

/* One request of an orphan's look: whose job it asks for, or which pod it lets go. */
struct look {
    struct controller *c;
    char *key, *job_uid;
    bool failed;
};

static void look_end(struct look *l)
{
    if (l->failed)
        workqueue_add_at(l->c->queue, l->key, l->c->now.mono_ms + RETRY_MS);
    workqueue_done(l->c->queue, l->key, l->c->now.mono_ms);
    free(l->key);
    free(l->job_uid);
    free(l);
}

static void on_job(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct look *l = arg;
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(body, "metadata");
    const char *uid = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "uid"));

    (void)message;
    if (answer == ANSWER_OK)
        decode_object(l->c, RESOURCE_JOBS, body, CACHE_ANSWER);
    if (answer == ANSWER_NOT_FOUND ||
        (answer == ANSWER_OK && uid && strcmp(uid, l->job_uid) != 0)) {
        note_gone(l->c->orphans, l->job_uid);
        workqueue_add(l->c->queue, l->key, l->c->now.mono_ms);
    } else {
        l->failed = true;
    }
    look_end(l);
}

static bool is_pod(const cJSON *body)
{
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "kind"));

    return kind && strcmp(kind, "Pod") == 0;
}

/* Why a release was refused: by now its name may be another's. */
static void on_pod(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct look *l = arg;
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(body, "metadata");
    const char *uid = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "uid"));

    (void)message;
    if (answer == ANSWER_OK)
        decode_object(l->c, RESOURCE_PODS, body, CACHE_ANSWER);
    if (answer == ANSWER_NOT_FOUND || (answer == ANSWER_OK && uid && strcmp(uid, l->key + 1) != 0))
        cache_delete_pod(l->c->cache, l->key + 1, "");
    else
        l->failed = true;
    look_end(l);
}

static void on_release(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct look *l = arg;
    const struct pod *pod = cache_pod(l->c->cache, l->key + 1);

    (void)message;
    if (pod && (answer == ANSWER_INVALID || answer == ANSWER_CONFLICT)) {
        outbox_add(&l->c->outbox, request_get_pod(pod->meta.namespace_, pod->meta.name), on_pod, l);
        return;
    }
    if (answer == ANSWER_OK && is_pod(body) && !decode_is_gone(body))
        decode_object(l->c, RESOURCE_PODS, body, CACHE_ANSWER);
    else if (answer == ANSWER_OK || answer == ANSWER_NOT_FOUND)
        cache_delete_pod(l->c->cache, l->key + 1, "");
    else
        l->failed = true;
    look_end(l);
}

static void ask(struct controller *c, const char *key, const struct pod *pod, struct request r,
                outbox_done_fn *done)
{
    struct look *l = xcalloc(1, sizeof *l);

    *l = (struct look){.c = c, .key = xstrdup(key)};
    if (pod->meta.owner_uid)
        l->job_uid = xstrdup(pod->meta.owner_uid);
    outbox_add(&c->outbox, r, done, l);
}

void orphans_sync(struct controller *c, const char *key)
{
    const struct pod *pod = cache_pod(c->cache, key + 1);
    int64_t left;

    if (!pod || !orphans_is(c, pod)) {
        workqueue_done(c->queue, key, c->now.mono_ms);
        return;
    }
    if (!is_alone(c, pod)) {
        ask(c, key, pod, request_get_job(pod->meta.namespace_, pod->meta.owner_name), on_job);
        return;
    }
    if (pod->tracked) {
        ask(c, key, pod, request_release(&pod->meta, false), on_release);
        return;
    }
    /* Nothing of ours holds it, but its node may be gone for good. */
    cache_watch_deletions(c->cache, pod->meta.owner_uid, c->now.mono_ms);
    left = pod->meta.deletion_grace_ms + FENCE_MS - pod->deleting_for_ms;
    if (left <= 0) {
        ask(c, key, pod, request_delete_pod(&pod->meta, true), on_release);
        return;
    }
    workqueue_add_at(c->queue, key, c->now.mono_ms + left);
    workqueue_done(c->queue, key, c->now.mono_ms);
}
