// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/* Jobs with large templates: the cache has them without, and they are read again, a few at once,
 * before something is made of them. */
#include "tests/unit/controller_fake.h"

#define PADDING 20000

/* Of the jobs to come. */
static const char *policy = "{}";
static int workers = 1, generation = 1;
static int max_writes = 100;

static void add_large_in(struct buf *out, const char *ns, const char *name, const char *version,
                         char letter)
{
    buf_printf(out,
               "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{"
               "\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%s\","
               "\"generation\":%d},\"spec\":{\"runPolicy\":%s,\"replicas\":{\"worker\":{"
               "\"replicas\":%d,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
               "\"image\":\"i\",\"env\":[{\"name\":\"A\",\"value\":\"",
               name, ns, name, version, generation, policy, workers);
    for (int i = 0; i < PADDING; i++)
        buf_add(out, &letter, 1);
    buf_puts(out, "\"}]}]}}}}}}");
}

/* A job whose template has PADDING letters in its environment. */
static void add_large(struct buf *out, const char *name, const char *version, char letter)
{
    add_large_in(out, "ns", name, version, letter);
}

/* n of them, "a", "b", ..., in version 3. */
static void begin_with(int n)
{
    struct controller_config config = usual;
    AUTO(buf_release) struct buf list;

    config.max_writes = max_writes;
    begin_config(&config);
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
    CHECK_INT(c->n_whole_jobs, 0); /* the last body is made */
    CHECK(cache_job(c->cache, "ns", "a")->stripped);
    answer(dry_run, 201, "{}");
    pass(0); /* a status is next, and needs no template */
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
        CHECK_INT(count_open(KUBE_GET, "/trainingjobs/"), i < 7 ? 4 : 10 - i);
        answer(open_call(KUBE_POST, "/pods?dryRun=All"), 201, "{}");
        pass(0);
        dry_runs++;
        CHECK(c->n_whole_jobs <= 4);
    }
    CHECK_INT(dry_runs, 11);
    CHECK_INT(c->n_whole_jobs, 0);
    end();
}

/* A new or changed job, told by the watch. */
static void tell(const char *type, const char *ns, const char *name, const char *version)
{
    AUTO(buf_release) struct buf line;

    buf_init(&line, 0);
    buf_printf(&line, "{\"type\":\"%s\",\"object\":", type);
    add_large_in(&line, ns, name, version, 'y');
    buf_puts(&line, "}");
    watch_line(line.data);
    pass(0);
}

/* The oldest read is refused, and its place goes to another job. */
static void refuse_oldest(void)
{
    answer(open_call(KUBE_GET, "/trainingjobs/"), 500, STATUS(500, "InternalError"));
    pass(0);
}

/* The fifth has waited before jobs that come later, one with each place that becomes free. */
static void test_oldest_first(void)
{
    begin_with(5);
    CHECK(!open_call(KUBE_GET, "/trainingjobs/e"));
    tell("ADDED", "ns", "f", "101");
    tell("ADDED", "ns", "g", "102");
    refuse_oldest();
    CHECK(open_call(KUBE_GET, "/trainingjobs/e") && !open_call(KUBE_GET, "/trainingjobs/f"));
    tell("ADDED", "ns", "h", "103");
    refuse_oldest();
    CHECK(open_call(KUBE_GET, "/trainingjobs/f") && !open_call(KUBE_GET, "/trainingjobs/g"));
    CHECK_INT(c->n_whole_jobs, 4);
    end();
}

/* One namespace has all places and more jobs that wait; those of another one come next, as long as
 * they have less than their half. */
static void test_two_namespaces(void)
{
    begin_with(8);
    tell("ADDED", "ns", "i", "101");
    tell("ADDED", "other", "p", "102");
    tell("ADDED", "other", "q", "103");
    tell("ADDED", "other", "r", "104");
    refuse_oldest();
    CHECK(open_call(KUBE_GET, "/other/trainingjobs/p") != NULL);
    refuse_oldest();
    CHECK(open_call(KUBE_GET, "/other/trainingjobs/q") != NULL);
    refuse_oldest();
    CHECK_INT(count_open(KUBE_GET, "/ns/trainingjobs/"), 2);
    CHECK(open_call(KUBE_GET, "/ns/trainingjobs/e") != NULL);
    CHECK(!open_call(KUBE_GET, "/other/trainingjobs/r"));
    end();
}

/* A job that waits is still reconciled, and it keeps its turn. */
static void test_wanted_while_it_waits(void)
{
    begin_with(7);
    CHECK(!open_call(KUBE_PATCH, "/status"));
    generation = 2;
    policy = "{\"suspend\":true}";
    tell("MODIFIED", "ns", "f", "101");
    policy = "{}";
    tell("MODIFIED", "ns", "e", "102");
    generation = 1;
    pass(1000);
    CHECK_INT(count_open(KUBE_PATCH, "/status"), 1);
    CHECK(open_call(KUBE_PATCH, "/trainingjobs/f/status") != NULL);
    CHECK_INT(c->n_waiting, 2);
    refuse_oldest();
    CHECK(open_call(KUBE_GET, "/trainingjobs/e") != NULL); /* not g, which waits since then */
    CHECK_INT(c->n_waiting, 1);
    end();
}

/* The status of job a is written: the answer is the job with it, and so is what is read later. */
static void accept_status(struct kube_call *call, struct buf *job)
{
    static int version = 1000;
    AUTO(auto_json) cJSON *patch = cJSON_Parse(call->body);
    char number[16];

    snprintf(number, sizeof number, "%d", ++version);
    buf_release(job);
    buf_init(job, 0);
    add_large(job, "a", number, 'x');
    job->len--;
    buf_puts(job, ",\"status\":");
    json_print(cJSON_GetObjectItem(patch, "status"), 0, job);
    buf_puts(job, "}");
    answer(call, 200, job->data);
}

/* Answers what is asked for job a. Returns how many pods that made. */
static int serve_a(struct buf *job)
{
    int pods = 0;

    for (size_t i = 0, n = n_calls; i < n; i++) {
        struct kube_call *call = calls[i];

        if (call->over || strstr(call->path, "watch="))
            continue;
        if (strstr(call->path, "dryRun")) {
            answer(call, 201, "{}");
        } else if (strstr(call->path, "/trainingjobs/a/status")) {
            accept_status(call, job);
        } else if (call->method == KUBE_POST) {
            pods += strstr(call->path, "/pods") != NULL;
            echo(call);
        } else if (strstr(call->path, "/trainingjobs/a")) {
            answer(call, 200, job->data);
        }
    }
    pass(10);
    return pods;
}

/* A job of very many pods makes some of them; then it is the turn of a job that waits. */
static void test_many_pods(void)
{
    AUTO(buf_release) struct buf job;
    int pods = 0, turns = 0;

    workers = 200;
    max_writes = 32;
    begin_with(4);
    buf_init(&job, 0);
    add_large(&job, "a", "3", 'x');
    while (count_open(KUBE_POST, "/pods") < 20 && ++turns < 50)
        serve_a(&job);
    workers = 1;
    tell("ADDED", "ns", "e", "101");
    CHECK(!open_call(KUBE_GET, "/trainingjobs/e"));
    workers = 200;
    for (int i = 0; i < 10; i++)
        pods += serve_a(&job);
    CHECK(open_call(KUBE_GET, "/trainingjobs/e") != NULL);
    CHECK_INT(pods, 64); /* b, c, d and e are being read: a waits */
    CHECK_INT(c->n_waiting, 1);
    refuse_oldest();
    for (int i = 0; i < 50; i++)
        pods += serve_a(&job);
    CHECK_INT(pods, 200); /* nobody waits */
    end();
    workers = 1;
    max_writes = 100;
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
    test_oldest_first();
    test_two_namespaces();
    test_wanted_while_it_waits();
    test_many_pods();
    test_end();
    return test_result();
}
