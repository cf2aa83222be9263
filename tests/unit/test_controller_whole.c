// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/* Jobs with large templates: the cache has them without, and they are read again, a few at once,
 * before something is made of them. */
#include "tests/unit/controller_fake.h"

#define PADDING 20000

/* A job whose template has PADDING letters in its environment. */
static void add_large(struct buf *out, const char *name, const char *version, char letter)
{
    buf_printf(out,
               "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{"
               "\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%s\","
               "\"generation\":1},\"spec\":{\"replicas\":{\"worker\":{\"replicas\":1,"
               "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
               "\"env\":[{\"name\":\"A\",\"value\":\"",
               name, name, version);
    for (int i = 0; i < PADDING; i++)
        buf_add(out, &letter, 1);
    buf_puts(out, "\"}]}]}}}}}}");
}

/* n of them, "a", "b", ..., in version 3. */
static void begin_with(int n)
{
    struct controller_config config = usual;
    AUTO(buf_release) struct buf list;

    config.max_writes = 100;
    now = (struct moment){.wall_ms = 1800000000000, .mono_ms = 5000};
    c = controller_new(&config, &ops, NULL, now);
    controller_step(c, now);
    buf_init(&list, 0);
    buf_puts(&list, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[");
    for (int i = 0; i < n; i++) {
        char name[] = {(char)('a' + i), '\0'};

        buf_puts(&list, i ? "," : "");
        add_large(&list, name, "3", 'x');
    }
    buf_puts(&list, "]}");
    sync_lists(list.data, EMPTY_LIST);
}

static void answer_large(struct kube_call *call, const char *name, const char *version, char letter)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    add_large(&text, name, version, letter);
    answer(call, 200, text.data);
    pass(0);
}

static void test_read_before_made(void)
{
    const struct tj *tj;
    struct kube_call *dry_run;

    begin_with(1);
    tj = cache_job(c->cache, "ns", "a");
    CHECK(tj && tj->stripped && tj->job && !tj->problem);
    CHECK_STR(tj->job->replicas[ROLE_WORKER].template_, "{}");
    CHECK(!open_call(KUBE_POST, "/pods"));
    answer_large(open_call(KUBE_GET, "/trainingjobs/a"), "a", "3", 'x');
    dry_run = open_call(KUBE_POST, "/pods?dryRun=All");
    CHECK(dry_run && strlen(dry_run->body) > PADDING && strstr(dry_run->body, "xxxxxxxx"));
    CHECK_INT(c->n_whole_jobs, 1);
    CHECK(cache_job(c->cache, "ns", "a")->stripped);
    answer(dry_run, 201, "{}");
    pass(0);
    CHECK_INT(c->n_whole_jobs, 0); /* a status is next, and needs no template */
    CHECK(!open_call(KUBE_GET, "/trainingjobs/a"));
    CHECK(open_call(KUBE_PATCH, "/trainingjobs/a/status") != NULL);
    end();
}

/* Another version than that of the plan: nothing is made of it, and the plan is made anew. */
static void test_changed_meanwhile(void)
{
    struct kube_call *dry_run;

    begin_with(1);
    answer_large(open_call(KUBE_GET, "/trainingjobs/a"), "a", "5", 'y');
    CHECK(!open_call(KUBE_POST, "/pods"));
    CHECK_STR(cache_job(c->cache, "ns", "a")->meta.resource_version, "5");
    answer_large(open_call(KUBE_GET, "/trainingjobs/a"), "a", "5", 'y');
    dry_run = open_call(KUBE_POST, "/pods?dryRun=All");
    CHECK(dry_run && strstr(dry_run->body, "yyyyyyyy"));
    end();
}

static void test_no_answer(void)
{
    begin_with(2);
    answer(open_call(KUBE_GET, "/trainingjobs/a"), 404, STATUS(404, "NotFound"));
    answer(open_call(KUBE_GET, "/trainingjobs/b"), 500, STATUS(500, "InternalError"));
    pass(0);
    CHECK(!cache_job(c->cache, "ns", "a"));
    CHECK_INT(c->n_whole_jobs, 0);
    CHECK(!open_call(KUBE_POST, "/pods") && !open_call(KUBE_GET, "/trainingjobs/"));
    pass(60000); /* after its back-off */
    /* Its status is written meanwhile; this one is refused, and the job read. */
    answer(open_call(KUBE_PATCH, "/trainingjobs/b/status"), 409, STATUS(409, "Conflict"));
    pass(0);
    answer_large(open_call(KUBE_GET, "/trainingjobs/b"), "b", "4", 'x');
    pass(60000);
    CHECK(open_call(KUBE_GET, "/trainingjobs/b") != NULL);
    CHECK_INT(c->n_whole_jobs, 1);
    end();
}

/* Four at once; each that ends makes room for another, and all come to their turn. */
static void test_few_at_once(void)
{
    int dry_runs = 0;

    begin_with(11);
    CHECK_INT(count_open(KUBE_GET, "/trainingjobs/"), 4);
    for (int i = 0; i < 11; i++) {
        struct kube_call *read = open_call(KUBE_GET, "/trainingjobs/");
        char name[2] = {0};

        CHECK(read != NULL);
        if (!read)
            break;
        name[0] = read->path[strlen(read->path) - 1];
        answer_large(read, name, "3", 'x');
        CHECK_INT(count_open(KUBE_GET, "/trainingjobs/") + count_open(KUBE_POST, "/pods"),
                  i < 8 ? 4 : 11 - i);
        answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}");
        pass(0);
        dry_runs++;
        CHECK(c->n_whole_jobs <= 4);
    }
    CHECK_INT(dry_runs, 11);
    CHECK_INT(c->n_whole_jobs, 0);
    end();
}

/* An end in the middle of it, with runs that wait for each other. */
static void test_end(void)
{
    begin_with(9);
    CHECK_INT(c->n_whole_jobs, 4);
    answer_large(open_call(KUBE_GET, "/trainingjobs/"), "a", "3", 'x');
    end();
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_read_before_made();
    test_changed_meanwhile();
    test_no_answer();
    test_few_at_once();
    test_end();
    return test_result();
}
