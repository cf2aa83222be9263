// LINK: operator/controller/links.c operator/core operator/objects operator/reconcile operator/api
// LINK: common
// LIBS: -lcrypto
/* Connections to the chiefs of built-in jobs: when they are made, ended, made again; what is said.
 */
#include "operator/controller/links.h"
#include "operator/controller/state.h"
#include "operator/objects/keys.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/test.h"

/* What the fake net was asked for. */
struct agent_link {
    char address[64];
    unsigned char key[KEY_BYTES];
    agent_message_fn *message;
    agent_end_fn *end;
    void *arg;
    char *said; /* the last message sent */
    bool closed;
};
static struct agent_link opened[16];
static int n_opened;

static struct agent_link *fake_open(void *net, const struct agent_target *target,
                                    agent_message_fn *message, agent_end_fn *end, void *arg)
{
    struct agent_link *k = &opened[n_opened++ % 16];

    (void)net;
    *k = (struct agent_link){.message = message, .end = end, .arg = arg};
    snprintf(k->address, sizeof k->address, "%s", target->address);
    memcpy(k->key, target->key, KEY_BYTES);
    return k;
}

static void fake_send(void *net, struct agent_link *k, const cJSON *message)
{
    (void)net;
    free(k->said);
    k->said = cJSON_PrintUnformatted(message);
}

static void fake_close(void *net, struct agent_link *k)
{
    (void)net;
    k->closed = true;
}

static const struct agent_ops fake_ops = {fake_open, fake_send, fake_close};
static const unsigned char master_key[32] = {1};
static struct controller c;
static struct observed o;

static void say(struct agent_link *k, const char *text)
{
    AUTO(auto_json) cJSON *message = cJSON_Parse(text);

    CHECK(message != NULL);
    k->message(k->arg, message);
}

static const char *popped(void)
{
    static char copy[64];
    const char *key = workqueue_pop(c.queue, c.now.mono_ms);

    snprintf(copy, sizeof copy, "%s", key ? key : "");
    if (key)
        workqueue_done(c.queue, key, c.now.mono_ms);
    return copy;
}

/* Puts an object into the cache, as the watch would. */
static void put_job(const char *spec, int workers)
{
    AUTO(auto_free)
    char *text = xasprintf(
        "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"j\","
        "\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":\"%d\"},\"spec\":{%s\"replicas\":"
        "{"
        "\"worker\":{\"replicas\":%d}}},\"status\":{\"world\":{\"generation\":1,\"worker\":%d},"
        "\"launch\":{\"generation\":4,\"world\":9}}}",
        workers, spec, workers, workers);
    AUTO(auto_json) cJSON *object = cJSON_Parse(text);
    struct tj *tj;
    struct err err;

    CHECK_INT(tj_decode(&tj, object, &err), 0);
    CHECK(tj->job != NULL);
    cache_put_job(c.cache, tj, CACHE_WATCH);
}

static void put_pod(int index, int incarnation, const char *phase, const char *ip, int version)
{
    AUTO(auto_free)
    char *text = xasprintf(
        "{\"metadata\":{\"name\":\"j-worker-%d-%d\",\"namespace\":\"ns\",\"uid\":\"p%d-%d\","
        "\"resourceVersion\":\"%d\",\"labels\":{\"" LABEL_JOB "\":\"j\",\"" LABEL_ROLE
        "\":\"worker\",\"" LABEL_INDEX "\":\"%d\",\"" LABEL_INCARNATION "\":\"%d\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"paceline.dev/"
        "v1\",\"kind\":\"TrainingJob\",\"name\":"
        "\"j\",\"uid\":\"u-1\",\"controller\":true}]},\"spec\":{\"nodeName\":\"n\"},"
        "\"status\":{\"phase\":\"%s\",\"podIP\":\"%s\"}}",
        index, incarnation, index, incarnation, version, index, incarnation, phase, ip);
    AUTO(auto_json) cJSON *object = cJSON_Parse(text);
    struct pod *pod;
    struct err err;

    CHECK_INT(pod_decode(&pod, object, &err), 0);
    cache_put_pod(c.cache, pod, CACHE_WATCH);
}

static void observe(void)
{
    o = (struct observed){.tj = cache_job(c.cache, "ns", "j")};
    o.pods = cache_pods_of(c.cache, "u-1", &o.n_pods);
    links_observe(c.links, "ns/j", &o);
}

static void begin(const char *spec)
{
    memset(opened, 0, sizeof opened);
    n_opened = 0;
    c = (struct controller){.config = {.agents = &fake_ops, .master_key = master_key},
                            .now = {1000000, 5000},
                            .random = 1,
                            .cache = cache_new(),
                            .queue = workqueue_new()};
    c.links = links_new(&c);
    put_job(spec, 2);
    put_pod(0, 0, "Running", "10.0.0.7", 1);
    put_pod(1, 0, "Running", "10.0.0.8", 2);
}

static void end(void)
{
    links_free(c.links);
    cache_free(c.cache);
    workqueue_free(c.queue);
    for (int i = 0; i < 16; i++)
        free(opened[i].said);
}

#define BUILTIN "\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"},"
#define HELLO "{\"type\":\"hello\",\"protocol\":1,\"pod\":\"j-worker-0-0\",\"generation\":3}"

static void test_life(void)
{
    unsigned char key[KEY_BYTES];

    begin(BUILTIN);
    observe();
    CHECK_INT(n_opened, 1);
    CHECK_STR(opened[0].address, "10.0.0.7");
    key_scalar(key, master_key, "u-1");
    CHECK(memcmp(key, opened[0].key, sizeof key) == 0);
    CHECK(o.run && !o.linked && !o.unreachable);
    observe();
    CHECK_INT(n_opened, 1);

    say(&opened[0], HELLO);
    CHECK_STR(popped(), "ns/j");
    observe();
    CHECK(o.linked);
    CHECK_INT(o.run->seen, 3);
    say(&opened[0], "{\"type\":\"other\"}"); /* changes nothing: no look */
    CHECK_STR(popped(), "");

    /* What it runs is known only when it has said so, too. */
    say(&opened[0], "{\"type\":\"hello\",\"pod\":\"j-worker-0-0\",\"generation\":3,\"run\":2}");
    observe();
    CHECK(!o.linked && !o.unreachable);
    say(&opened[0], "{\"type\":\"run\",\"generation\":2,\"phase\":\"failed\"}");
    observe();
    CHECK(o.linked);
    CHECK_STR(popped(), "ns/j");

    /* It ends: again, a little later. */
    opened[0].end(opened[0].arg, "reset");
    CHECK_STR(popped(), "ns/j");
    observe();
    CHECK(o.run && !o.linked);
    CHECK(links_next_ms(c.links, c.now.mono_ms) > 0);
    links_step(c.links);
    CHECK_INT(n_opened, 1);
    c.now.mono_ms += links_next_ms(c.links, c.now.mono_ms);
    links_step(c.links);
    CHECK_INT(n_opened, 2);
    CHECK_INT(links_next_ms(c.links, c.now.mono_ms), -1);

    /* Another pod is worker 0. */
    put_pod(0, 0, "Failed", "10.0.0.7", 3);
    observe();
    CHECK(opened[1].closed && !o.run);
    CHECK_INT(n_opened, 2);
    end();
}

static void test_unreachable(void)
{
    begin(BUILTIN);
    observe();
    opened[0].end(opened[0].arg, "connection refused");
    c.now.mono_ms += 9999;
    observe();
    CHECK(!o.unreachable);
    c.now.mono_ms += 1;
    CHECK_STR(popped(), "ns/j");
    observe();
    CHECK(o.unreachable != NULL);
    CHECK_CONTAINS(o.unreachable ? o.unreachable : "", "j-worker-0-0 at 10.0.0.7");
    CHECK_CONTAINS(o.unreachable ? o.unreachable : "", "connection refused");
    end();
}

static void test_orders(void)
{
    begin(BUILTIN);
    observe();
    links_launch(c.links, "ns/j", o.tj, 5); /* nobody is there to hear it */
    CHECK(opened[0].said == NULL);
    say(&opened[0], HELLO);
    links_launch(c.links, "ns/j", o.tj, 5);
    CHECK_CONTAINS(opened[0].said, "{\"type\":\"world\",\"generation\":5,\"job\":{");
    CHECK_CONTAINS(opened[0].said,
                   "\"hosts\":[{\"pod\":\"j-worker-0-0\",\"host\":\"j-worker-0\",\"address\":"
                   "\"10.0.0.7\"},{\"pod\":\"j-worker-1-0\",\"host\":\"j-worker-1\",\"address\":"
                   "\"10.0.0.8\"}]");
    observe();
    CHECK_INT(o.run->told, 5); /* it is not sent twice */
    links_stop(c.links, "ns/j", 5);
    CHECK_STR(opened[0].said, "{\"type\":\"stop\",\"generation\":5}");
    end();
}

static void test_not_ours(void)
{
    begin("\"runPolicy\":{\"managedBy\":\"example.test/other\"}," BUILTIN);
    observe();
    CHECK_INT(n_opened, 0);
    end();
    begin(BUILTIN);
    c.config.agents = NULL;
    observe();
    CHECK(n_opened == 0 && !o.run);
    end();
    begin(BUILTIN);
    observe();
    say(&opened[0], HELLO);
    links_drop_all(c.links); /* somebody else leads */
    CHECK(opened[0].closed);
    links_launch(c.links, "ns/j", o.tj, 5);
    CHECK(opened[0].said == NULL);
    end();
}

int main(void)
{
    test_life();
    test_unreachable();
    test_orders();
    test_not_ours();
    return test_result();
}
