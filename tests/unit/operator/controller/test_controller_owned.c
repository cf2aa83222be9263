// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/* Objects that others relabel, delete or take away from under the controller. */
#include "tests/unit/controller_fake.h"

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

#define OWNED_BY_A                                                 \
    "\"ownerReferences\":[{\"apiVersion\":\"paceline.dev/"         \
    "v1\",\"kind\":\"TrainingJob\",\"name\":\"a\",\"uid\":\"u1\"," \
    "\"controller\":true}]"

/* Its labels were edited, so that we cannot see it: no storm of creations, and a sentence. */
static void test_relabelled_pod(void)
{
    begin(false);
    make_owned();
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

/* Writes of status that the API server refuses as conflicts, for so long. */
static size_t conflicts_in(int64_t ms)
{
    size_t n = 0;

    for (int64_t t = 0; t < ms; t += 50) {
        struct kube_call *call;

        while ((call = open_call(KUBE_PATCH, "/trainingjobs/a/status"))) {
            answer(call, 409, STATUS(409, "Conflict"));
            n++;
        }
        while ((call = open_call(KUBE_GET, "/trainingjobs/a")) && !strchr(call->path, '?'))
            answer(call, 200, JOB("a", "u1", "3", ""));
        pass(50);
    }
    return n;
}

/* The first is read and written again at once; those after it back off, and the read between two
 * of them is no success. */
static void test_conflicts_back_off(void)
{
    const struct job_state *m;

    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}");
    pass(0);
    answer(open_call(KUBE_PATCH, "/trainingjobs/a/status"), 409, STATUS(409, "Conflict"));
    pass(0);
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 200, JOB("a", "u1", "3", ""));
    pass(0);
    CHECK(open_call(KUBE_PATCH, "/trainingjobs/a/status") != NULL);
    CHECK(conflicts_in(60000) <= 12);
    CHECK(conflicts_in(60000) <= 5);
    pass(30000);
    keep_status();
    m = job_states_find(c->job_states, "ns/a");
    CHECK(m && !m->reread && !m->failures);
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
    watch_event(watch, deleted);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        echo(open_call(KUBE_POST, others[i]));
    exists_hidden("/ns/services",
                  "{\"kind\":\"Service\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\","
                  "\"uid\":\"s1\",\"resourceVersion\":\"800\"," OWNED_BY_A "}}");
    CHECK(n_created("/ns/services") <= 3);
    end();
}

/* The watch shows that an object of the job went, whoever wanted it to. */
static void lose_one(const char *path, const struct meta *m)
{
    struct kube_call *watch = open_call(KUBE_GET, path);
    AUTO(buf_release) struct buf line;

    buf_init(&line, 0);
    buf_printf(&line,
               "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"%s\",\"namespace\":"
               "\"ns\",\"uid\":\"%s\",\"resourceVersion\":\"800\"," OWNED_BY_A "}}}",
               m->name, m->uid);
    watch_event(watch, line.data);
}

static void make_all(void)
{
    begin(false);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    for (int i = 0; i < 4 + 40; i++) {
        echo(open_call(KUBE_POST, "/namespaces/ns/"));
        if (i < 4 + 39) /* the look after the last one is what the tests are about */
            pass(0);
    }
}

/* The garbage collector takes away what a job owned before our watch shows that the job went. */
static void test_object_of_job_that_is_gone(void)
{
    make_all();
    lose_one("/services?", &cache_owned(c->cache, OWNED_SERVICE, the_job(), "a")->meta);
    pass(1000);
    CHECK_INT(count_open(KUBE_POST, "/services"), 0);
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 404, STATUS(404, "NotFound"));
    pass(60000);
    CHECK(!open_call(KUBE_POST, "/services"));
    CHECK(!open_call(KUBE_GET, "/trainingjobs/a"));
    CHECK(!cache_job(c->cache, "ns", "a"));
    end();
}

static void confirm_job(void)
{
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 200, JOB("a", "u1", "3", ""));
    pass(0);
    answer(open_call(KUBE_GET, "/pods?labelSelector=paceline.dev%2Fjob-name%3Da&"), 200,
           EMPTY_LIST);
    pass(0);
}

static void test_object_that_a_user_deletes(void)
{
    make_all();
    lose_one("/services?", &cache_owned(c->cache, OWNED_SERVICE, the_job(), "a")->meta);
    pass(0);
    confirm_job();
    CHECK_INT(count_open(KUBE_POST, "/services"), 1);
    end();
}

#define PODS_OF_A "/pods?labelSelector=paceline.dev%2Fjob-name%3Da&"
#define FIRST_OF_MANY "{\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"x\"},\"items\":[]}"

/* A page of its pods that does not arrive in time is asked for in smaller pages. */
static void test_pods_that_arrive_slowly(void)
{
    make_all();
    c->config.page = 100;
    lose_one("/services?", &cache_owned(c->cache, OWNED_SERVICE, the_job(), "a")->meta);
    pass(0);
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 200, JOB("a", "u1", "3", ""));
    pass(0);
    answer(open_call(KUBE_GET, PODS_OF_A "limit=10"), 200, FIRST_OF_MANY);
    pass(0);
    answer(open_call(KUBE_GET, PODS_OF_A "limit=20&continue=x"), 0, "");
    pass(60000);
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 200, JOB("a", "u1", "3", ""));
    pass(0);
    answer(open_call(KUBE_GET, PODS_OF_A "limit=10"), 200, FIRST_OF_MANY);
    pass(0);
    answer(open_call(KUBE_GET, PODS_OF_A "limit=10&continue=x"), 200, EMPTY_LIST);
    pass(0);
    CHECK_INT(count_open(KUBE_POST, "/services"), 1);
    end();
}

/* Its outcome may be in a status that our watch of jobs has still to show. */
static void test_pod_that_vanishes(void)
{
    size_t n;

    make_all();
    lose_one("/pods?", &cache_pods_of(c->cache, the_job(), &n)[0]->meta);
    pass(1000);
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 0);
    confirm_job();
    CHECK_INT(count_open(KUBE_POST, "/ns/pods"), 1);
    end();
}

/* Ours to delete: that a watch says so before the answer comes is no news. */
static void test_objects_of_the_past(void)
{
    static const char added[] =
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":"
        "\"a-worker-50-0\",\"namespace\":\"ns\",\"uid\":\"p50\",\"resourceVersion\":\"700\","
        "\"labels\":{\"paceline.dev/job-name\":\"a\",\"paceline.dev/role\":\"worker\","
        "\"paceline.dev/index\":\"50\",\"paceline.dev/incarnation\":\"0\"}," OWNED_BY_A
        "},\"status\":{\"phase\":\"Running\"}}}";
    struct kube_call *watch;

    make_all();
    watch = open_call(KUBE_GET, "/pods?");
    watch_event(watch, added);
    CHECK(cache_pod(c->cache, "p50") != NULL);
    lose_one("/pods?", &(struct meta){.name = "a-worker-50-0", .uid = "p50"});
    lose_one("/configmaps?", &(struct meta){.name = "a-0", .uid = "old"});
    pass(1000);
    CHECK(!open_call(KUBE_GET, "/trainingjobs/a"));
    end();
}

/* A Secret is not watched. When pods could not be made for so long that it may be gone, it is made
 * again first; that this is refused (by a quota, say) does not mean that it is not there. */
static void test_secret_that_may_be_gone(void)
{
    struct kube_call *call;

    begin(false);
    make_owned();
    for (int i = 0; i < 60 && !open_call(KUBE_POST, "/secrets"); i++) {
        while ((call = open_call(KUBE_POST, "/ns/pods")))
            answer(call, 403, STATUS(403, "Forbidden"));
        pass(1000);
        if ((call = open_call(KUBE_PATCH, "/status")))
            answer(call, 500, STATUS(500, "InternalError"));
    }
    CHECK_INT(n_created("/secrets"), 2);
    CHECK(!open_call(KUBE_POST, "/ns/pods"));
    call = open_call(KUBE_POST, "/secrets");
    if (call)
        answer(call, 403, STATUS(403, "Forbidden"));
    pass(0);
    CHECK(open_call(KUBE_POST, "/ns/pods") != NULL);
    end();
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_relabelled_pod();
    test_conflicts_back_off();
    test_relabelled_service();
    test_object_of_job_that_is_gone();
    test_object_that_a_user_deletes();
    test_pods_that_arrive_slowly();
    test_pod_that_vanishes();
    test_objects_of_the_past();
    test_secret_that_may_be_gone();
    return test_result();
}
