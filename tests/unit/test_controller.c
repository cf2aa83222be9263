// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/*
 * The controller's conversation with the API, request by request: what it asks, and what it makes
 * of an answer. Whole histories are tests/sim's.
 */
#include "operator/controller/state.h"
#include "paceline/json.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "tests/test.h"

/* Calls that wait for their answer, in the order in which they were made. */
struct kube_call {
    enum kube_method method;
    char *path, *body;
    int64_t timeout_ms;
    kube_done_fn *done;
    kube_line_fn *line;
    void *arg;
    bool over;
};
#define MAX_CALLS 4000
static struct kube_call *calls[MAX_CALLS];
static size_t n_calls;

static struct kube_call *record(const struct kube_request *r, kube_line_fn *line,
                                kube_done_fn *done, void *arg)
{
    struct kube_call *call = xcalloc(1, sizeof *call);

    *call = (struct kube_call){r->method,
                               xstrdup(r->path),
                               r->body ? xstrdup(r->body) : NULL,
                               r->timeout_ms,
                               done,
                               line,
                               arg,
                               false};
    CHECK(n_calls < MAX_CALLS);
    calls[n_calls++] = call;
    return call;
}

static struct kube_call *fake_send(void *kube, const struct kube_request *r, kube_done_fn *done,
                                   void *arg)
{
    (void)kube;
    return record(r, NULL, done, arg);
}

static struct kube_call *fake_watch(void *kube, const struct kube_request *r, kube_line_fn *line,
                                    kube_done_fn *done, void *arg)
{
    (void)kube;
    return record(r, line, done, arg);
}

static void fake_cancel(void *kube, struct kube_call *call)
{
    (void)kube;
    call->over = true;
}

static const struct kube_ops ops = {fake_send, fake_watch, fake_cancel};

static void calls_clear(void)
{
    for (size_t i = 0; i < n_calls; i++) {
        free(calls[i]->path);
        free(calls[i]->body);
        free(calls[i]);
    }
    n_calls = 0;
}

/* The oldest open call of this method whose path contains the text; NULL: none. */
static struct kube_call *open_call(enum kube_method method, const char *text)
{
    for (size_t i = 0; i < n_calls; i++)
        if (!calls[i]->over && calls[i]->method == method && strstr(calls[i]->path, text))
            return calls[i];
    return NULL;
}

static int count_open(enum kube_method method, const char *text)
{
    int n = 0;

    for (size_t i = 0; i < n_calls; i++)
        n += !calls[i]->over && calls[i]->method == method && strstr(calls[i]->path, text);
    return n;
}

static void answer_after(struct kube_call *call, int status, const char *body, int64_t retry_ms)
{
    struct kube_response r = {status, body, strlen(body), retry_ms, status ? NULL : "cut"};

    CHECK(call != NULL);
    if (!call)
        return;
    call->over = true;
    call->done(call->arg, &r);
}

static void answer(struct kube_call *call, int status, const char *body)
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

static void begin(bool elect)
{
    struct controller_config config = usual;

    config.elect = elect;
    now = (struct moment){.wall_ms = 1800000000000, .mono_ms = 5000};
    c = controller_new(&config, &ops, NULL, now);
    controller_step(c, now);
}

static void end(void)
{
    controller_free(c);
    calls_clear();
}

/* Lets time pass, stepping as often as the controller asks to, at least once. */
static void pass(int64_t ms)
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
#define ORPHAN(name, uid, owner)                                                                \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" uid \
    "\",\"resourceVersion\":\"9\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{"  \
    "\"app.kubernetes.io/managed-by\":\"paceline-operator\",\"paceline.dev/job-name\":\"old\"," \
    "\"paceline.dev/role\":\"worker\",\"paceline.dev/index\":\"0\","                            \
    "\"paceline.dev/incarnation\":\"0\"},\"finalizers\":[\"paceline.dev/tracking\"],"           \
    "\"ownerReferences\":[{\"kind\":\"TrainingJob\",\"name\":\"old\",\"uid\":\"" owner "\","    \
    "\"controller\":true}]},\"status\":{\"phase\":\"Running\"}}"

static void sync_lists(const char *jobs, const char *pods)
{
    answer(open_call(KUBE_GET, "/trainingjobs?"), 200, jobs);
    answer(open_call(KUBE_GET, "/pods?"), 200, pods);
    answer(open_call(KUBE_GET, "/services?"), 200, EMPTY_LIST);
    answer(open_call(KUBE_GET, "/configmaps?"), 200, EMPTY_LIST);
    answer(open_call(KUBE_GET, "/networkpolicies?"), 200, EMPTY_LIST);
    pass(0);
}

static void test_lease_is_made_when_there_is_none(void)
{
    begin(true);
    answer(open_call(KUBE_GET, "/leases/lead"), 404, STATUS(404, "NotFound"));
    pass(0);
    CHECK(open_call(KUBE_POST, "/namespaces/ops/leases") != NULL);
    CHECK(!controller_leads(c));
    answer(open_call(KUBE_POST, "/leases"), 201, LEASE("me", "1"));
    pass(0);
    CHECK(controller_leads(c));
    end();
}

static void test_lease_of_another_is_waited_for(void)
{
    begin(true);
    for (int i = 0; i < 7; i++) { /* 14 s without a change: not yet */
        answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "5"));
        pass(2000);
        CHECK(!open_call(KUBE_PUT, "/leases/lead"));
    }
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "6")); /* it lives */
    pass(2000);
    for (int i = 0; i < 6; i++) {
        answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "6"));
        pass(2000);
        CHECK(!open_call(KUBE_PUT, "/leases/lead"));
    }
    pass(2000);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "6"));
    pass(0);
    CHECK(open_call(KUBE_PUT, "/leases/lead") != NULL); /* at once, 16 s after the last change */
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    pass(2000);
    CHECK(!controller_leads(c));
    CHECK(open_call(KUBE_GET, "/leases/lead") != NULL);
    end();
}

static void lead(void)
{
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("", "1"));
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("me", "2"));
    pass(0);
    CHECK(controller_leads(c));
}

static void test_leader_that_cannot_renew_stops_writing(void)
{
    begin(true);
    lead();
    sync_lists(
        "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" JOB("a", "u1", "3", "") "]}",
        EMPTY_LIST);
    CHECK(open_call(KUBE_POST, "/pods?dryRun=All") != NULL);
    CHECK_INT(open_call(KUBE_POST, "/pods?dryRun=All")->timeout_ms, 10000);
    for (int i = 0; i < 4; i++) {
        pass(2000);
        answer(open_call(KUBE_PUT, "/leases/lead"), 500, "{}");
    }
    answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}"); /* at 8 s: still the leader */
    pass(0);
    /* What begins now must be over before 15 s after the last renewal, less the margin. */
    CHECK(open_call(KUBE_PATCH, "/trainingjobs/a/status") != NULL);
    CHECK_INT(open_call(KUBE_PATCH, "/trainingjobs/a/status")->timeout_ms, 6500);
    pass(2000);
    CHECK(!controller_leads(c));
    answer(open_call(KUBE_PATCH, "/trainingjobs/a/status"), 0, "");
    pass(3000);
    CHECK(!open_call(KUBE_PATCH, "/trainingjobs/a/status"));
    end();
}

static void test_answer_that_was_lost_is_read_back(void)
{
    begin(true);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("", "1"));
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 0, ""); /* applied, but we do not know */
    pass(2000);
    CHECK(!controller_leads(c));
    answer(open_call(KUBE_PUT, "/leases/lead"), 409, STATUS(409, "Conflict"));
    pass(2000);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("me", "2"));
    pass(0);
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("me", "3"));
    pass(0);
    CHECK(controller_leads(c));
    end();
}

static void test_lease_is_given_back(void)
{
    begin(true);
    lead();
    controller_stop(c, now);
    pass(0);
    CHECK(strstr(open_call(KUBE_PUT, "/leases/lead")->body, "\"holderIdentity\":\"\"") != NULL);
    CHECK(!controller_stopped(c));
    answer(open_call(KUBE_PUT, "/leases/lead"), 200, LEASE("", "3"));
    pass(0);
    CHECK(controller_stopped(c));
    CHECK(!controller_leads(c));
    end();
}

static void watch_line(const char *text)
{
    struct kube_call *watch = open_call(KUBE_GET, "/trainingjobs?watch=1");

    CHECK(watch != NULL);
    if (watch)
        watch->line(watch->arg, text, strlen(text));
}

static void test_pages_and_resume(void)
{
    struct kube_call *watch;

    begin(false);
    answer(open_call(KUBE_GET, "/trainingjobs?"), 200,
           "{\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"a/b=\"},\"items\":[" JOB(
               "a", "u1", "3", "") "]}");
    CHECK(!cache_job(c->cache, "ns", "missing") && cache_job(c->cache, "ns", "a"));
    CHECK(open_call(KUBE_GET, "continue=a%2Fb%3D") != NULL);
    answer(open_call(KUBE_GET, "continue="), 200, EMPTY_LIST);
    pass(0);
    watch = open_call(KUBE_GET, "/trainingjobs?watch=1");
    CHECK(watch && strstr(watch->path, "resourceVersion=10&") != NULL);
    watch_line("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"77\"}}}");
    pass(2000);
    answer(watch, 200, "");
    pass(0);
    CHECK(open_call(KUBE_GET, "/trainingjobs?watch=1") != NULL); /* at once, from the bookmark */
    CHECK(strstr(open_call(KUBE_GET, "/trainingjobs?watch=1")->path, "resourceVersion=77&") !=
          NULL);
    end();
}

static void test_gone_and_damage_list_again(void)
{
    static const char *const lines[] = {
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}",
        "{\"type\":\"MODIFIED\",\"object\":{", /* what it said is lost: only a list tells */
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        begin(false);
        sync_lists(EMPTY_LIST, EMPTY_LIST);
        watch_line(lines[i]);
        pass(500);
        CHECK(open_call(KUBE_GET, "/trainingjobs?limit=2") != NULL);
        CHECK(!open_call(KUBE_GET, "/trainingjobs?watch=1"));
        end();
    }
}

static void test_silent_watch_is_cut(void)
{
    struct kube_call *first;

    begin(false);
    sync_lists(EMPTY_LIST, EMPTY_LIST);
    first = open_call(KUBE_GET, "/trainingjobs?watch=1");
    pass(149000);
    CHECK(!first->over);
    pass(2000);
    CHECK(first->over);
    CHECK(open_call(KUBE_GET, "/trainingjobs?watch=1") != NULL);
    end();
}

static void test_orphans_are_let_go_when_sure(void)
{
    begin(false);
    sync_lists(EMPTY_LIST, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" ORPHAN(
                               "old-worker-0-0", "p1", "gone") "]}");
    CHECK(!open_call(KUBE_PATCH, "/pods/old-worker-0-0"));
    answer(open_call(KUBE_GET, "/trainingjobs/old"), 500, "{}"); /* not sure */
    pass(2000);
    CHECK(!open_call(KUBE_PATCH, "/pods/old-worker-0-0"));
    answer(open_call(KUBE_GET, "/trainingjobs/old"), 404, STATUS(404, "NotFound"));
    pass(0);
    CHECK(strstr(open_call(KUBE_PATCH, "/pods/old-worker-0-0")->body, "\"uid\":\"p1\"") != NULL);
    end();
}

/* As the API server does: what was sent, with a UID and a version. */
static void echo(struct kube_call *call)
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

/* From a new job to the moment before its 40 pods. */
static void accept_job(void)
{
    AUTO(auto_json) cJSON *patch = NULL;
    AUTO(buf_release) struct buf job;
    char text[] = JOB("a", "u1", "11", "");
    struct kube_call *call;

    answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}");
    pass(0);
    call = open_call(KUBE_PATCH, "/trainingjobs/a/status");
    patch = cJSON_Parse(call->body);
    buf_init(&job, 0);
    text[strlen(text) - 1] = '\0';
    buf_printf(&job, "%s,\"status\":", text);
    json_print(cJSON_GetObjectItem(patch, "status"), 0, &job);
    buf_puts(&job, "}");
    answer(call, 200, job.data);
    pass(0);
    answer(open_call(KUBE_POST, "/events"), 201, "{}");
    pass(0);
}

static void test_objects_come_before_pods(void)
{
    static const char *const kinds[] = {"/services", "/secrets", "/configmaps", "/networkpolicies"};

    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        CHECK(open_call(KUBE_POST, kinds[i]) != NULL);
        CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 0);
        echo(open_call(KUBE_POST, kinds[i]));
        pass(0);
    }
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), usual.max_writes);
    for (int i = 0; i < 40; i++) {
        CHECK(count_open(KUBE_POST, "/ns/pods") <= usual.max_writes);
        echo(open_call(KUBE_POST, "/ns/pods"));
        pass(0);
    }
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 0);
    CHECK_INT(cache_count(c->cache, CACHE_PODS), 40);
    end();
}

/* A change to the job ends a plan under way: what is left is planned anew. */
static void test_suspend_stops_a_plan_under_way(void)
{
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 4; i++)
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
    pass(0);
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), usual.max_writes);
    watch_line("{\"type\":\"MODIFIED\",\"object\":" JOB("a", "u1", "500", "") "}");
    for (int i = 0; i < usual.max_writes; i++)
        echo(open_call(KUBE_POST, "/ns/pods"));
    pass(0);
    CHECK_INT(cache_count(c->cache, CACHE_PODS), usual.max_writes);
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 0); /* its status has no world any more */
    end();
}

static void test_refusal_is_waited_out(void)
{
    int at_once;

    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 4; i++)
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
    pass(0);
    at_once = count_open(KUBE_POST, "/ns/pods");
    for (int i = 0; i < at_once; i++)
        answer(open_call(KUBE_POST, "/ns/pods"), 403, STATUS(403, "exceeded quota"));
    pass(50);
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 0);
    CHECK_CONTAINS(open_call(KUBE_PATCH, "/trainingjobs/a/status")->body, "exceeded quota");
    answer(open_call(KUBE_PATCH, "/trainingjobs/a/status"), 500, "{}");
    pass(50);
    CHECK_INT(count_open(KUBE_PATCH, "/status"), 0); /* a failed status waits as well */
    pass(1000);
    CHECK(count_open(KUBE_POST, "/ns/pods") + count_open(KUBE_PATCH, "/status") > 0);
    end();
}

/* What a former leader wrote into status must be seen before the absence of a pod is. */
/* A create without an answer: the next plan waits until it is known what became of it. */
static void test_lost_answer_is_read_up(void)
{
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 4; i++)
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
    pass(0);
    answer(open_call(KUBE_POST, "/ns/pods"), 0, "");
    for (int i = 1; i < usual.max_writes; i++)
        echo(open_call(KUBE_POST, "/ns/pods"));
    pass(2000);
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 0);
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 200, JOB("a", "u1", "3", ""));
    pass(0);
    answer(open_call(KUBE_GET, "/pods?labelSelector=paceline.dev%2Fjob-name%3Da&"), 500, "{}");
    pass(2000);
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 0);
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 200, JOB("a", "u1", "3", ""));
    pass(0);
    answer(open_call(KUBE_GET, "/pods?labelSelector=paceline.dev%2Fjob-name%3Da&"), 200,
           EMPTY_LIST);
    pass(2000);
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), usual.max_writes);
    end();
}

static void test_new_leader_lists_jobs_again(void)
{
    begin(true);
    sync_lists(one_job, EMPTY_LIST);
    lead();
    pass(0);
    CHECK_INT(count_open(KUBE_POST, ""), 0);
    answer(open_call(KUBE_GET, "/trainingjobs?limit"), 200, one_job);
    pass(0);
    CHECK_INT(count_open(KUBE_POST, ""), 0); /* nor a pod that the former one made */
    answer(open_call(KUBE_GET, "/pods?labelSelector"), 200, EMPTY_LIST);
    pass(0);
    CHECK(open_call(KUBE_POST, "/pods?dryRun=All") != NULL);
    end();
}

/* The server says that the job is gone; a watch that lags still shows it. */
static void test_job_that_is_gone_stays_gone(void)
{
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}");
    pass(0);
    answer(open_call(KUBE_PATCH, "/trainingjobs/a/status"), 404, STATUS(404, "NotFound"));
    pass(0);
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 404, STATUS(404, "NotFound"));
    pass(0);
    CHECK(!cache_job(c->cache, "ns", "a"));
    watch_line("{\"type\":\"MODIFIED\",\"object\":" JOB("a", "u1", "500", "") "}");
    pass(0);
    CHECK(!cache_job(c->cache, "ns", "a"));
    watch_line("{\"type\":\"ADDED\",\"object\":" JOB("a", "u2", "501", "") "}");
    pass(0);
    CHECK(cache_job(c->cache, "ns", "a") != NULL);
    end();
}

static void test_busy_server_is_left_alone(void)
{
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    answer_after(open_call(KUBE_POST, "/pods?dryRun=All"), 429, STATUS(429, "TooManyRequests"),
                 7000);
    pass(6900);
    CHECK_INT(count_open(KUBE_POST, "/pods?dryRun=All"), 0);
    pass(1000);
    CHECK_INT(count_open(KUBE_POST, "/pods?dryRun=All"), 1);
    end();
}

static void test_name_of_another_is_not_taken(void)
{
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 3; i++)
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
    answer(open_call(KUBE_POST, "/namespaces/ns/"), 409, STATUS(409, "AlreadyExists"));
    pass(0);
    answer(open_call(KUBE_GET, "/namespaces/ns/"), 200,
           "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"x\","
           "\"resourceVersion\":\"2\"}}");
    pass(50);
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 0);
    CHECK_CONTAINS(open_call(KUBE_PATCH, "/trainingjobs/a/status")->body,
                   "does not belong to this job");
    end();
}

/* What one user writes must not make a list unreadable for all: "\u0000" in an annotation, lists in
 * lists in lists. */
static void test_one_object_does_not_spoil_a_list(void)
{
    char deep[2001] = {0};
    AUTO(auto_free) char *list = NULL;

    memset(deep, '[', 1000);
    memset(deep + 1000, ']', 1000);
    begin(false);
    list = xasprintf("{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[%s,"
                     "{\"odd\":[\"\\\\u0000\",%s],%s]}",
                     JOB("a", "u1", "3", ",\"annotations\":{\"x\":\"\\u0000 \\\\\"}"), deep,
                     &JOB("b", "u2", "4", "")[1]);
    sync_lists(list, EMPTY_LIST);
    CHECK(cache_job(c->cache, "ns", "a") != NULL);
    CHECK(cache_job(c->cache, "ns", "b") != NULL);
    watch_line("{\"type\":\"MODIFIED\",\"object\":" JOB("a", "u1", "77", ",\"x\":\"\\u0000\"") "}");
    if (cache_job(c->cache, "ns", "a"))
        CHECK_STR(cache_job(c->cache, "ns", "a")->meta.resource_version, "77");
    end();
}

/* 200 and no list at all: nothing is gone, and nobody asks again at once. */
static void test_answer_that_is_no_list(void)
{
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    watch_line("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}");
    pass(500);
    answer(open_call(KUBE_GET, "/trainingjobs?limit"), 200, "{}");
    pass(0);
    CHECK(cache_job(c->cache, "ns", "a") != NULL);
    CHECK(!open_call(KUBE_GET, "/trainingjobs?limit"));
    pass(1000);
    CHECK(open_call(KUBE_GET, "/trainingjobs?limit") != NULL);
    end();
}

#define UNOWNED(labels, finalizers)                                                                \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a-worker-0-0\",\"namespace\":\"ns\",\"uid\":"      \
    "\"p1\",\"resourceVersion\":\"700\",\"labels\":{" labels "\"paceline.dev/role\":\"worker\","   \
    "\"paceline.dev/index\":\"0\",\"paceline.dev/incarnation\":\"0\"},\"finalizers\":[" finalizers \
    "]},\"status\":{\"phase\":\"Running\"}}"

/* `kubectl delete --cascade=orphan`: nobody else would ever take our finalizer off. */
static void test_pod_of_nobody_is_let_go(void)
{
    begin(false);
    sync_lists(EMPTY_LIST, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" UNOWNED(
                               "", "\"paceline.dev/tracking\"") "]}");
    CHECK(open_call(KUBE_PATCH, "/pods/a-worker-0-0") != NULL);
    answer(open_call(KUBE_PATCH, "/pods/a-worker-0-0"), 200, UNOWNED("", ""));
    pass(100000);
    CHECK(!open_call(KUBE_PATCH, "/pods/a-worker-0-0"));
    CHECK_INT(cache_count(c->cache, CACHE_PODS), 0);
    end();
}

static size_t n_created(const char *text)
{
    size_t n = 0;

    for (size_t i = 0; i < n_calls; i++)
        n += calls[i]->method == KUBE_POST && strstr(calls[i]->path, text);
    return n;
}

/* Answers every creation by 409 and every reading by the object, for some rounds in no time. */
static void exists_hidden(const char *kind, const char *object)
{
    for (int round = 0; round < 20; round++) {
        struct kube_call *call;

        while ((call = open_call(KUBE_POST, kind)))
            answer(call, 409, STATUS(409, "AlreadyExists"));
        pass(0);
        while ((call = open_call(KUBE_GET, kind)) && !strchr(call->path, '?'))
            answer(call, 200, object);
        pass(0);
    }
}

#define OWNED_BY_A                                                                  \
    "\"ownerReferences\":[{\"kind\":\"TrainingJob\",\"name\":\"a\",\"uid\":\"u1\"," \
    "\"controller\":true}]"

/* Its labels were edited, so that we cannot see it: no storm of creations, and a sentence. */
static void test_relabelled_pod(void)
{
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 4; i++)
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
    pass(0);
    exists_hidden("/ns/pods",
                  "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a-worker-0-0\",\"namespace\":\"ns\","
                  "\"uid\":\"p1\",\"resourceVersion\":\"700\"," OWNED_BY_A "},\"status\":{}}");
    CHECK(n_created("/ns/pods") <= 1 + 40);
    for (int i = 0; i < 4; i++) {
        pass(2000);
        exists_hidden("/ns/pods",
                      "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a-worker-0-0\",\"namespace\":"
                      "\"ns\",\"uid\":\"p1\",\"resourceVersion\":\"700\"," OWNED_BY_A "}}");
    }
    CHECK(open_call(KUBE_PATCH, "/trainingjobs/a/status") != NULL);
    if (open_call(KUBE_PATCH, "/trainingjobs/a/status"))
        CHECK_CONTAINS(open_call(KUBE_PATCH, "/trainingjobs/a/status")->body, "labels");
    end();
}

static void test_relabelled_service(void)
{
    static const char deleted[] =
        "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Service\",\"metadata\":{\"name\":\"a\","
        "\"namespace\":\"ns\",\"uid\":\"s1\",\"resourceVersion\":\"800\"}}}";
    static const char *const others[] = {"/secrets", "/configmaps", "/networkpolicies"};
    struct kube_call *watch;

    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    watch = open_call(KUBE_GET, "/services?");
    watch->line(watch->arg, deleted, strlen(deleted));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        echo(open_call(KUBE_POST, others[i]));
    exists_hidden("/ns/services",
                  "{\"kind\":\"Service\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\","
                  "\"uid\":\"s1\",\"resourceVersion\":\"800\"," OWNED_BY_A "}}");
    CHECK(n_created("/ns/services") <= 3);
    end();
}

static void test_status_that_is_not_kept(void)
{
    static const char *const answers[] = {"{}", JOB("a", "u1", "900", "")};

    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        int n = 0;

        begin(false);
        sync_lists(one_job, EMPTY_LIST);
        for (int round = 0; round < 20; round++) {
            struct kube_call *call;

            if ((call = open_call(KUBE_POST, "/pods?dryRun=All")))
                answer(call, 201, "{}");
            pass(0);
            if ((call = open_call(KUBE_PATCH, "/trainingjobs/a/status"))) {
                answer(call, 200, answers[i]);
                n++;
            }
            pass(0);
        }
        CHECK_INT(n, 1);
        end();
    }
}

/* The sentence is longer than what is kept of it, and the cut falls into a character. */
static void test_sentence_is_cut_between_characters(void)
{
    AUTO(auto_free) char *body = NULL;
    AUTO(auto_json) cJSON *patch = NULL;
    char sentence[1024];
    const cJSON *item;
    bool seen = false;

    memset(sentence, 'x', sizeof sentence);
    for (size_t i = 501; i + 3 < sizeof sentence; i += 3)
        memcpy(sentence + i, "\xe2\x82\xac", 3);
    sentence[501 + 3 * 100] = '\0';
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 4; i++)
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
    pass(0);
    body = xasprintf("{\"kind\":\"Status\",\"message\":\"%s\"}", sentence);
    while (open_call(KUBE_POST, "/ns/pods"))
        answer(open_call(KUBE_POST, "/ns/pods"), 403, body);
    pass(0);
    patch = cJSON_Parse(open_call(KUBE_PATCH, "/trainingjobs/a/status")->body);
    cJSON_ArrayForEach(item,
                       cJSON_GetObjectItem(cJSON_GetObjectItem(patch, "status"), "conditions"))
    {
        const char *message = cJSON_GetStringValue(cJSON_GetObjectItem(item, "message"));
        const char *euro = message ? strrchr(message, '\xe2') : NULL;

        if (!euro)
            continue;
        seen = true;
        CHECK_INT(strlen(euro), 3);
    }
    CHECK(seen);
    end();
}

/* Who does not lead remembers nothing of the jobs that come and go. */
static void test_standby_stays_small(void)
{
    begin(true);
    answer(open_call(KUBE_GET, "/leases/lead"), 200, LEASE("other", "5"));
    sync_lists(EMPTY_LIST, EMPTY_LIST);
    for (int i = 0; i < 100; i++) {
        AUTO(auto_free)
        char *line =
            xasprintf("{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"j%d\",\"namespace\":"
                      "\"ns\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"}}}",
                      i % 2 ? "DELETED" : "ADDED", i / 2, i / 2, 100 + i);
        watch_line(line);
    }
    pass(0);
    CHECK_INT(workqueue_depth(c->queue), 0);
    end();
}

/* A story is told to its end, though no look is due any more. */
static void test_event_that_failed_is_sent_again(void)
{
    AUTO(auto_free) char *list = NULL;
    char text[] = JOB("a", "u1", "11", "");

    text[strlen(text) - 1] = '\0';
    list = xasprintf("{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[%s,\"status\":{"
                     "\"conditions\":[{\"type\":\"Succeeded\",\"status\":\"True\","
                     "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}]}",
                     text);
    begin(false);
    sync_lists(list, EMPTY_LIST);
    answer(open_call(KUBE_POST, "/events"), 500, "{}");
    pass(5000);
    CHECK(!open_call(KUBE_POST, "/events"));
    pass(10000);
    answer(open_call(KUBE_POST, "/events"), 201, "{}");
    pass(60000);
    CHECK(!open_call(KUBE_POST, "/events"));
    end();
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_lease_is_made_when_there_is_none();
    test_lease_of_another_is_waited_for();
    test_leader_that_cannot_renew_stops_writing();
    test_answer_that_was_lost_is_read_back();
    test_lease_is_given_back();
    test_pages_and_resume();
    test_gone_and_damage_list_again();
    test_silent_watch_is_cut();
    test_orphans_are_let_go_when_sure();
    test_objects_come_before_pods();
    test_suspend_stops_a_plan_under_way();
    test_refusal_is_waited_out();
    test_lost_answer_is_read_up();
    test_new_leader_lists_jobs_again();
    test_job_that_is_gone_stays_gone();
    test_busy_server_is_left_alone();
    test_name_of_another_is_not_taken();
    test_one_object_does_not_spoil_a_list();
    test_answer_that_is_no_list();
    test_pod_of_nobody_is_let_go();
    test_relabelled_pod();
    test_relabelled_service();
    test_status_that_is_not_kept();
    test_sentence_is_cut_between_characters();
    test_standby_stays_small();
    test_event_that_failed_is_sent_again();
    return test_result();
}
