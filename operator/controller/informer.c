#include "operator/controller/informer.h"

#include <stdio.h>
#include <string.h>

#include "operator/api/kept.h"
#include "operator/controller/answer.h"
#include "operator/controller/decode.h"
#include "operator/controller/requests.h"
#include "operator/controller/state.h"
#include "operator/core/backoff.h"
#include "paceline/log.h"
#include "paceline/mem.h"

#define WATCH_S 290       /* asked for; the server ends the watch then */
#define SILENCE_MS 150000 /* bookmarks come every minute: a watch without one is dead */
#define HEADERS_MS 30000
#define CUT_MS 60000

#define METADATA ";g=meta.k8s.io;v=v1,application/json"
static const struct {
    const char *base, *name, *selector;
    int kind; /* of the cache */
    const struct sieve_field *keep_list, *keep_event;
    const char *accept_list, *accept_watch;
} resources[N_RESOURCES] = {
    [RESOURCE_JOBS] = {"/apis/" API_VERSION, "trainingjobs", NULL, CACHE_JOBS, kept_job_list,
                       kept_job_event, NULL, NULL},
    [RESOURCE_PODS] = {"/api/v1", "pods", LABEL_MANAGED_BY "=" MANAGED_BY, CACHE_PODS,
                       kept_pod_list, kept_pod_event, NULL, NULL},
#define OWNED_RESOURCE(base, name, kind)                                                    \
    {                                                                                       \
        base, name, LABEL_MANAGED_BY "=" MANAGED_BY, CACHE_OWNED + (kind), kept_owned_list, \
            kept_owned_event, "application/json;as=PartialObjectMetadataList" METADATA,     \
            "application/json;as=PartialObjectMetadata" METADATA                            \
    }
    [RESOURCE_SERVICES] = OWNED_RESOURCE("/api/v1", "services", OWNED_SERVICE),
    [RESOURCE_CONFIG_MAPS] = OWNED_RESOURCE("/api/v1", "configmaps", OWNED_CONFIG_MAP),
    [RESOURCE_NETWORK_POLICIES] =
        OWNED_RESOURCE("/apis/networking.k8s.io/v1", "networkpolicies", OWNED_NETWORK_POLICY),
};

void informer_init(struct informer *inf, struct controller *c, enum resource resource)
{
    *inf = (struct informer){.c = c, .resource = resource, .again = true};
    inf->at_mono_ms = c->now.mono_ms;
}

void informer_release(struct informer *inf)
{
    if (inf->call)
        inf->c->ops->cancel(inf->c->kube, inf->call);
    inf->call = NULL;
    free(inf->next_page);
    inf->next_page = NULL;
}

static void collection_path(const struct informer *inf, struct buf *out)
{
    const char *ns = inf->c->config.namespace_;

    buf_puts(out, resources[inf->resource].base);
    if (ns)
        buf_printf(out, "/namespaces/%s", ns);
    buf_printf(out, "/%s?", resources[inf->resource].name);
    if (resources[inf->resource].selector) {
        buf_puts(out, "labelSelector=");
        query_escape(out, resources[inf->resource].selector);
        buf_puts(out, "&");
    }
}

/* The call is over: what happens next is decided in the next step, which knows the time. */
static void informer_end(struct informer *inf, bool failed, bool again,
                         const struct kube_response *r)
{
    inf->call = NULL;
    inf->ended = true;
    inf->failed = failed;
    inf->retry_after_ms = r ? r->retry_after_ms : -1;
    inf->again = inf->again || again;
}

static void on_gone(void *arg, const char *namespace_, const char *job)
{
    controller_touch(arg, namespace_, job);
}

static void start_list(struct informer *inf);

static const char *informer_text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return text ? text : "?";
}

/* Counts an object of which something is left out. It is said once a minute: somebody may make many
 * such objects, or change one often. */
static void note_cut(struct informer *inf, const cJSON *object, const char *what)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata");
    struct controller *c = inf->c;

    c->stats.objects_cut++;
    if (c->cut_mono_ms && c->now.mono_ms - c->cut_mono_ms < CUT_MS)
        return;
    c->cut_mono_ms = c->now.mono_ms;
    log_warn("%s: resource=%s object=%s/%s uid=%s; objects so far: %llu", what,
             resources[inf->resource].name, informer_text_of(meta, "namespace"),
             informer_text_of(meta, "name"), informer_text_of(meta, "uid"),
             (unsigned long long)c->stats.objects_cut);
}

#define TOO_LARGE "an object is larger than the operator reads, and the rest of it is left out"
#define UNREAD "an object cannot be read, and is left as it is until it changes"

/* Charges what the object cost since began_us, and its bytes before. */
static void informer_charge(const struct informer *inf, const cJSON *object, int64_t began_us,
                            const struct kube_item *item)
{
    char whose[WHOSE_SIZE];

    budget_whose(whose, object, inf->resource == RESOURCE_JOBS);
    budget_charge(inf->c, whose, began_us, item->received);
}

static void on_object(void *arg, const struct kube_item *item)
{
    struct informer *inf = arg;
    int64_t began = budget_begin(inf->c);
    AUTO(auto_json) cJSON *object = NULL;
    struct err err;

    inf->n_items++;
    if (answer_parse(&object, item->text, item->len, "list", &err) == 0) {
        if (item->cut)
            note_cut(inf, object, TOO_LARGE);
        decode_object(inf->c, inf->resource, object, CACHE_WATCH);
    } else if (answer_parse_identity(&object, item->text, item->len, false, "list", &err) == 0) {
        note_cut(inf, object, UNREAD);
        decode_unread(inf->c, inf->resource, object);
    } else {
        log_warn("list: bad object resource=%s: %s", resources[inf->resource].name, err.msg);
        inf->bad = true;
    }
    informer_charge(inf, object, began, item);
}

/* All objects of the page are taken. */
static void end_page(struct informer *inf, const cJSON *list)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(list, "metadata");
    const char *version =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "resourceVersion"));
    const char *more = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(meta, "continue"));
    struct controller *c = inf->c;

    free(inf->next_page);
    inf->next_page = more && *more ? xstrdup(more) : NULL;
    if (inf->next_page) {
        start_list(inf);
        return;
    }
    snprintf(inf->version, sizeof inf->version, "%s", version);
    cache_relist_end(c->cache, resources[inf->resource].kind, inf->version, on_gone, c);
    inf->synced = inf->current = true;
    inf->again = false;
    list_page_complete(&inf->page);
    c->stats.relists++;
    if (inf->resource == RESOURCE_JOBS)
        c->sweep_mono_ms = c->now.mono_ms; /* pods of jobs that are gone */
    informer_end(inf, false, false, NULL);
}

static void on_list(void *arg, const struct kube_response *r)
{
    struct informer *inf = arg;
    AUTO(auto_json) cJSON *list = NULL;
    char message[256];
    enum answer answer = answer_read(r, &list, message, sizeof message);

    inf->call = NULL;
    controller_count(inf->c, KUBE_GET, r->status);
    if (answer == ANSWER_OK && answer_is_list(list) && !inf->bad) {
        list_page_arrived(&inf->page, inf->c->config.page, inf->n_items, r->received);
        end_page(inf, list);
        return;
    }
    log_warn("list failed resource=%s code=%d: %s", resources[inf->resource].name, r->status,
             answer != ANSWER_OK ? message
             : inf->bad          ? "an object of it cannot be read"
                                 : "the answer is no list");
    if (r->status == 0)
        list_page_failed(&inf->page, inf->c->config.page, r->received);
    free(STEAL(inf->next_page)); /* an expired page or a failure: from the first page again */
    informer_end(inf, true, true, r);
}

static void start_list(struct informer *inf)
{
    struct controller *c = inf->c;
    AUTO(buf_release) struct buf path;

    buf_init(&path, 0);
    collection_path(inf, &path);
    if (!inf->next_page)
        list_page_begin(&inf->page);
    buf_printf(&path, "limit=%d", list_page_limit(&inf->page, c->config.page));
    if (inf->next_page) {
        buf_puts(&path, "&continue=");
        query_escape(&path, inf->next_page);
    } else {
        cache_relist_begin(c->cache, resources[inf->resource].kind);
    }
    inf->state = INFORMER_LIST;
    inf->bad = false;
    inf->n_items = 0;
    inf->call = c->ops->list(c->kube,
                             &(struct kube_request){.method = KUBE_GET,
                                                    .path = path.data,
                                                    .accept = resources[inf->resource].accept_list,
                                                    .keep = resources[inf->resource].keep_list,
                                                    .timeout_ms = HEADERS_MS},
                             on_object, on_list, inf);
}

/* An ERROR event carries a Status: 410 means that our version is too old. */
static void take_error(struct informer *inf, const cJSON *status)
{
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(status, "code");

    if (cJSON_IsNumber(code) && (int)code->valuedouble == 410)
        inf->again = true;
    inf->failed = true;
}

/* Handles the object of an event that is no ERROR. */
static void informer_take_event(struct informer *inf, const char *type, const cJSON *object,
                                bool unread)
{
    if (!type || strcmp(type, "BOOKMARK") == 0)
        return;
    if (strcmp(type, "DELETED") == 0)
        decode_deleted(inf->c, inf->resource, object);
    else if (unread)
        decode_unread(inf->c, inf->resource, object);
    else
        decode_event(inf->c, inf->resource, object);
}

static void informer_on_event(void *arg, const struct kube_item *item)
{
    struct informer *inf = arg;
    int64_t began = budget_begin(inf->c);
    AUTO(auto_json) cJSON *event = NULL;
    const char *type;
    const cJSON *object;
    bool unread;
    struct err err;

    inf->line = true;
    unread = answer_parse(&event, item->text, item->len, "watch", &err) != 0;
    if (unread && answer_parse_identity(&event, item->text, item->len, true, "watch", &err)) {
        log_warn("watch: bad event resource=%s: %s", resources[inf->resource].name, err.msg);
        inf->again = true; /* what it said is unknown: only a list tells */
        inf->failed = true;
        return;
    }
    type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "type"));
    object = cJSON_GetObjectItemCaseSensitive(event, "object");
    if (type && strcmp(type, "ERROR") == 0) {
        take_error(inf, object);
        return;
    }
    decode_version(object, inf->version);
    if (item->cut || unread)
        note_cut(inf, object, unread ? UNREAD : TOO_LARGE);
    informer_take_event(inf, type, object, unread);
    informer_charge(inf, object, began, item);
}

static void on_watch_end(void *arg, const struct kube_response *r)
{
    struct informer *inf = arg;
    char message[256];
    enum answer answer = ANSWER_OK;

    controller_count(inf->c, KUBE_GET, r->status);
    inf->c->stats.watch_restarts++;
    if (r->status < 200 || r->status >= 300)
        answer = answer_read(r, NULL, message, sizeof message);
    /* 400: the version cannot be used (a server restored from a backup). */
    informer_end(inf, inf->failed || answer != ANSWER_OK,
                 answer == ANSWER_GONE || answer == ANSWER_INVALID, r);
}

static void start_watch(struct informer *inf)
{
    struct controller *c = inf->c;
    AUTO(buf_release) struct buf path;

    buf_init(&path, 0);
    collection_path(inf, &path);
    buf_printf(&path, "watch=1&allowWatchBookmarks=true&resourceVersion=%s&timeoutSeconds=%d",
               inf->version, WATCH_S);
    inf->state = INFORMER_WATCH;
    inf->failed = false;
    inf->line_mono_ms = c->now.mono_ms;
    inf->call =
        c->ops->watch(c->kube,
                      &(struct kube_request){.method = KUBE_GET,
                                             .path = path.data,
                                             .accept = resources[inf->resource].accept_watch,
                                             .keep = resources[inf->resource].keep_event,
                                             .timeout_ms = HEADERS_MS},
                      informer_on_event, on_watch_end, inf);
}

/* After the end of a call: when to start the next. */
static void plan_next(struct informer *inf)
{
    int64_t now = inf->c->now.mono_ms, wait = 0;
    bool short_ = inf->state == INFORMER_WATCH && now - inf->at_mono_ms < 1000;

    inf->ended = false;
    if (inf->failed || short_) {
        wait = backoff_ms(inf->failures++, 100, 30000, &inf->c->random);
        if (inf->retry_after_ms > wait)
            wait = inf->retry_after_ms;
    } else {
        inf->failures = 0;
    }
    inf->state = INFORMER_WAIT;
    inf->at_mono_ms = now + wait;
}

void informer_refresh(struct informer *inf)
{
    informer_release(inf);
    inf->state = INFORMER_WAIT;
    inf->at_mono_ms = inf->c->now.mono_ms;
    inf->again = true;
    inf->ended = inf->failed = inf->line = inf->current = false;
}

void informer_step(struct informer *inf)
{
    int64_t now = inf->c->now.mono_ms;

    if (inf->line) {
        inf->line = false;
        inf->line_mono_ms = now;
        if (!inf->failed)
            inf->failures = 0;
    }
    if (inf->ended)
        plan_next(inf);
    if (inf->state == INFORMER_WATCH && (inf->failed || now - inf->line_mono_ms >= SILENCE_MS)) {
        inf->c->ops->cancel(inf->c->kube, inf->call);
        informer_end(inf, inf->failed, false, NULL);
        plan_next(inf);
    }
    if (inf->state != INFORMER_WAIT || now < inf->at_mono_ms)
        return;
    inf->at_mono_ms = now;
    if (inf->again || !inf->version[0])
        start_list(inf);
    else
        start_watch(inf);
}

int64_t informer_next_ms(const struct informer *inf, int64_t mono_ms)
{
    int64_t at;

    if (inf->ended || inf->line || (inf->state == INFORMER_WATCH && inf->failed))
        return 0;
    if (inf->state == INFORMER_LIST)
        return -1;
    at = inf->state == INFORMER_WAIT ? inf->at_mono_ms : inf->line_mono_ms + SILENCE_MS;
    return at > mono_ms ? at - mono_ms : 0;
}
