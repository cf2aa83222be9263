// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/*
 * The controller's conversation with the API, request by request: what it asks, and what it makes
 * of an answer. Whole histories are tests/sim's.
 */
#include "tests/unit/controller_fake.h"

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
    make_owned();
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
    make_owned();
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

/* The status that a former leader wrote must be seen before the absence of a pod is. */
/* A create without an answer: the next plan waits until it is known what became of it. */
static void test_lost_answer_is_read_up(void)
{
    begin(false);
    make_owned();
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
    CHECK_CONTAINS(open_call(KUBE_PATCH, "/trainingjobs/a/status")->body, "NameTaken");
    end();
}

/* How often a job asks for the name of an object with this in its metadata before it says so. */
static int tries_for_name(const char *object)
{
    AUTO(auto_free)
    char *there = xasprintf("{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"x\","
                            "\"resourceVersion\":\"2\",%s}}",
                            object);
    int tries = 0;

    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 3; i++)
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
    while (!open_call(KUBE_PATCH, "/trainingjobs/a/status") && tries < 10) {
        struct kube_call *call = open_call(KUBE_POST, "/namespaces/ns/networkpolicies");

        if (call) {
            tries++;
            answer(call, 409, STATUS(409, "AlreadyExists"));
            pass(0);
            answer(open_call(KUBE_GET, "/networkpolicies/a"), 200, there);
        }
        pass(100);
    }
    CHECK_CONTAINS(open_call(KUBE_PATCH, "/trainingjobs/a/status")->body, "NameTaken");
    end();
    return tries;
}

#define FORMER(kind, name)                                                      \
    "\"ownerReferences\":[{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"" kind \
    "\",\"name\":\"" name "\",\"uid\":\"u0\",\"controller\":true}]"

/* It waits for objects that are being deleted, and for those that a job of the same name has left,
 * whether or not the garbage collector has come to it. */
static void test_name_that_will_be_free_is_waited_for(void)
{
    CHECK_INT(tries_for_name("\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""), 4);
    CHECK_INT(tries_for_name(FORMER("TrainingJob", "a")), 4);
    CHECK_INT(tries_for_name(FORMER("TrainingJob", "b")), 1);
    CHECK_INT(tries_for_name(FORMER("Deployment", "a")), 1);
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
    make_owned();
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

/* A follower remembers nothing of the jobs that come and go. */
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

#define ONE_EVENT                                                                                  \
    "{\"items\":[{\"type\":\"Warning\",\"reason\":\"FailedMount\",\"message\":\"no such folder\"," \
    "\"lastTimestamp\":\"2026-11-21T07:00:00Z\"}]}"
#define EVENTS_OF_POD "/namespaces/ns/events?fieldSelector=involvedObject.uid%3D"

/* Worker 0's pod gets a node, and nothing else. */
static void place_first(void)
{
    struct kube_call *watch = open_call(KUBE_GET, "/pods?");
    const struct pod *const *pods, *first = NULL;
    AUTO(buf_release) struct buf line;
    size_t n;

    buf_init(&line, 0);
    pods = cache_pods_of(c->cache, the_job(), &n);
    for (size_t i = 0; i < n; i++)
        if (pods[i]->index == 0)
            first = pods[i];
    CHECK(first && watch);
    if (!first || !watch)
        return;
    buf_printf(
        &line,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a-worker-0-0\","
        "\"namespace\":\"ns\",\"uid\":\"%s\",\"resourceVersion\":\"900\",\"labels\":{"
        "\"paceline.dev/role\":\"worker\",\"paceline.dev/index\":\"0\","
        "\"paceline.dev/incarnation\":\"0\"},\"ownerReferences\":[{\"apiVersion\":\"paceline.dev/"
        "v1\",\"kind\":"
        "\"TrainingJob\",\"name\":\"a\",\"uid\":\"u1\",\"controller\":true}]},"
        "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Pending\"}}}",
        first->meta.uid);
    watch_event(watch, line.data);
}

/* The job's status after the first answer to the question why a pod waits. */
static void check_wait(int status, const char *body, const char *want)
{
    struct kube_call *call;

    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 4 + 40; i++) {
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
        pass(0);
    }
    place_first();
    pass(0);
    call = open_call(KUBE_GET, EVENTS_OF_POD);
    CHECK(call != NULL); /* its creation is long past */
    if (call)
        answer(call, status, body);
    pass(3000);
    call = open_call(KUBE_PATCH, "/trainingjobs/a/status");
    CHECK_CONTAINS(call ? call->body : "no status is written", want);
    CHECK(!open_call(KUBE_GET, EVENTS_OF_POD)); /* not at once again */
    end();
}

static void test_pod_that_is_not_begun(void)
{
    check_wait(200, ONE_EVENT, "worker 0 waits: FailedMount: no such folder (see");
    check_wait(200, EMPTY_LIST, "worker 0 waits: node n has not begun it within 10 s (see");
    check_wait(403, STATUS(403, "Forbidden"), "worker 0 waits: node n has not begun it");
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_objects_come_before_pods();
    test_suspend_stops_a_plan_under_way();
    test_refusal_is_waited_out();
    test_lost_answer_is_read_up();
    test_new_leader_lists_jobs_again();
    test_job_that_is_gone_stays_gone();
    test_busy_server_is_left_alone();
    test_name_of_another_is_not_taken();
    test_name_that_will_be_free_is_waited_for();
    test_status_that_is_not_kept();
    test_sentence_is_cut_between_characters();
    test_standby_stays_small();
    test_event_that_failed_is_sent_again();
    test_pod_that_is_not_begun();
    return test_result();
}
