/* An API server that a test speaks for: every request of the controller waits for its answer. */
#ifndef PACELINE_TESTS_UNIT_CONTROLLER_FAKE_H
#define PACELINE_TESTS_UNIT_CONTROLLER_FAKE_H

#include "operator/controller/state.h"
#include "paceline/json.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/sieve_check.h"

/* Calls that wait for their answer, in the order in which they were made. */
struct kube_call {
    enum kube_method method;
    char *path, *body;
    int64_t timeout_ms;
    kube_done_fn *done;
    kube_item_fn *item;
    void *arg;
    const struct sieve_field *keep;
    bool over;
};
#define MAX_CALLS 4000
static struct kube_call *calls[MAX_CALLS];
static size_t n_calls;

static inline struct kube_call *record(const struct kube_request *r, kube_item_fn *item,
                                       kube_done_fn *done, void *arg)
{
    struct kube_call *call = xcalloc(1, sizeof *call);

    *call = (struct kube_call){r->method,
                               xstrdup(r->path),
                               r->body ? xstrdup(r->body) : NULL,
                               r->timeout_ms,
                               done,
                               item,
                               arg,
                               r->keep,
                               false};
    CHECK(n_calls < MAX_CALLS);
    calls[n_calls++] = call;
    return call;
}

static inline struct kube_call *fake_send(void *kube, const struct kube_request *r,
                                          kube_done_fn *done, void *arg)
{
    (void)kube;
    return record(r, NULL, done, arg);
}

static inline struct kube_call *fake_watch(void *kube, const struct kube_request *r,
                                           kube_item_fn *item, kube_done_fn *done, void *arg)
{
    (void)kube;
    return record(r, item, done, arg);
}

static inline void fake_cancel(void *kube, struct kube_call *call)
{
    (void)kube;
    call->over = true;
}

static const struct kube_ops ops = {fake_send, fake_watch, fake_watch, fake_cancel};

static inline void calls_clear(void)
{
    for (size_t i = 0; i < n_calls; i++) {
        free(calls[i]->path);
        free(calls[i]->body);
        free(calls[i]);
    }
    n_calls = 0;
}

/* The oldest open call of this method whose path contains the text; NULL: none. */
static inline struct kube_call *open_call(enum kube_method method, const char *text)
{
    for (size_t i = 0; i < n_calls; i++)
        if (!calls[i]->over && calls[i]->method == method && strstr(calls[i]->path, text))
            return calls[i];
    return NULL;
}

static inline int count_open(enum kube_method method, const char *text)
{
    int n = 0;

    for (size_t i = 0; i < n_calls; i++)
        n += !calls[i]->over && calls[i]->method == method && strstr(calls[i]->path, text);
    return n;
}

static uint64_t item_bytes; /* that an item says it took */

static inline bool give_item(void *arg, const char *text, size_t len, bool cut)
{
    const struct kube_call *call = arg;

    call->item(call->arg, &(struct kube_item){text, len, cut, item_bytes});
    return true;
}

/* An answer goes through the sieve, in pieces of a few bytes. */
static inline void feed_call(struct sieved *seen, struct kube_call *call, bool stream,
                             const char *text)
{
    sieve_text_to(seen, call->keep, stream, text, strlen(text), 1 + n_calls % 50, give_item, call);
}

static inline void answer_after(struct kube_call *call, int status, const char *body,
                                int64_t retry_ms)
{
    struct kube_response r = {.status = status,
                              .body = body,
                              .len = strlen(body),
                              .retry_after_ms = retry_ms,
                              .received = strlen(body),
                              .error = status ? NULL : "cut"};
    AUTO(sieved_release) struct sieved seen = {0};

    CHECK(call != NULL);
    if (!call)
        return;
    call->over = true;
    if (call->keep && (status == 200 || status == 201) && !strstr(call->path, "watch=1")) {
        feed_call(&seen, call, false, body);
        r.body = seen.rest.data;
        r.len = seen.rest.len;
        if (!seen.complete)
            r = (struct kube_response){.body = "", .retry_after_ms = -1, .error = "not JSON"};
    }
    call->done(call->arg, &r);
}

static inline void answer(struct kube_call *call, int status, const char *body)
{
    answer_after(call, status, body, -1);
}

static struct moment now;
static struct controller *c;

static const unsigned char master_key[32] = {1};
static const struct controller_config usual = {.identity = "me",
                                               .operator_namespace = "ops",
                                               .lease_name = "lead",
                                               .operator_version = "test",
                                               .lease_ms = 15000,
                                               .renew_ms = 10000,
                                               .retry_ms = 2000,
                                               .max_writes = 8,
                                               .page = 2,
                                               .request_ms = 10000,
                                               .master_key = master_key,
                                               .worker_image = "worker",
                                               .seed = 7};

static inline void begin_config(const struct controller_config *config)
{
    now = (struct moment){.wall_ms = 1800000000000, .mono_ms = 5000};
    c = controller_new(config, &ops, NULL, now);
    controller_step(c, now);
}

static inline void begin(bool elect)
{
    struct controller_config config = usual;

    config.elect = elect;
    begin_config(&config);
}

static inline void end(void)
{
    controller_free(c);
    calls_clear();
}

/* Lets time pass, stepping as often as the controller asks to, at least once. */
static inline void pass(int64_t ms)
{
    int64_t until = now.mono_ms + ms;

    for (;;) {
        int64_t wait = controller_next_ms(c, now);

        if (now.mono_ms + wait > until)
            break;
        now.mono_ms += wait;
        now.wall_ms += wait;
        controller_step(c, now);
        if (wait == 0 && controller_next_ms(c, now) == 0 && now.mono_ms >= until)
            break;
    }
    now.wall_ms += until - now.mono_ms;
    now.mono_ms = until;
    controller_step(c, now);
}

#define LEASE(holder, rv)                                                         \
    "{\"metadata\":{\"name\":\"lead\",\"resourceVersion\":\"" rv "\"},\"spec\":{" \
    "\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3}}"
#define EMPTY_LIST "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}"
#define STATUS(code, reason)                                                                       \
    "{\"kind\":\"Status\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"" reason "\"" \
    "}"
#define JOB(name, uid, rv, extra)                                                                 \
    "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"ns\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"" extra            \
    "},\"spec\":{\"replicas\":{\"worker\":{\"replicas\":40,\"template\":{\"spec\":{"              \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}}}"
#define ORPHAN(name, uid, owner) ORPHAN_IN("ns", name, uid, "old", owner)
#define ORPHAN_IN(ns, name, uid, job, owner)                                                    \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" ns                 \
    "\",\"uid\":\"" uid                                                                         \
    "\",\"resourceVersion\":\"9\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{"  \
    "\"app.kubernetes.io/managed-by\":\"paceline-operator\",\"paceline.dev/job-name\":\"old\"," \
    "\"paceline.dev/role\":\"worker\",\"paceline.dev/index\":\"0\","                            \
    "\"paceline.dev/incarnation\":\"0\"},\"finalizers\":[\"paceline.dev/tracking\"],"           \
    "\"ownerReferences\":[{\"apiVersion\":\"paceline.dev/"                                      \
    "v1\",\"kind\":\"TrainingJob\",\"name\":\"" job "\",\"uid\":\"" owner "\","                 \
    "\"controller\":true}]},\"status\":{\"phase\":\"Running\"}}"

/* The job of one_job, as the cache has it. */
static inline const struct meta *the_job(void) { return &cache_job(c->cache, "ns", "a")->meta; }

static inline void sync_lists(const char *jobs, const char *pods)
{
    answer(open_call(KUBE_GET, "/trainingjobs?"), 200, jobs);
    answer(open_call(KUBE_GET, "/pods?"), 200, pods);
    answer(open_call(KUBE_GET, "/services?"), 200, EMPTY_LIST);
    answer(open_call(KUBE_GET, "/configmaps?"), 200, EMPTY_LIST);
    answer(open_call(KUBE_GET, "/networkpolicies?"), 200, EMPTY_LIST);
    pass(0);
}

static inline void watch_event(struct kube_call *watch, const char *text)
{
    AUTO(sieved_release) struct sieved seen = {0};

    CHECK(watch != NULL);
    if (watch)
        feed_call(&seen, watch, true, text);
}

static inline void watch_line(const char *text)
{
    watch_event(open_call(KUBE_GET, "/trainingjobs?watch=1"), text);
}

/* As the API server does: what was sent, with a UID and a version. */
static inline void echo(struct kube_call *call)
{
    static int version = 100;
    AUTO(auto_json) cJSON *object = cJSON_Parse(call->body);
    cJSON *meta = cJSON_GetObjectItem(object, "metadata");
    AUTO(buf_release) struct buf text;
    char number[16];

    snprintf(number, sizeof number, "%d", ++version);
    cJSON_AddStringToObject(meta, "uid", number);
    cJSON_AddStringToObject(meta, "resourceVersion", number);
    buf_init(&text, 0);
    json_print(object, 0, &text);
    answer(call, 201, text.data);
}

static const char one_job[] =
    "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" JOB("a", "u1", "3", "") "]}";

/* The job's status is written: the answer is the job with it. */
static inline void keep_status(void)
{
    struct kube_call *call = open_call(KUBE_PATCH, "/trainingjobs/a/status");
    AUTO(auto_json) cJSON *patch = cJSON_Parse(call->body);
    AUTO(buf_release) struct buf job;
    char text[] = JOB("a", "u1", "11", "");

    buf_init(&job, 0);
    text[strlen(text) - 1] = '\0';
    buf_printf(&job, "%s,\"status\":", text);
    json_print(cJSON_GetObjectItem(patch, "status"), 0, &job);
    buf_puts(&job, "}");
    answer(call, 200, job.data);
    pass(0);
}

/* From a new job to the moment before its 40 pods. */
static inline void accept_job(void)
{
    answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}");
    pass(0);
    keep_status();
    answer(open_call(KUBE_POST, "/events"), 201, "{}");
    pass(0);
}

/* From a new job to its first pods: what is made before them is there. */
static inline void make_owned(void)
{
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 4; i++)
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
    pass(0);
}

static inline void lead(void)
{
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("", "1"));
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("me", "2"));
    pass(0);
    CHECK(controller_leads(c));
}

#endif
