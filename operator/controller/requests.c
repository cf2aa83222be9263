#include "operator/controller/requests.h"

#include <string.h>

#include "operator/api/kept.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define MERGE_PATCH "application/merge-patch+json"
#define MAX_EVENTS "100" /* about one pod; repeated ones count as one */
#define STRATEGIC_PATCH "application/strategic-merge-patch+json"

void query_escape(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("-_.~", *text) || (*text >= '0' && *text <= '9') ||
            (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z'))
            buf_add(out, text, 1);
        else
            buf_printf(out, "%%%02X", (unsigned char)*text);
    }
}

static struct api_request requests_make(enum kube_method method, const struct sieve_field *keep,
                                        char *path)
{
    return (struct api_request){.method = method, .keep = keep, .path = path};
}

struct api_request request_list_events(const struct meta *pod)
{
    return requests_make(
        KUBE_GET, kept_events,
        xasprintf("/api/v1/namespaces/%s/events?fieldSelector=involvedObject.uid%%3D%s"
                  "&limit=" MAX_EVENTS,
                  pod->namespace_, pod->uid));
}

struct api_request request_get_job(const char *namespace_, const char *name)
{
    return requests_make(
        KUBE_GET, kept_job,
        xasprintf("/apis/" API_VERSION "/namespaces/%s/trainingjobs/%s", namespace_, name));
}

struct api_request request_get_pod(const char *namespace_, const char *name)
{
    return requests_make(KUBE_GET, kept_pod,
                         xasprintf("/api/v1/namespaces/%s/pods/%s", namespace_, name));
}

struct api_request request_list_pods(const struct tj *tj, int limit, const char *after,
                                     void (*item)(void *arg, const cJSON *pod))
{
    struct api_request r;
    struct buf path;

    buf_init(&path, 0);
    buf_printf(&path, "/api/v1/namespaces/%s/pods?labelSelector=%s%%3D%s&limit=%d",
               tj->meta.namespace_, "paceline.dev%2Fjob-name", tj->meta.name, limit);
    if (after) {
        buf_puts(&path, "&continue=");
        query_escape(&path, after);
    }
    r = requests_make(KUBE_GET, kept_pod_list, path.data);
    r.item = item;
    return r;
}

static char *owned_object_path(const struct tj *tj, enum owned_kind kind, const char *name)
{
    struct buf path;

    buf_init(&path, 0);
    owned_path(&path, tj, tj->meta.namespace_, kind);
    if (name)
        buf_printf(&path, "/%s", name);
    return path.data;
}

struct api_request request_get_owned(const struct tj *tj, enum owned_kind kind, const char *name)
{
    return requests_make(KUBE_GET, kept_owned, owned_object_path(tj, kind, name));
}

struct api_request request_patch_status(const struct tj *tj, const struct tj_status *status)
{
    struct api_request r =
        requests_make(KUBE_PATCH, kept_job,
                      xasprintf("/apis/" API_VERSION "/namespaces/%s/trainingjobs/%s/status",
                                tj->meta.namespace_, tj->meta.name));

    r.content_type = MERGE_PATCH;
    buf_init(&r.body, 0);
    status_encode_patch(tj, status, &r.body);
    return r;
}

struct api_request request_create_pod(const char *namespace_, struct buf *body, bool dry_run)
{
    struct api_request r = requests_make(
        KUBE_POST, kept_pod,
        xasprintf("/api/v1/namespaces/%s/pods%s", namespace_, dry_run ? "?dryRun=All" : ""));

    r.body = *body;
    return r;
}

struct api_request request_create_owned(const struct tj *tj, enum owned_kind kind, struct buf *body)
{
    struct api_request r = requests_make(KUBE_POST, kept_owned, owned_object_path(tj, kind, NULL));

    r.body = *body;
    return r;
}

struct api_request request_create_event(const char *namespace_, struct buf *body)
{
    struct api_request r =
        requests_make(KUBE_POST, kept_owned, xasprintf("/api/v1/namespaces/%s/events", namespace_));

    r.body = *body;
    return r;
}

/* DeleteOptions: only this very object, as we saw it. */
static void add_preconditions(struct buf *out, const struct meta *m, bool version)
{
    buf_init(out, 0);
    buf_puts(out, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":");
    json_print_string(m->uid, out);
    if (version) {
        buf_puts(out, ",\"resourceVersion\":");
        json_print_string(m->resource_version, out);
    }
    buf_puts(out, "}");
}

struct api_request request_delete_pod(const struct meta *pod, bool force)
{
    struct api_request r =
        requests_make(KUBE_DELETE, kept_pod,
                      xasprintf("/api/v1/namespaces/%s/pods/%s", pod->namespace_, pod->name));

    add_preconditions(&r.body, pod, true);
    buf_puts(&r.body, force ? ",\"gracePeriodSeconds\":0}" : "}");
    return r;
}

struct api_request request_delete_owned(const struct tj *tj, const struct meta *object,
                                        enum owned_kind kind)
{
    struct api_request r =
        requests_make(KUBE_DELETE, kept_owned, owned_object_path(tj, kind, object->name));

    add_preconditions(&r.body, object, false);
    buf_puts(&r.body, "}");
    return r;
}

struct api_request request_delete_job(const struct meta *job)
{
    struct api_request r =
        requests_make(KUBE_DELETE, kept_job,
                      xasprintf("/apis/" API_VERSION "/namespaces/%s/trainingjobs/%s",
                                job->namespace_, job->name));

    add_preconditions(&r.body, job, true);
    buf_puts(&r.body, ",\"propagationPolicy\":\"Background\"}");
    return r;
}

struct api_request request_release(const struct meta *pod, bool exactly)
{
    struct api_request r =
        requests_make(KUBE_PATCH, kept_pod,
                      xasprintf("/api/v1/namespaces/%s/pods/%s", pod->namespace_, pod->name));

    r.content_type = STRATEGIC_PATCH;
    buf_init(&r.body, 0);
    buf_puts(&r.body, "{\"metadata\":{\"uid\":");
    json_print_string(pod->uid, &r.body);
    if (exactly) {
        buf_puts(&r.body, ",\"resourceVersion\":");
        json_print_string(pod->resource_version, &r.body);
    }
    buf_puts(&r.body, ",\"$deleteFromPrimitiveList/finalizers\":[\"" TRACKING_FINALIZER "\"]}}");
    return r;
}
