// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/* Jobs and namespaces that take more than their share of the control thread wait; others do not. */
#include "operator/controller/budget.h"
#include "tests/unit/controller_fake.h"

static int64_t cpu, each; /* the thread's time, and what passes between two looks at it */

static int64_t cpu_us(void) { return cpu += each; }

/* Of another controller, so that a look at it asks for nothing. */
#define IDLE(ns, name, uid, rv, generation)                                                       \
    "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"" ns "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv                   \
    "\",\"generation\":" generation "},\"spec\":{\"runPolicy\":{\"managedBy\":\"a.b/c\"},"        \
    "\"replicas\":{\"worker\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","          \
    "\"image\":\"i\"}]}}}}}}"
#define THREE_JOBS                                                                                 \
    "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" IDLE(                                 \
        "ns", "a", "u1", "3", "1") "," IDLE("ns", "b", "u2", "4", "1") "," IDLE("else", "d", "u3", \
                                                                                "5", "1") "]}"

static int version;

static void set_up(bool budgets)
{
    struct controller_config config = usual;

    cpu = each = 0;
    item_bytes = 0;
    version = 100;
    config.cpu_us = budgets ? cpu_us : NULL;
    begin_config(&config);
    sync_lists(THREE_JOBS, EMPTY_LIST);
    pass(10000);
}

/* An event of a watch, which takes so long. */
static void event(const char *watch, const char *line, int64_t took_us)
{
    each = took_us;
    watch_event(open_call(KUBE_GET, watch), line);
    each = 0;
}

/* Something happens to a job: to its spec where the generation is another one. */
static void happens(const char *type, const char *ns, const char *name, const char *uid,
                    int generation, int64_t took_us)
{
    AUTO(buf_release) struct buf line;

    buf_init(&line, 0);
    buf_printf(&line, "{\"type\":\"%s\",\"object\":" IDLE("%s", "%s", "%s", "%d", "%d") "}", type,
               name, ns, uid, ++version, generation);
    event("/trainingjobs?watch=1", line.data, took_us);
}

static void change(const char *name, int generation, int64_t took_us)
{
    happens("MODIFIED", *name == 'd' ? "else" : "ns", name,
            *name == 'a'   ? "u1"
            : *name == 'b' ? "u2"
                           : "u3",
            generation, took_us);
}

static uint64_t looks(void)
{
    uint64_t n = 0;

    for (int i = 0; i <= N_BUCKETS; i++)
        n += c->stats.reconcile.counts[i];
    return n;
}

static int64_t generation_of(const char *ns, const char *name)
{
    return cache_job(c->cache, ns, name)->meta.generation;
}

/* How many looks there are at a job to which something happens now. */
static uint64_t looks_at(const char *name, int generation)
{
    uint64_t before = looks();

    change(name, generation, 0);
    pass(0);
    return looks() - before;
}

/* It changes all the time, and each change takes 200 ms to read. */
static void test_costly_job(void)
{
    uint64_t before;

    set_up(true);
    before = looks();
    for (int i = 2; i <= 7; i++) { /* 1,200 ms: 200 more than it may save up */
        change("a", i, i < 7 ? 200000 : 199000);
        pass(0);
    }
    CHECK_INT(generation_of("ns", "a"), 6); /* the fifth takes the rest */
    CHECK_INT(looks() - before, 4);
    before = looks();
    for (int i = 8; i <= 50; i++) {
        change("a", i, 1000);
        pass(0);
    }
    CHECK_INT(generation_of("ns", "a"), 6); /* nothing of them was decoded */
    CHECK_INT(looks() - before, 0);
    CHECK(c->stats.looks_delayed > 0);
    CHECK_INT(looks_at("b", 2), 1); /* others are served at once */
    CHECK_INT(generation_of("ns", "b"), 2);
    CHECK_INT(looks_at("d", 2), 1);

    /* A tenth of the time is its own: 243 ms are made up for within 2.4 s. */
    pass(2400);
    CHECK(!open_call(KUBE_GET, "/trainingjobs/a"));
    pass(100);
    CHECK(open_call(KUBE_GET, "/trainingjobs/a") != NULL); /* it is read again first */
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 200, IDLE("ns", "a", "u1", "900", "50"));
    pass(0);
    item_bytes = 800 << 20;
    answer(open_call(KUBE_GET, "/ns/pods?"), 200,
           "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[{\"metadata\":{\"name\":\"x\","
           "\"namespace\":\"ns\",\"uid\":\"x\",\"resourceVersion\":\"9\"}}]}");
    CHECK(budget_wait_ms(c, "ns") > 0); /* so are its pods */
    pass(0);
    CHECK_INT(generation_of("ns", "a"), 50);
    end();
}

/* Its looks take 50 ms each, as those of a job with very many pods could: twenty of them, then one
 * in half a second. */
static void test_costly_looks(void)
{
    uint64_t before;

    set_up(true);
    before = looks();
    for (int i = 0; i < 1000; i++) {
        change("a", 1, 0);
        each = 50000;
        pass(10);
        each = 0;
    }
    CHECK(looks() - before >= 20 + 18 && looks() - before <= 21 + 20);
    end();
}

/* A change that leaves the spec alone is read at once: outcomes and status are not missed. */
static void test_cheap_events(void)
{
    set_up(true);
    for (int i = 2; i <= 7; i++)
        change("a", i, 200000);
    change("a", 6, 1000);
    CHECK_STR(cache_job(c->cache, "ns", "a")->meta.resource_version, "107");
    end();
}

/* One that is deleted and made anew goes on where it was: its first decoding counts, too. */
static void test_job_made_anew(void)
{
    set_up(true);
    for (int i = 1; i <= 6; i++) {
        char uid[16];

        snprintf(uid, sizeof uid, "new%d", i);
        happens("DELETED", "ns", "a", i == 1 ? "u1" : uid, 1, 1000);
        pass(0);
        snprintf(uid, sizeof uid, "new%d", i + 1);
        happens("ADDED", "ns", "a", uid, 1, 200000);
        pass(0);
    }
    CHECK(budget_wait_ms(c, "ns/a") > 1000);
    CHECK_INT(looks_at("a", 1), 0);
    CHECK_INT(looks_at("b", 1), 1);
    end();
}

/* Many jobs, each within its own share, have the share of one namespace. */
static void test_namespace_of_many_jobs(void)
{
    set_up(true);
    for (int i = 0; i < 27; i++) { /* 2,700 ms: 200 more than it may save up */
        char name[16], uid[16];

        snprintf(name, sizeof name, "many%d", i);
        snprintf(uid, sizeof uid, "m%d", i);
        happens("ADDED", "ns", name, uid, 1, 100000);
    }
    CHECK_INT(budget_wait_ms(c, "ns/b"), 804);
    CHECK_INT(looks_at("b", 2), 0);
    CHECK_INT(generation_of("ns", "b"), 1);
    CHECK_INT(looks_at("d", 2), 1);
    pass(803);
    CHECK(!open_call(KUBE_GET, "/trainingjobs/b"));
    pass(1);
    CHECK(open_call(KUBE_GET, "/trainingjobs/b") != NULL);
    end();
}

/* Nobody's pods with our label: parsing them is their namespace's. */
static void test_foreign_pods(void)
{
    static const char pod[] =
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\","
        "\"namespace\":\"ns\",\"uid\":\"x\",\"resourceVersion\":\"9\"}}}";

    set_up(true);
    for (int i = 0; i < 27; i++)
        event("/pods?", pod, 100000);
    CHECK_INT(looks_at("a", 1), 0);
    CHECK_INT(looks_at("d", 1), 1);
    end();
}

/* The pods of a job are its own, and so are its Services: also as they go. */
static void test_owned_objects(void)
{
    static const char owner[] =
        "\"ownerReferences\":[{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\","
        "\"name\":\"a\",\"uid\":\"u1\",\"controller\":true}]";
    static const char *const watches[] = {"/pods?", "/services?"};

    for (size_t i = 0; i < 2; i++) {
        AUTO(buf_release) struct buf line;

        set_up(true);
        buf_init(&line, 0);
        buf_printf(&line,
                   "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"x\","
                   "\"namespace\":\"ns\",\"uid\":\"x\",\"resourceVersion\":\"9\",%s}}}",
                   owner);
        for (int n = 0; n < 11; n++)
            event(watches[i], line.data, 100000);
        pass(0);
        CHECK_INT(looks_at("a", 1), 0);
        CHECK_INT(looks_at("b", 1), 1);
        end();
    }
}

/* Bytes count, though none of them is kept, and nothing else takes time. */
static void test_bytes(void)
{
    set_up(true);
    item_bytes = 8 << 20; /* 32 ms */
    for (int i = 0; i < 31; i++)
        change("a", 1, 0);
    CHECK_INT(budget_wait_ms(c, "ns/a"), 0);
    change("a", 1, 0);
    CHECK(budget_wait_ms(c, "ns/a") > 0);
    item_bytes = 0;
    CHECK_INT(looks_at("a", 1), 0);
    CHECK_INT(looks_at("b", 1), 1);
    end();
}

/* An object in a list counts like one in a watch. */
static void test_lists(void)
{
    set_up(true);
    answer(open_call(KUBE_GET, "/trainingjobs?watch=1"), 410, STATUS(410, "Expired"));
    pass(1000);
    item_bytes = 300 << 20;
    each = 0;
    answer(open_call(KUBE_GET, "/trainingjobs?"), 200, THREE_JOBS);
    item_bytes = 0;
    CHECK(budget_wait_ms(c, "ns/a") > 0);
    CHECK(budget_wait_ms(c, "else/d") > 0);
    end();
}

/* Answers to requests for a job, and refusals of them, are its namespace's. */
static void test_answers(void)
{
    for (int refused = 0; refused < 2; refused++) {
        struct controller_config config = usual;

        cpu = each = 0;
        config.cpu_us = cpu_us;
        now = (struct moment){.wall_ms = 1800000000000, .mono_ms = 5000};
        c = controller_new(&config, &ops, NULL, now);
        controller_step(c, now);
        sync_lists(one_job, EMPTY_LIST);
        each = 2600000;
        answer(open_call(KUBE_POST, "/pods?dryRun=All"), refused ? 422 : 201,
               refused ? STATUS(422, "Invalid")
                       : "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}}");
        each = 0;
        CHECK(budget_wait_ms(c, "ns") > 0);
        CHECK_INT(budget_wait_ms(c, "ops"), 0);
        pass(0);
        CHECK(!open_call(KUBE_PATCH, "/trainingjobs/a/status"));
        pass(2000);
        CHECK(open_call(KUBE_PATCH, "/trainingjobs/a/status") != NULL);
        end();
    }
}

/* Pods of jobs that are gone wait for their namespace's credit as jobs do. */
static void test_orphans(void)
{
    static const char pods[] = "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" ORPHAN_IN(
        "ns", "o", "o1", "old", "g1") "," ORPHAN_IN("else", "o", "o2", "old", "g2") "]}";
    struct controller_config config = usual;

    cpu = each = 0;
    config.cpu_us = cpu_us;
    begin_config(&config);
    budget_charge(c, "ns", -2600000, 0);
    sync_lists(THREE_JOBS, pods);
    CHECK(open_call(KUBE_GET, "/namespaces/else/trainingjobs/old") != NULL);
    CHECK(!open_call(KUBE_GET, "/namespaces/ns/trainingjobs/old"));
    pass(1000);
    CHECK(open_call(KUBE_GET, "/namespaces/ns/trainingjobs/old") != NULL);
    end();
}

static void test_without_budgets(void)
{
    set_up(false);
    for (int i = 2; i <= 50; i++)
        change("a", i, 200000);
    pass(0);
    CHECK_INT(generation_of("ns", "a"), 50);
    CHECK_INT(c->stats.looks_delayed, 0);
    end();
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_costly_job();
    test_costly_looks();
    test_cheap_events();
    test_job_made_anew();
    test_namespace_of_many_jobs();
    test_foreign_pods();
    test_owned_objects();
    test_bytes();
    test_lists();
    test_answers();
    test_orphans();
    test_without_budgets();
    return test_result();
}
