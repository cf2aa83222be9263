#include "tests/sim/apiserver.h"

#include <stdarg.h>

#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/sim/apilist.h"
#include "tests/sim/value.h"

#define CHANGED                                                                               \
    "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please apply " \
    "your changes to the latest version and try again"

void api_init(struct api *api, int64_t rv, uint64_t uids)
{
    *api = (struct api){0};
    store_init(&api->store, rv, uids);
}

void api_release(struct api *api)
{
    for (size_t i = 0; i < api->n_listings; i++) {
        for (size_t k = 0; k < api->listings[i].n; k++)
            version_unref(api->listings[i].items[k]);
        free(api->listings[i].items);
    }
    free(api->listings);
    store_release(&api->store);
}

void answer_release(struct api_answer *a) { buf_release(&a->body); }

/* "pods", or with a group "trainingjobs.paceline.dev". */
static void resource_name(char *out, size_t size, enum store_kind kind)
{
    snprintf(out, size, "%s%s%s", kinds[kind].plural, kinds[kind].group[0] ? "." : "",
             kinds[kind].group);
}

/* Some refusals name the kind where most name the resource. */
static bool names_kind(int code, const char *message)
{
    return (code == 422 && !strstr(message, "must be specified")) ||
           strstr(message, "in the precondition");
}

void api_fail(struct api_answer *answer, int code, const char *reason, enum store_kind kind,
              const char *name, const char *fmt, ...)
{
    char message[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    answer->status = code;
    answer->retry_after_ms = -1;
    buf_puts(&answer->body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                            "\"status\":\"Failure\",\"message\":");
    json_print_string(message, &answer->body);
    buf_printf(&answer->body, ",\"reason\":\"%s\"", reason);
    if (name) {
        buf_printf(&answer->body, ",\"details\":{\"name\":\"%s\"", name);
        if (kinds[kind].group[0])
            buf_printf(&answer->body, ",\"group\":\"%s\"", kinds[kind].group);
        buf_printf(&answer->body, ",\"kind\":\"%s\"}",
                   names_kind(code, message) ? kinds[kind].name : kinds[kind].plural);
    }
    buf_printf(&answer->body, ",\"code\":%d}", code);
}

static void fail_conflict(struct api_answer *a, const struct target *t)
{
    char resource[128];

    resource_name(resource, sizeof resource, t->kind);
    api_fail(a, 409, "Conflict", t->kind, t->name, CHANGED, resource, t->name);
}

static void succeed(struct api_answer *a, int code, enum store_kind kind, struct version *v,
                    bool partial)
{
    a->status = code;
    object_write(&a->body, kind, v, partial);
}

static void answer_object(struct api_answer *a, int code, const struct target *t, struct version *v)
{
    succeed(a, code, t->kind, v, t->metadata_only);
}

static cJSON *parse_body(const struct kube_request *r, struct api_answer *a)
{
    cJSON *json = NULL;
    struct err err;

    if (json_parse(&json, r->body ? r->body : "", r->body_len, "body", &err) ||
        !cJSON_IsObject(json)) {
        cJSON_Delete(json);
        api_fail(a, 400, "BadRequest", KIND_POD, NULL, "the body is no object: %s", err.msg);
        return NULL;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(json, "kind");
    cJSON_DeleteItemFromObjectCaseSensitive(json, "apiVersion");
    return json;
}

/* Refuses the pods that a real server refuses, as far as the simulation needs it. */
static const char *pod_problem(const cJSON *json)
{
    const cJSON *list = val_get(json, "spec", "containers", NULL), *item;

    if (!list || !list->child)
        return "spec.containers: Required value";
    cJSON_ArrayForEach(item, list)
    {
        const char *image = val_str(item, "image");

        if (!val_str(item, "name"))
            return "spec.containers[0].name: Required value";
        if (!image || !*image)
            return "spec.containers[0].image: Required value";
        if (*image == ' ')
            return "spec.containers[0].image: Invalid value: must not have leading whitespace";
    }
    return NULL;
}

static void create(struct api *api, const struct target *t, const struct kube_request *r,
                   struct api_answer *a)
{
    AUTO(auto_json) cJSON *json = parse_body(r, a);
    cJSON *dry = NULL;
    const char *name = val_str(json, "metadata", "name"), *problem;
    struct store_object *o;
    char resource[128];

    if (!json)
        return;
    resource_name(resource, sizeof resource, t->kind);
    if (!name) {
        api_fail(a, 422, "Invalid", t->kind, "",
                 "%s \"\" is invalid: metadata.name: Required value", kinds[t->kind].name);
        return;
    }
    val_set_str(val_object(json, "metadata"), "namespace", t->ns);
    problem = t->kind == KIND_POD ? pod_problem(json) : NULL;
    if (problem) {
        api_fail(a, 422, "Invalid", t->kind, name, "%s \"%s\" is invalid: %s", kinds[t->kind].name,
                 name, problem);
    } else if (t->kind == KIND_POD && api->forbid_pods) {
        api_fail(a, 403, "Forbidden", t->kind, name, "%s \"%s\" is forbidden: %s", resource, name,
                 api->forbid_pods);
    } else if (store_find(&api->store, t->kind, t->ns, name)) {
        api_fail(a, 409, "AlreadyExists", t->kind, name, "%s \"%s\" already exists", resource,
                 name);
    } else if (t->dry_run) {
        struct version v = {.refs = 1};

        store_create(&api->store, t->kind, STEAL(json), &dry);
        v.json = dry;
        answer_object(a, 201, t, &v);
        cJSON_Delete(dry);
        free(v.text);
    } else {
        o = store_create(&api->store, t->kind, STEAL(json), NULL);
        answer_object(a, 201, t, o->v);
    }
}

/* Gives back what a client cannot set: identity, times, and the other half of the object. */
static void keep_server_fields(cJSON *json, const cJSON *old, const struct target *t)
{
    static const char *const fields[] = {"name",
                                         "namespace",
                                         "uid",
                                         "creationTimestamp",
                                         "deletionTimestamp",
                                         "deletionGracePeriodSeconds",
                                         "generation"};
    cJSON *meta = val_object(json, "metadata");
    bool status = strcmp(t->sub, "status") == 0;

    if (kinds[t->kind].custom || t->kind == KIND_POD) {
        const char *other = status ? "spec" : "status";
        const cJSON *half = val_get(old, other, NULL);

        val_set(json, other, half ? cJSON_Duplicate(half, true) : NULL);
        if (status)
            val_set(json, "metadata", cJSON_Duplicate(val_get(old, "metadata", NULL), true));
        meta = val_object(json, "metadata");
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const cJSON *field = val_get(old, "metadata", fields[i], NULL);

        val_set(meta, fields[i], field ? cJSON_Duplicate(field, true) : NULL);
    }
}

/* The object went with its last finalizer: the answer still has the version before. */
static void answer_gone(struct api_answer *a, const struct target *t, const struct store *s,
                        const char *rv)
{
    struct version v = {.json = cJSON_Duplicate(s->dropped->json, true)};

    val_set_str(val_object(v.json, "metadata"), "resourceVersion", rv);
    answer_object(a, 200, t, &v);
    cJSON_Delete(v.json);
    free(v.text);
}

/*
 * Stores the changed tree (taken over), unless it is of an older version or another object.
 * The status of a custom resource is the exception: metadata are ignored there, but the version.
 */
static void update(struct api *api, const struct target *t, struct store_object *o, cJSON *json,
                   struct api_answer *a)
{
    const char *uid = val_str(json, "metadata", "uid");
    const char *rv = val_str(json, "metadata", "resourceVersion");
    AUTO(auto_free) char *now = xstrdup(val_str(o->v->json, "metadata", "resourceVersion"));

    if (rv && strcmp(rv, now) != 0) {
        fail_conflict(a, t);
        cJSON_Delete(json);
    } else if (uid && strcmp(uid, o->uid) != 0 && !(kinds[t->kind].custom && t->sub[0])) {
        api_fail(a, 422, "Invalid", t->kind, t->name,
                 "%s \"%s\" is invalid: metadata.uid: Invalid value: \"%s\": field is immutable",
                 kinds[t->kind].name, t->name, uid);
        cJSON_Delete(json);
    } else {
        keep_server_fields(json, o->v->json, t);
        if (store_update(&api->store, o, json))
            answer_object(a, 200, t, o->v);
        else
            answer_gone(a, t, &api->store, now);
    }
}

static void patch(struct api *api, const struct target *t, const struct kube_request *r,
                  struct store_object *o, struct api_answer *a)
{
    AUTO(auto_json) cJSON *change = NULL;
    bool strategic = r->content_type && strstr(r->content_type, "strategic-merge-patch");
    cJSON *json;

    if (strategic ? kinds[t->kind].custom
                  : !r->content_type || !strstr(r->content_type, "application/merge-patch")) {
        api_fail(a, 415, "UnsupportedMediaType", t->kind, NULL,
                 "the body of the request was in an unknown format");
        return;
    }
    if (!(change = parse_body(r, a)))
        return;
    json = store_edit(o);
    if (strategic)
        val_merge_strategic(json, change);
    else
        val_merge(json, change);
    update(api, t, o, json, a);
}

static void put(struct api *api, const struct target *t, const struct kube_request *r,
                struct store_object *o, struct api_answer *a)
{
    cJSON *json = parse_body(r, a);

    if (!json)
        return;
    if (t->kind == KIND_LEASE && !val_str(json, "metadata", "resourceVersion")) {
        api_fail(a, 422, "Invalid", t->kind, t->name,
                 "%s.%s \"%s\" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be "
                 "specified for an update",
                 kinds[t->kind].plural, kinds[t->kind].group, t->name);
        cJSON_Delete(json);
        return;
    }
    update(api, t, o, json, a);
}

static bool precondition_fails(const struct store_object *o, const cJSON *options,
                               const struct target *t, struct api_answer *a)
{
    const char *uid = val_str(options, "preconditions", "uid");
    const char *rv = val_str(options, "preconditions", "resourceVersion");
    const char *now = val_str(o->v->json, "metadata", "resourceVersion");
    const struct kind_info *kind = &kinds[t->kind];
    bool other = uid && strcmp(uid, o->uid) != 0;

    if (!other && !(rv && strcmp(rv, now) != 0))
        return false;
    api_fail(a, 409, "Conflict", t->kind, t->name,
             "Operation cannot be fulfilled on %s%s%s \"%s\": the %s in the precondition (%s) does "
             "not match the %s in record (%s). The object might have been %s",
             kind->name, kind->group[0] ? "." : "", kind->group, t->name,
             other ? "UID" : "ResourceVersion", other ? uid : rv, other ? "UID" : "ResourceVersion",
             other ? o->uid : now, other ? "deleted and then recreated" : "modified");
    return true;
}

static void delete (struct api *api, const struct target *t, const struct kube_request *r,
                    struct store_object *o, struct api_answer *a)
{
    AUTO(auto_json) cJSON *options = NULL;
    AUTO(auto_free) char *name = NULL, *uid = NULL;
    const char *policy;
    int64_t grace = t->grace_s;
    bool stays = t->dry_run;

    if (r->body_len && !(options = parse_body(r, a)))
        return;
    if (precondition_fails(o, options, t, a))
        return;
    if (val_get(options, "gracePeriodSeconds", NULL))
        grace = val_int(options, "gracePeriodSeconds");
    policy = val_str(options, "propagationPolicy");
    name = xstrdup(o->name);
    uid = xstrdup(o->uid);
    if (!stays)
        stays = store_delete(&api->store, o, grace, policy && strcmp(policy, "Foreground") == 0);
    if (stays) {
        answer_object(a, 200, t, o->v);
        return;
    }
    if (kinds[t->kind].returns_deleted) {
        const struct store *s = &api->store;

        answer_object(a, 200, t, s->dropped);
        return;
    }
    a->status = 200;
    buf_puts(&a->body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                       "\"Success\",\"details\":{");
    buf_printf(&a->body, "\"name\":\"%s\",", name);
    if (kinds[t->kind].group[0])
        buf_printf(&a->body, "\"group\":\"%s\",", kinds[t->kind].group);
    buf_printf(&a->body, "\"kind\":\"%s\",\"uid\":\"%s\"}}", kinds[t->kind].plural, uid);
}

void api_handle(struct api *api, const struct kube_request *r, struct api_answer *a)
{
    struct target t;
    struct store_object *o;
    char resource[128];

    a->retry_after_ms = -1;
    if (!target_parse(&t, r)) {
        api_fail(a, 404, "NotFound", KIND_POD, NULL,
                 "the server could not find the requested resource");
        return;
    }
    if (!t.name[0] && r->method == KUBE_GET) {
        api_list(api, &t, a);
        return;
    }
    if (!t.name[0] && r->method == KUBE_POST) {
        create(api, &t, r, a);
        return;
    }
    o = store_find(&api->store, t.kind, t.ns, t.name);
    if (!o) {
        resource_name(resource, sizeof resource, t.kind);
        api_fail(a, 404, "NotFound", t.kind, t.name, "%s \"%s\" not found", resource, t.name);
    } else if (r->method == KUBE_GET) {
        answer_object(a, 200, &t, o->v);
    } else if (r->method == KUBE_PATCH) {
        patch(api, &t, r, o, a);
    } else if (r->method == KUBE_PUT) {
        put(api, &t, r, o, a);
    } else if (r->method == KUBE_DELETE) {
        delete (api, &t, r, o, a);
    } else {
        api_fail(a, 405, "MethodNotAllowed", t.kind, NULL,
                 "the server does not allow this method on the requested resource");
    }
}
