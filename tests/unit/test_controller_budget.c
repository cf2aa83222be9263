// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/* A job that takes more than its share of the control thread waits; others do not. */
#include "operator/controller/budget.h"
#include "tests/unit/controller_fake.h"

static int64_t cpu, each; /* the thread's time, and what passes between two looks at it */

static int64_t cpu_us(void) { return cpu += each; }

/* Of another controller, so that a look at it asks for nothing. */
#define IDLE(name, uid, rv, generation)                                                           \
    "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"ns\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv                       \
    "\",\"generation\":" generation "},\"spec\":{\"runPolicy\":{\"managedBy\":\"a.b/c\"},"        \
    "\"replicas\":{\"worker\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","          \
    "\"image\":\"i\"}]}}}}}}"
#define TWO_JOBS                                                                                 \
    "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" IDLE("a", "u1", "3", "1") "," IDLE( \
        "b", "u2", "4", "1") "]}"

static int version;

static void set_up(bool budgets)
{
    struct controller_config config = usual;

    cpu = each = 0;
    version = 100;
    config.cpu_us = budgets ? cpu_us : NULL;
    now = (struct moment){.wall_ms = 1800000000000, .mono_ms = 5000};
    c = controller_new(&config, &ops, NULL, now);
    controller_step(c, now);
    sync_lists(TWO_JOBS, EMPTY_LIST);
    pass(10000);
}

/* A change of a job, of its spec where the generation is another one. Reading it takes so long. */
static void change(const char *name, const char *uid, int generation, int64_t took_us)
{
    AUTO(buf_release) struct buf line;

    buf_init(&line, 0);
    buf_printf(&line, "{\"type\":\"MODIFIED\",\"object\":" IDLE("%s", "%s", "%d", "%d") "}", name,
               uid, ++version, generation);
    each = took_us;
    watch_line(line.data);
    each = 0;
}

static uint64_t looks(void)
{
    uint64_t n = 0;

    for (int i = 0; i <= N_BUCKETS; i++)
        n += c->stats.reconcile.counts[i];
    return n;
}

static int64_t generation_of(const char *name)
{
    return cache_job(c->cache, "ns", name)->meta.generation;
}

/* It changes all the time, and each change takes 200 ms to read. */
static void test_costly_job(void)
{
    uint64_t before;

    set_up(true);
    before = looks();
    for (int i = 2; i <= 4; i++) { /* 600 ms: 100 more than it may save up */
        change("a", "u1", i, 200000);
        pass(0);
    }
    CHECK_INT(generation_of("a"), 4);
    CHECK_INT(looks() - before, 2); /* after the third it is in debt */
    before = looks();
    for (int i = 5; i <= 50; i++) {
        change("a", "u1", i, 200000);
        pass(0);
    }
    CHECK_INT(generation_of("a"), 4); /* nothing of them was read */
    CHECK_INT(looks() - before, 0);
    CHECK(c->stats.looks_delayed > 0);

    change("b", "u2", 2, 1000);
    pass(0);
    CHECK_INT(generation_of("b"), 2);
    CHECK_INT(looks() - before, 1); /* another one is served at once */

    /* A tenth of the time is its own: 100 ms are made up for within a second. */
    pass(900);
    CHECK(!open_call(KUBE_GET, "/trainingjobs/a"));
    pass(200);
    CHECK(open_call(KUBE_GET, "/trainingjobs/a") != NULL); /* it is read again first */
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 200, IDLE("a", "u1", "900", "50"));
    pass(0);
    answer(open_call(KUBE_GET, "/ns/pods?"), 200, EMPTY_LIST);
    pass(0);
    CHECK_INT(generation_of("a"), 50);
    CHECK_INT(looks() - before, 2);
    end();
}

/* Its looks take 50 ms each, as those of a job with very many pods could: ten of them, then one in
 * half a second. */
static void test_costly_looks(void)
{
    uint64_t before;

    set_up(true);
    before = looks();
    for (int i = 0; i < 1000; i++) {
        change("a", "u1", 1, 0);
        each = 50000;
        pass(10);
        each = 0;
    }
    CHECK(looks() - before >= 10 + 18 && looks() - before <= 11 + 20);
    end();
}

/* What does not change the spec is read at once: outcomes and status are not missed. */
static void test_cheap_events(void)
{
    set_up(true);
    for (int i = 2; i <= 4; i++)
        change("a", "u1", i, 200000);
    change("a", "u1", 4, 1000);
    CHECK_STR(cache_job(c->cache, "ns", "a")->meta.resource_version, "104");
    end();
}

static void test_without_budgets(void)
{
    set_up(false);
    for (int i = 2; i <= 50; i++)
        change("a", "u1", i, 200000);
    pass(0);
    CHECK_INT(generation_of("a"), 50);
    CHECK_INT(c->stats.looks_delayed, 0);
    end();
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_costly_job();
    test_costly_looks();
    test_cheap_events();
    test_without_budgets();
    return test_result();
}
