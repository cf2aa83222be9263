#include "operator/controller/decode.h"

#include <stdio.h>
#include <string.h>

#include "operator/controller/budget.h"
#include "operator/controller/orphans.h"
#include "operator/controller/state.h"
#include "paceline/log.h"
#include "paceline/mem.h"

static const enum owned_kind owned_of[N_RESOURCES] = {
    [RESOURCE_SERVICES] = OWNED_SERVICE,
    [RESOURCE_CONFIG_MAPS] = OWNED_CONFIG_MAP,
    [RESOURCE_NETWORK_POLICIES] = OWNED_NETWORK_POLICY,
};

void decode_version(const cJSON *object, char version[RV_SIZE])
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata");
    const char *rv =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "resourceVersion"));

    if (rv && *rv && strlen(rv) < RV_SIZE)
        snprintf(version, RV_SIZE, "%s", rv);
}

bool decode_is_gone(const cJSON *object)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata");
    const cJSON *grace = cJSON_GetObjectItemCaseSensitive(meta, "deletionGracePeriodSeconds");

    return cJSON_GetObjectItemCaseSensitive(meta, "deletionTimestamp") && cJSON_IsNumber(grace) &&
           grace->valuedouble == 0 &&
           cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(meta, "finalizers")) == 0;
}

/* The version that we have of a job, or NULL: what was derived of its spec need not be again. */
static const struct tj *known_job(const struct controller *c, const cJSON *object)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata");
    const char *namespace_ =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "namespace"));
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "name"));

    return namespace_ && name ? cache_job(c->cache, namespace_, name) : NULL;
}

static void take_job(struct controller *c, struct tj *tj, enum cache_source source)
{
    char namespace_[256], name[256];

    if (orphans_knows_gone(c, &tj->meta)) {
        tj_free(tj);
        return;
    }
    snprintf(namespace_, sizeof namespace_, "%s", tj->meta.namespace_);
    snprintf(name, sizeof name, "%s", tj->meta.name);
    if (cache_put_job(c->cache, tj, source))
        controller_touch(c, namespace_, name);
}

static bool decode_job(struct controller *c, const cJSON *object, enum cache_source source)
{
    struct tj *tj;
    struct err err;

    if (tj_decode_again(&tj, object, known_job(c, object), &err)) {
        log_warn("a TrainingJob that cannot be read: %s", err.msg);
        return false;
    }
    take_job(c, tj, source);
    return true;
}

static void touch_pod(struct controller *c, const char *uid)
{
    const struct pod *pod = cache_pod(c->cache, uid);

    if (!pod)
        return;
    if (orphans_is(c, pod))
        orphans_touch(c, pod->meta.uid);
    else if (pod_is_owned(pod))
        controller_touch(c, pod->meta.namespace_, pod->meta.owner_name);
}

/* Where the watch said it, its horizon moves. */
static const char *version_of(const struct meta *m, enum cache_source source)
{
    return source == CACHE_WATCH ? m->resource_version : "";
}

/* The job that owns it, as far as we see; or NULL. */
static const struct tj *job_of(const struct controller *c, const struct meta *owned)
{
    const struct tj *tj =
        owned->owner_name ? cache_job(c->cache, owned->namespace_, owned->owner_name) : NULL;

    return tj && meta_controls(&tj->meta, owned) ? tj : NULL;
}

/* It may be going, or not what our watch has shown so far: it is read before its next plan. */
static void doubt(struct controller *c, const struct tj *tj)
{
    char key[KEY_SIZE];

    if (!tj || !c->leads)
        return;
    key_make(key, tj->meta.namespace_, tj->meta.name);
    job_states_of(c->job_states, key, tj->meta.uid, c->now.mono_ms)->uncertain = true;
}

/* A pod of a job is nobody's any more: most likely the job is going, and its pods are to stay. */
static void lose_pod(struct controller *c, const char *uid)
{
    const struct pod *pod = cache_pod(c->cache, uid);

    if (pod)
        doubt(c, job_of(c, &pod->meta));
    touch_pod(c, uid);
}

static bool decode_pod(struct controller *c, const cJSON *object, enum cache_source source)
{
    struct pod *pod;
    struct err err;
    char uid[128];

    if (pod_decode(&pod, object, &err)) {
        log_warn("a pod that cannot be read: %s", err.msg);
        return false;
    }
    if (!pod_is_owned(pod))
        lose_pod(c, pod->meta.uid);
    /* Nobody's, and no finalizer of ours to take off: it does not concern us (any more). */
    if (!pod_is_owned(pod) && !pod->tracked) {
        cache_delete_pod(c->cache, pod->meta.uid, version_of(&pod->meta, source));
        free(pod);
        return true;
    }
    snprintf(uid, sizeof uid, "%s", pod->meta.uid);
    if (cache_put_pod(c->cache, pod, source))
        touch_pod(c, uid);
    return true;
}

/* A small owned object: struct and strings in one allocation. */
static struct owned_ref *ref_new(const struct meta *m, enum owned_kind kind)
{
    const char *const strings[] = {m->namespace_, m->name, m->uid, m->owner_uid, m->owner_name};
    size_t bytes = sizeof(struct owned_ref);
    struct owned_ref *ref;
    char *p;

    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        bytes += strings[i] ? strlen(strings[i]) + 1 : 0;
    ref = xcalloc(1, bytes);
    ref->meta = *m;
    ref->kind = kind;
    p = (char *)(ref + 1);
#define KEEP(member)                                                    \
    if (m->member) {                                                    \
        ref->meta.member = memcpy(p, m->member, strlen(m->member) + 1); \
        p += strlen(p) + 1;                                             \
    }
    KEEP(namespace_)
    KEEP(name)
    KEEP(uid)
    KEEP(owner_uid)
    KEEP(owner_name)
#undef KEEP
    return ref;
}

void decode_owned(struct controller *c, enum owned_kind kind, const cJSON *object,
                  enum cache_source source)
{
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta;
    struct err err;

    if (meta_decode(&meta, object, &arena, &err)) {
        log_warn("a %s that cannot be read: %s", owned_kind_names[kind], err.msg);
        return;
    }
    if (!meta.owner_uid) {
        cache_delete_owned(c->cache, kind, meta.uid, version_of(&meta, source));
        return;
    }
    if (cache_put_owned(c->cache, ref_new(&meta, kind), source))
        controller_touch(c, meta.namespace_, meta.owner_name);
}

bool decode_object(struct controller *c, enum resource resource, const cJSON *object,
                   enum cache_source source)
{
    if (resource == RESOURCE_JOBS)
        return decode_job(c, object, source);
    if (resource == RESOURCE_PODS)
        return decode_pod(c, object, source);
    decode_owned(c, owned_of[resource], object, source);
    return true;
}

void decode_unread(struct controller *c, enum resource resource, const cJSON *object)
{
    struct tj *tj;
    struct err err;

    if (resource != RESOURCE_JOBS)
        decode_object(c, resource, object, CACHE_WATCH);
    else if (tj_decode_unread(&tj, object, &err) == 0)
        take_job(c, tj, CACHE_WATCH);
}

/* Returns true if the event is left unread because its job or its namespace has used up its share
 * of the time. The job is read again before its next plan, when there is credit. */
static bool postpone(struct controller *c, const cJSON *object)
{
    const struct tj *known = known_job(c, object);
    char key[KEY_SIZE];

    if (!known || !c->leads)
        return false;
    key_make(key, known->meta.namespace_, known->meta.name);
    if (budget_wait_ms(c, key) == 0 || !tj_spec_is_new(object, known))
        return false;
    doubt(c, known);
    controller_touch(c, known->meta.namespace_, known->meta.name);
    return true;
}

void decode_event(struct controller *c, enum resource resource, const cJSON *object)
{
    if (resource != RESOURCE_JOBS || !postpone(c, object))
        decode_object(c, resource, object, CACHE_WATCH);
}

static bool is_current_pod(const struct tj *tj, const struct pod *p)
{
    const struct tj_status *s = &tj->status;
    const struct role_status *role = &s->roles[p->role];

    return p->index < s->world.replicas[p->role] &&
           p->incarnation == s->world.incarnation + index_map_get(&role->incarnations, p->index) &&
           !index_map_get(&role->completed, p->index) && !index_map_get(&role->lost, p->index);
}

/* By what we know of the job it would be made again: we have not wanted it to go. */
static bool decode_is_missed(const struct controller *c, const struct tj *tj,
                             enum resource resource, const struct meta *m)
{
    const struct pod *pod = cache_pod(c->cache, m->uid);
    char name[NAME_SIZE];

    if (!tj || tj->meta.deletion_ms || status_terminal(&tj->status))
        return false;
    if (resource == RESOURCE_PODS)
        return pod && is_current_pod(tj, pod);
    owned_name(name, tj, owned_of[resource], tj->status.world.generation);
    return strcmp(name, m->name) == 0;
}

void decode_no_job(struct controller *c, const struct tj *tj)
{
    AUTO(arena_release) struct arena arena = {0};
    const struct meta job = {.namespace_ = arena_strdup(&arena, tj->meta.namespace_),
                             .name = arena_strdup(&arena, tj->meta.name),
                             .uid = arena_strdup(&arena, tj->meta.uid)};

    cache_delete_job(c->cache, job.namespace_, job.name, job.uid, "");
    orphans_job_gone(c, &job);
}

void decode_deleted(struct controller *c, enum resource resource, const cJSON *object)
{
    AUTO(arena_release) struct arena arena = {0};
    struct meta m;
    struct err err;

    if (meta_decode(&m, object, &arena, &err)) {
        log_warn("a deleted object that cannot be read: %s", err.msg);
        return;
    }
    if (resource == RESOURCE_JOBS) {
        cache_delete_job(c->cache, m.namespace_, m.name, m.uid, m.resource_version);
        orphans_job_gone(c, &m);
        controller_touch(c, m.namespace_, m.name);
        return;
    }
    if (decode_is_missed(c, job_of(c, &m), resource, &m))
        doubt(c, job_of(c, &m));
    if (resource == RESOURCE_PODS)
        cache_delete_pod(c->cache, m.uid, m.resource_version);
    else
        cache_delete_owned(c->cache, owned_of[resource], m.uid, m.resource_version);
    if (m.owner_name)
        controller_touch(c, m.namespace_, m.owner_name);
}
