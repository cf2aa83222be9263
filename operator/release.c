#include "operator/release.h"

#include <string.h>

#include "operator/api/meta.h"
#include "paceline/json.h"
#include "paceline/log.h"
#include "paceline/mem.h"

#define PAGE 50
#define PASSES_MAX 10 /* over all pods; those that change meanwhile need another one */

static const struct sieve_field meta_fields[] = {
    {.name = "namespace"},
    {.name = "name"},
    {.name = "resourceVersion"},
    {.name = "finalizers", .only = TRACKING_FINALIZER},
    {.name = NULL},
};
static const struct sieve_field pod_fields[] = {
    {.name = "metadata", .fields = meta_fields},
    {.name = NULL},
};
static const struct sieve_field list_meta_fields[] = {{.name = "continue"}, {.name = NULL}};
static const struct sieve_field list_fields[] = {
    {.name = "metadata", .fields = list_meta_fields},
    {.name = "items", .fields = pod_fields, .rule = SIEVE_ITEMS},
    {.name = NULL},
};
static const struct sieve_field status_fields[] = {{.name = "message"}, {.name = NULL}};

struct release {
    struct kube_client *client;
    const char *namespace_;
    int64_t request_ms;
    int waiting;  /* requests without an answer */
    int patched;  /* pods of this pass */
    int released; /* in all */
    struct err *err;
    bool failed;
    char *next; /* the page after this one; NULL: none */
};

static const char *release_text_at(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return text ? text : "";
}

/* The API server's sentence, or why there is no answer. */
static void release_fail(struct release *r, const char *what, const struct kube_response *answer)
{
    AUTO(auto_json) cJSON *status = cJSON_ParseWithLength(answer->body, answer->len);
    const char *said = answer->status ? release_text_at(status, "message") : answer->error;

    if (!r->failed)
        err_set(r->err, answer->status == 403 ? ERR_FORBIDDEN : ERR_IO,
                "cannot %s pods: code=%d: %.300s", what, answer->status, said);
    r->failed = true;
}

static void on_patched(void *arg, const struct kube_response *answer)
{
    struct release *r = arg;

    r->waiting--;
    if (answer->status == 200)
        r->released++;
    else if (answer->status != 404 && answer->status != 409) /* gone; changed: the next pass */
        release_fail(r, "patch", answer);
}

static bool release_is_tracked(const cJSON *meta)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(meta, "finalizers"))
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, TRACKING_FINALIZER) == 0)
            return true;
    }
    return false;
}

/* Removes our finalizer from this version of the pod and leaves all others. */
static void patch(struct release *r, const cJSON *meta)
{
    AUTO(buf_release) struct buf text;
    AUTO(auto_free)
    char *path = xasprintf("/api/v1/namespaces/%s/pods/%s", release_text_at(meta, "namespace"),
                           release_text_at(meta, "name"));

    buf_init(&text, 0);
    buf_puts(&text, "{\"metadata\":{\"resourceVersion\":");
    json_print_string(release_text_at(meta, "resourceVersion"), &text);
    buf_puts(&text, ",\"$deleteFromPrimitiveList/finalizers\":[\"" TRACKING_FINALIZER "\"]}}");
    r->waiting++;
    r->patched++;
    kube_client_ops()->send(
        r->client,
        &(struct kube_request){.method = KUBE_PATCH,
                               .path = path,
                               .content_type = "application/strategic-merge-patch+json",
                               .body = text.data,
                               .body_len = text.len,
                               .timeout_ms = r->request_ms,
                               .keep = status_fields},
        on_patched, r);
}

static void release_on_pod(void *arg, const struct kube_item *item)
{
    struct release *r = arg;
    AUTO(auto_json) cJSON *pod = NULL;
    const cJSON *meta;

    if (json_parse(&pod, item->text, item->len, "pods", r->err) < 0) {
        r->failed = true;
        return;
    }
    meta = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
    if (release_is_tracked(meta))
        patch(r, meta);
}

static void on_listed(void *arg, const struct kube_response *answer)
{
    struct release *r = arg;
    AUTO(auto_json) cJSON *list = NULL;
    const char *next;

    r->waiting--;
    if (answer->status != 200 || json_parse(&list, answer->body, answer->len, "pods", r->err) < 0) {
        release_fail(r, "list", answer);
        return;
    }
    next = release_text_at(cJSON_GetObjectItemCaseSensitive(list, "metadata"), "continue");
    r->next = *next ? xstrdup(next) : NULL;
}

static void escape(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_printf(out, "%%%02X", (unsigned char)*text);
}

/* Asks for a page, and for what follows from it, and waits for all answers. */
static void run_page(struct release *r)
{
    AUTO(buf_release) struct buf path;

    buf_init(&path, 0);
    buf_puts(&path, "/api/v1/");
    if (r->namespace_)
        buf_printf(&path, "namespaces/%s/", r->namespace_);
    buf_printf(&path, "pods?labelSelector=paceline.dev%%2Fjob-name&limit=%d", PAGE);
    if (r->next) {
        buf_puts(&path, "&continue=");
        escape(&path, r->next);
    }
    free(STEAL(r->next));
    r->waiting++;
    kube_client_ops()->list(r->client,
                            &(struct kube_request){.method = KUBE_GET,
                                                   .path = path.data,
                                                   .timeout_ms = r->request_ms,
                                                   .keep = list_fields},
                            release_on_pod, on_listed, r);
    while (r->waiting > 0)
        kube_client_poll(r->client, 1000);
}

int release_finalizers(struct kube_client *client, const char *namespace_, int64_t request_ms,
                       struct err *err)
{
    struct release r = {
        .client = client, .namespace_ = namespace_, .request_ms = request_ms, .err = err};

    for (int pass = 0; pass < PASSES_MAX; pass++) {
        r.patched = 0;
        do
            run_page(&r);
        while (!r.failed && r.next);
        free(STEAL(r.next));
        if (r.failed)
            return -1;
        if (r.patched == 0) {
            log_info("released pods=%d namespace=%s", r.released, namespace_ ? namespace_ : "*");
            return 0;
        }
    }
    return err_set(err, ERR_CONFLICT,
                   "pods keep getting our finalizer: does an operator still run?");
}
