// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/* Lists and watches of the controller: pages, resumption, damage, pods of nobody. */
#include "operator/controller/orphans.h"
#include "tests/unit/controller_fake.h"

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

/* Pages follow from the size of the objects before, and one that fails is made smaller. */
static void test_page_sizes(void)
{
    static const struct {
        int objects;
        size_t bytes; /* of each */
        const char *next;
    } rows[] = {
        {10, 1300000, "limit=3&continue="},
        {10, 100, "limit=20&continue="},
        {1, 9000000, "limit=1&continue="},
        {0, 0, "limit=20&continue="},
    };
    struct controller_config config = usual;

    config.page = 100;
    now = (struct moment){.wall_ms = 1800000000000, .mono_ms = 5000};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(buf_release) struct buf text;

        c = controller_new(&config, &ops, NULL, now);
        controller_step(c, now);
        CHECK(open_call(KUBE_GET, "/pods?labelSelector=") != NULL);
        CHECK(open_call(KUBE_GET, "/trainingjobs?limit=10") != NULL);
        buf_init(&text, 0);
        buf_puts(&text,
                 "{\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"x\"},\"items\":[");
        for (int k = 0; k < rows[i].objects; k++)
            buf_printf(&text, "%s{\"x\":\"%0*d\"}", k ? "," : "", (int)rows[i].bytes, k);
        buf_puts(&text, "]}");
        answer(open_call(KUBE_GET, "/trainingjobs?limit=10"), 200, text.data);
        CHECK(open_call(KUBE_GET, rows[i].next) != NULL);
        answer(open_call(KUBE_GET, rows[i].next), 0, "");
        pass(1000);
        if (i == 1)
            CHECK(open_call(KUBE_GET, "/trainingjobs?limit=10") !=
                  NULL); /* and from the first one */
        end();
    }
}

/* Answers a page as a server would that has 300 small objects, then 100 of 1.5 MB, and a link that
 * brings 20 MB in time. Returns whether the page arrived. */
static bool serve_page(struct kube_call *call, int *served)
{
    const char *limit = strstr(call->path, "limit="), *after = strstr(call->path, "continue=");
    int first = after ? (int)strtol(after + 9, NULL, 10) : 0;
    int end = first + (int)strtol(limit + 6, NULL, 10);
    uint64_t bytes = 0;
    struct kube_response r = {.status = 200, .retry_after_ms = -1};
    char list[128];

    end = end < 400 ? end : 400;
    for (int i = first; i < end; i++)
        bytes += i < 300 ? 300 : 1500000;
    r.received = bytes < 20000000 ? bytes : 20000000;
    *served = end;
    snprintf(list, sizeof list, "{\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"%d\"}}",
             end);
    r.body = end < 400 ? list : "{\"metadata\":{\"resourceVersion\":\"10\"}}";
    if (bytes > 20000000)
        r = (struct kube_response){
            .body = "", .retry_after_ms = -1, .received = r.received, .error = "time-out"};
    r.len = strlen(r.body);
    call->over = true;
    for (int i = first; i < end && r.status; i++) {
        AUTO(buf_release) struct buf pod;

        buf_init(&pod, 0);
        buf_printf(&pod, ORPHAN("p%d", "u%d", "o"), i, i);
        call->item(call->arg, &(struct kube_item){.text = pod.data, .len = pod.len});
    }
    call->done(call->arg, &r);
    return r.status != 0;
}

/* Small objects before large ones: the list does not start again for ever. */
static void test_small_then_large(void)
{
    struct controller_config config = usual;
    int failures = 0, pages = 0, served = 0;

    config.page = 100;
    begin_config(&config);
    while (!c->informers[RESOURCE_PODS].synced && ++pages < 300) {
        struct kube_call *call = open_call(KUBE_GET, "/pods?");

        if (call)
            failures += !serve_page(call, &served);
        pass(call ? 0 : 1000);
    }
    CHECK(c->informers[RESOURCE_PODS].synced);
    CHECK_INT(served, 400);
    CHECK(failures >= 1 && failures <= 7); /* 100 is halved seven times at most */
    CHECK_INT(c->informers[RESOURCE_PODS].page.ceiling, 0);
    end();
}

/* A part that is left out of an object is counted; the object is there. */
static void test_cut_object(void)
{
    AUTO(buf_release) struct buf text;
    char job[] = JOB("a", "u1", "3", "");

    buf_init(&text, 0);
    job[strlen(job) - 1] = '\0'; /* open again */
    buf_printf(&text, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[%s,\"status\":[0",
               job);
    for (int i = 0; i < 40000; i++)
        buf_puts(&text, ",0");
    buf_puts(&text, "]}," JOB("b", "u2", "4", "") "]}");
    begin(false);
    sync_lists(text.data, EMPTY_LIST);
    CHECK(cache_job(c->cache, "ns", "a") && cache_job(c->cache, "ns", "a")->problem);
    CHECK(cache_job(c->cache, "ns", "b") && !cache_job(c->cache, "ns", "b")->problem);
    CHECK_INT(c->stats.objects_cut, 1);
    end();
}

/* A list with an object that is no JSON is not believed: what it does not show may be there. */
static void test_bad_object_in_list(void)
{
    begin(false);
    answer(open_call(KUBE_GET, "/trainingjobs?"), 200,
           "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" JOB(
               "a", "u1", "3", "") ",{\"metadata\":{\"name\":nothing}}]}");
    pass(0);
    CHECK(!c->informers[RESOURCE_JOBS].synced);
    CHECK(!open_call(KUBE_GET, "/trainingjobs?watch=1"));
    pass(1000);
    CHECK(open_call(KUBE_GET, "/trainingjobs?limit=") != NULL);
    end();
}

static void test_gone_and_damage_list_again(void)
{
    static const char *const lines[] = {
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}",
        /* what it said is lost: only a list tells */
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":nothing}}}",
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

/* Somebody who may only look at a job copies its UID into a pod of a namespace of their own. That
 * no such job is there says nothing about the one that has the UID. */
static void test_foreign_pod_does_not_end_a_job(void)
{
    begin(false);
    sync_lists(one_job, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" ORPHAN_IN(
                            "evil", "old-worker-0-0", "p1", "a", "u1") "]}");
    answer(open_call(KUBE_GET, "/namespaces/evil/trainingjobs/a"), 404, STATUS(404, "NotFound"));
    pass(0);
    CHECK(open_call(KUBE_PATCH, "/namespaces/evil/pods/old-worker-0-0") != NULL);
    watch_line("{\"type\":\"MODIFIED\",\"object\":" JOB("a", "u1", "12", "") "}");
    CHECK_STR(the_job()->resource_version, "12");
    end();
}

/* A namespace with many such pods makes the operator forget no more than its own. */
static void test_namespace_forgets_its_own(void)
{
    const struct meta victim = {.namespace_ = "ns", .name = "old", .uid = "u9"};
    char name[16];

    begin(false);
    sync_lists(EMPTY_LIST, EMPTY_LIST);
    CHECK(!orphans_knows_gone(c, &victim));
    orphans_job_gone(c, &victim);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "j%d", i);
        orphans_job_gone(c, &(struct meta){.namespace_ = "evil", .name = name, .uid = "u"});
        CHECK(
            orphans_knows_gone(c, &(struct meta){.namespace_ = "evil", .name = name, .uid = "u"}));
    }
    CHECK(orphans_knows_gone(c, &victim));
    CHECK(!orphans_knows_gone(c, &(struct meta){.namespace_ = "ns", .name = "old", .uid = "u8"}));
    CHECK(!orphans_knows_gone(c, &(struct meta){.namespace_ = "ns", .name = "new", .uid = "u9"}));
    CHECK(!orphans_knows_gone(c, &(struct meta){.namespace_ = "evil", .name = "j0", .uid = "u"}));
    /* Many namespaces together: the oldest goes. */
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        orphans_job_gone(c, &(struct meta){.namespace_ = name, .name = "j", .uid = "u"});
    }
    CHECK(!orphans_knows_gone(c, &victim));
    CHECK(orphans_knows_gone(c, &(struct meta){.namespace_ = "n1999", .name = "j", .uid = "u"}));
    end();
}

/* One user's object must not make a list unreadable for all: "\u0000" in an annotation, lists in
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

/* "k\\u0000" and "k\\ufffd" are two keys for the API server, in a template or a volume. So are
 * other things that no tree can hold. In a list and in a watch, the job's neighbours go on. */
static void test_odd_content_spoils_nothing(void)
{
    static const char *const odd[] = {
        "{\"k\\u0000\":1,\"k\xef\xbf\xbd\":2}",
        "{\"k\\u0000\":{\"b\":1,\"a\":[]},\"j\":1,\"k\\ufffd\":2,\"k\\u0000\":3}",
        "1e999",
        "[-1e999,1]",
        "{\"\\ud800\":\"\\udc00\",\"\\ud800\\u0041\":\"\\ud83d\\ude00\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        AUTO(auto_free)
        char *evil = xasprintf(
            "{\"metadata\":{\"name\":\"evil\",\"namespace\":\"ns\",\"uid\":\"u9\","
            "\"resourceVersion\":"
            "\"20\"},\"spec\":{\"x\":%s,\"replicas\":{\"worker\":{\"template\":{\"spec\":{"
            "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}}}",
            odd[i]);
        AUTO(auto_free)
        char *list = xasprintf("{\"metadata\":{\"resourceVersion\":\"30\"},\"items\":[%s,%s,%s]}",
                               JOB("a", "u1", "3", ""), evil, JOB("b", "u2", "4", ""));
        AUTO(auto_free) char *event = xasprintf("{\"type\":\"MODIFIED\",\"object\":%s}", evil);

        begin(false);
        sync_lists(list, EMPTY_LIST);
        CHECK(c->informers[RESOURCE_JOBS].synced);
        CHECK(cache_job(c->cache, "ns", "a") && cache_job(c->cache, "ns", "b"));
        CHECK(cache_job(c->cache, "ns", "evil") && !cache_job(c->cache, "ns", "evil")->unread);
        end();
        begin(false);
        sync_lists(one_job, EMPTY_LIST);
        watch_line(event);
        pass(40000);
        CHECK(cache_job(c->cache, "ns", "evil") && !cache_job(c->cache, "ns", "evil")->unread);
        CHECK(open_call(KUBE_GET, "/trainingjobs?watch=1") != NULL);
        CHECK(!open_call(KUBE_GET, "/trainingjobs?limit"));
        end();
    }
}

#define UNREAD(version)                                                                        \
    "{\"metadata\":{\"name\":\"odd\",\"namespace\":\"ns\",\"uid\":\"u7\",\"resourceVersion\":" \
    "\"" version "\"},\"spec\":{\"x\":nothing},\"status\":[}}"

/* An object that is not JSON but for its metadata is there, and nobody touches it or its pods. */
static void test_unreadable_object_is_kept(void)
{
    static const char pod[] = "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" ORPHAN_IN(
        "ns", "odd-worker-0-0", "p1", "odd", "u7") "]}";
    static const char list[] = "{\"metadata\":{\"resourceVersion\":\"30\"},\"items\":[" JOB(
        "a", "u1", "3", "") "," UNREAD("7") "," JOB("b", "u2", "4", "") "]}";
    const struct tj *odd;

    begin(false);
    sync_lists(list, pod);
    odd = cache_job(c->cache, "ns", "odd");
    CHECK(odd && odd->unread && cache_job(c->cache, "ns", "a") && cache_job(c->cache, "ns", "b"));
    CHECK_INT(c->stats.objects_cut, 1);
    pass(40000);
    CHECK_INT(c->stats.relists, N_RESOURCES);
    for (size_t i = 0; i < n_calls; i++)
        CHECK(!strstr(calls[i]->path, "/odd"));
    watch_line("{\"type\":\"MODIFIED\",\"object\":" UNREAD("41") "}");
    pass(0);
    CHECK_STR(cache_job(c->cache, "ns", "odd")->meta.resource_version, "41");
    CHECK_STR(c->informers[RESOURCE_JOBS].version, "41");
    CHECK(open_call(KUBE_GET, "/trainingjobs?watch=1") != NULL);
    CHECK(open_call(KUBE_POST, "/pods?dryRun=All") != NULL); /* of the others */
    /* Once it can be read it is a job like others. */
    watch_line("{\"type\":\"MODIFIED\",\"object\":" JOB("odd", "u7", "42", "") "}");
    pass(0);
    CHECK(!cache_job(c->cache, "ns", "odd")->unread);
    watch_line("{\"type\":\"DELETED\",\"object\":" UNREAD("43") "}");
    pass(0);
    CHECK(!cache_job(c->cache, "ns", "odd"));
    CHECK(open_call(KUBE_PATCH, "/pods/odd-worker-0-0") != NULL);
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

/* A job's spec is parsed once per generation, whatever else changes. */
static void test_spec_is_kept(void)
{
    static const char same[] =
        "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "u1", "13", ",\"generation\":1") "}";
    static const char other[] =
        "{\"type\":\"MODIFIED\",\"object\":" JOB("a", "u1", "14", ",\"generation\":2") "}";
    const struct job *job;

    begin(false);
    sync_lists("{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" JOB(
                   "a", "u1", "3", ",\"generation\":1") "]}",
               EMPTY_LIST);
    job = cache_job(c->cache, "ns", "a")->job;
    watch_line(same);
    CHECK_STR(the_job()->resource_version, "13");
    CHECK(job && cache_job(c->cache, "ns", "a")->job == job);
    watch_line(other);
    CHECK_STR(the_job()->resource_version, "14");
    CHECK(cache_job(c->cache, "ns", "a")->job != job);
    end();
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_pages_and_resume();
    test_page_sizes();
    test_small_then_large();
    test_cut_object();
    test_bad_object_in_list();
    test_gone_and_damage_list_again();
    test_silent_watch_is_cut();
    test_orphans_are_let_go_when_sure();
    test_foreign_pod_does_not_end_a_job();
    test_namespace_forgets_its_own();
    test_one_object_does_not_spoil_a_list();
    test_odd_content_spoils_nothing();
    test_unreadable_object_is_kept();
    test_answer_that_is_no_list();
    test_pod_of_nobody_is_let_go();
    test_spec_is_kept();
    return test_result();
}
