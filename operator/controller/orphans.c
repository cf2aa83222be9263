#include "operator/controller/orphans.h"

#include <stdio.h>
#include <string.h>

#include "operator/controller/decode.h"
#include "operator/controller/requests.h"
#include "operator/controller/state.h"
#include "paceline/mem.h"

#define N_GONE 512
#define MAX_OF_NAMESPACE 64 /* of them; so a tenant cannot make us forget everybody else's */
#define IDENTITY_SIZE 512   /* "namespace/name/UID", each as long as meta_decode takes it */
#define RETRY_MS 1000
#define FENCE_MS 30000 /* runPolicy.fenceSeconds went with the job: its default */

/* Jobs that are surely gone, the oldest first. One that is forgotten is asked for again. */
struct orphans {
    char *gone[N_GONE];
    size_t n;
};

struct orphans *orphans_new(void) { return xcalloc(1, sizeof(struct orphans)); }

void orphans_free(struct orphans *o)
{
    for (size_t i = 0; i < o->n; i++)
        free(o->gone[i]);
    free(o);
}

static void identity_make(char out[IDENTITY_SIZE], const char *namespace_, const char *name,
                          const char *uid)
{
    snprintf(out, IDENTITY_SIZE, "%s/%s/%s", namespace_, name, uid);
}

static void identity_of_owner(char out[IDENTITY_SIZE], const struct meta *owned)
{
    identity_make(out, owned->namespace_, owned->owner_name, owned->owner_uid);
}

static bool is_gone(const struct orphans *o, const char *identity)
{
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->gone[i], identity) == 0)
            return true;
    return false;
}

/* The oldest of the same namespace, if it has its share; the oldest of all otherwise. */
static size_t gone_place(const struct orphans *o, const char *identity)
{
    size_t prefix = strcspn(identity, "/") + 1, of_namespace = 0, oldest = 0;

    for (size_t i = o->n; i-- > 0;)
        if (strncmp(o->gone[i], identity, prefix) == 0) {
            of_namespace++;
            oldest = i;
        }
    return of_namespace >= MAX_OF_NAMESPACE ? oldest : o->n < N_GONE ? o->n : 0;
}

static void note_gone(struct orphans *o, const char *identity)
{
    size_t at;

    if (is_gone(o, identity))
        return;
    at = gone_place(o, identity);
    if (at < o->n) {
        free(o->gone[at]);
        memmove(&o->gone[at], &o->gone[at + 1], (o->n - at - 1) * sizeof o->gone[0]);
        o->n--;
    }
    o->gone[o->n++] = xstrdup(identity);
}

bool orphans_knows_gone(const struct controller *c, const struct meta *job)
{
    char identity[IDENTITY_SIZE];

    identity_make(identity, job->namespace_, job->name, job->uid);
    return is_gone(c->orphans, identity);
}

/* No job of it is to be asked for. */
static bool orphans_is_alone(const struct controller *c, const struct pod *pod)
{
    char identity[IDENTITY_SIZE];

    if (!pod_is_owned(pod))
        return true;
    identity_of_owner(identity, &pod->meta);
    return is_gone(c->orphans, identity);
}

bool orphans_is(const struct controller *c, const struct pod *pod)
{
    const struct tj *tj;

    if (!pod_is_owned(pod))
        return pod->tracked;
    tj = cache_job(c->cache, pod->meta.namespace_, pod->meta.owner_name);
    if (!c->informers[RESOURCE_JOBS].synced || (tj && meta_controls(&tj->meta, &pod->meta)))
        return false;
    return pod->meta.deletion_ms || (pod->tracked && orphans_is_alone(c, pod));
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

void orphans_job_gone(struct controller *c, const struct meta *job)
{
    size_t n;
    const struct pod *const *pods = cache_pods_of(c->cache, job, &n);
    char identity[IDENTITY_SIZE];

    identity_make(identity, job->namespace_, job->name, job->uid);
    note_gone(c->orphans, identity);
    for (size_t i = 0; i < n; i++)
        touch_if_orphan(c, pods[i]);
}

void orphans_sweep(struct controller *c) { cache_each_pod(c->cache, touch_if_orphan, c); }

/* One request of an orphan's look: whose job it asks for, or which pod it lets go. */
struct orphan_look {
    struct controller *c;
    char *key;
    char *job; /* its identity, where it is asked for */
    bool failed;
};

static void look_end(struct orphan_look *l)
{
    if (l->failed)
        workqueue_add_at(l->c->queue, l->key, l->c->now.mono_ms + RETRY_MS);
    workqueue_done(l->c->queue, l->key, l->c->now.mono_ms);
    free(l->key);
    free(l->job);
    free(l);
}

static void orphans_on_job(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct orphan_look *l = arg;
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(body, "metadata");
    const char *uid = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "uid"));

    (void)message;
    if (answer == ANSWER_OK)
        decode_object(l->c, RESOURCE_JOBS, body, CACHE_ANSWER);
    if (answer == ANSWER_NOT_FOUND ||
        (answer == ANSWER_OK && uid && strcmp(uid, strrchr(l->job, '/') + 1) != 0)) {
        note_gone(l->c->orphans, l->job);
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
static void orphans_on_pod(void *arg, enum answer answer, const cJSON *body, const char *message)
{
    struct orphan_look *l = arg;
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
    struct orphan_look *l = arg;
    const struct pod *pod = cache_pod(l->c->cache, l->key + 1);

    (void)message;
    if (pod && (answer == ANSWER_INVALID || answer == ANSWER_CONFLICT)) {
        dispatcher_add(&l->c->dispatcher, request_get_pod(pod->meta.namespace_, pod->meta.name),
                       orphans_on_pod, l);
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

static void orphans_ask(struct controller *c, const char *key, const struct pod *pod,
                        struct api_request r, dispatcher_done_fn *done)
{
    struct orphan_look *l = xcalloc(1, sizeof *l);
    char identity[IDENTITY_SIZE];

    *l = (struct orphan_look){.c = c, .key = xstrdup(key)};
    if (pod_is_owned(pod)) {
        identity_of_owner(identity, &pod->meta);
        l->job = xstrdup(identity);
    }
    dispatcher_add(&c->dispatcher, r, done, l);
}

void orphans_sync(struct controller *c, const char *key)
{
    const struct pod *pod = cache_pod(c->cache, key + 1);
    int64_t left;

    if (!pod || !orphans_is(c, pod)) {
        workqueue_done(c->queue, key, c->now.mono_ms);
        return;
    }
    if (!orphans_is_alone(c, pod)) {
        orphans_ask(c, key, pod, request_get_job(pod->meta.namespace_, pod->meta.owner_name),
                    orphans_on_job);
        return;
    }
    if (pod->tracked) {
        orphans_ask(c, key, pod, request_release(&pod->meta, false), on_release);
        return;
    }
    /* Nothing of ours holds it, but its node may be gone for good. */
    cache_watch_deletions(c->cache,
                          &(struct meta){.namespace_ = pod->meta.namespace_,
                                         .name = pod->meta.owner_name,
                                         .uid = pod->meta.owner_uid},
                          c->now.mono_ms);
    left = pod->meta.deletion_grace_ms + FENCE_MS - pod->deleting_for_ms;
    if (left <= 0) {
        orphans_ask(c, key, pod, request_delete_pod(&pod->meta, true), on_release);
        return;
    }
    workqueue_add_at(c->queue, key, c->now.mono_ms + left);
    workqueue_done(c->queue, key, c->now.mono_ms);
}
