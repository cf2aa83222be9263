// LINK: operator/controller/agent_conns.c operator/core operator/objects operator/reconcile
// LINK: operator/api common
// LIBS: -lcrypto
/* Connections to the chiefs of built-in jobs: when they are made, ended, made again; what is said.
 */
#include "operator/controller/agent_conns.h"
#include "operator/controller/state.h"
#include "operator/objects/keys.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/test.h"

/* The requests to the fake net. */
struct agent_link {
    char address[64];
    unsigned char key[KEY_BYTES];
    agent_message_fn *message;
    agent_end_fn *end;
    void *arg;
    char *said; /* the last message sent */
    agent_probe_fn *probed;
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

static int n_probes, probed_port;
static bool probes_full;

static bool fake_probe(void *net, struct agent_link *k, int port, agent_probe_fn *done)
{
    (void)net;
    n_probes++;
    probed_port = port;
    k->probed = done;
    return !probes_full;
}

static const struct agent_ops fake_ops = {fake_open, fake_send, fake_close, fake_probe};
static int launched = 4; /* the generation in status */
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

/* Puts an object into the cache, as the watch would. With servers it goes on without worker 1. */
static void put_job(const char *spec, int workers, int servers)
{
    AUTO(auto_free)
    char *text = xasprintf(
        "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"j\","
        "\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":\"%d\"},\"spec\":{%s\"replicas\":"
        "{"
        "\"worker\":{\"replicas\":%d,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
        "\"image\":\"i\",\"command\":[\"a\"]}]"
        "}}},\"ps\":{\"replicas\":%d}}}"
        ",\"status\":{\"world\":{\"generation\":1,\"worker\":%d,\"ps\":%d},"
        "\"launch\":{\"generation\":%d,\"world\":9%s}}}",
        workers + servers + 100 * launched, spec, workers, servers, workers, servers, launched,
        servers ? ",\"without\":\"1\"" : "");
    AUTO(auto_json) cJSON *object = cJSON_Parse(text);
    struct tj *tj;
    struct err err;

    CHECK_INT(tj_decode_again(&tj, object, NULL, &err), 0); /* as the cache keeps it */
    CHECK(tj->job != NULL);
    cache_put_job(c.cache, tj, CACHE_WATCH);
}

static void put_member(const char *role, int index, int incarnation, const char *phase,
                       const char *ip, int version)
{
    AUTO(auto_free)
    char *text =
        xasprintf("{\"metadata\":{\"name\":\"j-%s-%d-%d\",\"namespace\":\"ns\",\"uid\":\"%s%d-%d\","
                  "\"resourceVersion\":\"%d\",\"labels\":{\"" LABEL_JOB "\":\"j\",\"" LABEL_ROLE
                  "\":\"%s\",\"" LABEL_INDEX "\":\"%d\",\"" LABEL_INCARNATION "\":\"%d\"},"
                  "\"ownerReferences\":[{\"apiVersion\":\"paceline.dev/"
                  "v1\",\"kind\":\"TrainingJob\",\"name\":"
                  "\"j\",\"uid\":\"u-1\",\"controller\":true}]},\"spec\":{\"nodeName\":\"n\"},"
                  "\"status\":{\"phase\":\"%s\",\"podIP\":\"%s\"}}",
                  role, index, incarnation, role, index, incarnation, version, role, index,
                  incarnation, phase, ip);
    AUTO(auto_json) cJSON *object = cJSON_Parse(text);
    struct pod *pod;
    struct err err;

    CHECK_INT(pod_decode(&pod, object, &err), 0);
    cache_put_pod(c.cache, pod, CACHE_WATCH);
}

static void put_pod(int index, int incarnation, const char *phase, const char *ip, int version)
{
    put_member("worker", index, incarnation, phase, ip, version);
}

static void observe(void)
{
    o = (struct observed){.tj = cache_job(c.cache, "ns", "j")};
    o.pods = cache_pods_of(c.cache, &o.tj->meta, &o.n_pods);
    agent_conns_observe(c.agent_conns, "ns/j", &o);
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
    c.agent_conns = agent_conns_new(&c);
    put_job(spec, 2, 0);
    put_pod(0, 0, "Running", "10.0.0.7", 1);
    put_pod(1, 0, "Running", "10.0.0.8", 2);
}

static void end(void)
{
    agent_conns_free(c.agent_conns);
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
    key_derive(key, master_key, "u-1");
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

    /* Its run is known only after it has reported it, too. */
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
    CHECK(agent_conns_next_ms(c.agent_conns, c.now.mono_ms) > 0);
    agent_conns_step(c.agent_conns);
    CHECK_INT(n_opened, 1);
    c.now.mono_ms += agent_conns_next_ms(c.agent_conns, c.now.mono_ms);
    agent_conns_step(c.agent_conns);
    CHECK_INT(n_opened, 2);
    CHECK_INT(agent_conns_next_ms(c.agent_conns, c.now.mono_ms), -1);

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

/* An agent that greets and hangs up has the operator make TLS again and again: ever later. One that
 * was connected for long is dialled soon. */
static void test_hang_ups(void)
{
    int64_t from;

    begin(BUILTIN);
    observe();
    from = c.now.mono_ms;
    while (c.now.mono_ms - from < 120000) {
        struct agent_link *k = &opened[(n_opened - 1) % 16];

        say(k, HELLO);
        k->end(k->arg, "closed");
        c.now.mono_ms += agent_conns_next_ms(c.agent_conns, c.now.mono_ms);
        agent_conns_step(c.agent_conns);
    }
    CHECK(n_opened < 60);
    say(&opened[(n_opened - 1) % 16], HELLO);
    c.now.mono_ms += 10000;
    opened[(n_opened - 1) % 16].end(opened[(n_opened - 1) % 16].arg, "reset");
    CHECK(agent_conns_next_ms(c.agent_conns, c.now.mono_ms) <= 375);
    end();
}

#define RUN(phase, stage, step)                                                     \
    "{\"type\":\"run\",\"generation\":2,\"phase\":\"" phase "\",\"stage\":\"" stage \
    "\",\"step\":" #step "}"

/* A new stage or step is progress; what a new connection tells again is none. */
static void test_quiet(void)
{
    static const char *const moves[] = {RUN("starting", "ranks", 0), RUN("starting", "data", 0),
                                        RUN("training", "", 0), RUN("training", "", 1)};

    begin(BUILTIN);
    observe();
    say(&opened[0], "{\"type\":\"hello\",\"pod\":\"j-worker-0-0\",\"generation\":2,\"run\":2}");
    c.now.mono_ms += 500;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        c.now.mono_ms += 500;
        observe();
        CHECK_INT(o.quiet_ms, i ? 500 : 1000);
        say(&opened[0], moves[i]);
        observe();
        CHECK_INT(o.quiet_ms, 0);
    }
    c.now.mono_ms += 700;
    say(&opened[0], moves[3]);
    say(&opened[0], "{\"type\":\"event\",\"generation\":2,\"event\":{\"event\":\"start\"}}");
    observe();
    CHECK_INT(o.quiet_ms, 700);
    opened[0].end(opened[0].arg, "reset");
    c.now.mono_ms += 1000;
    agent_conns_step(c.agent_conns);
    CHECK_INT(n_opened, 2);
    say(&opened[1], "{\"type\":\"hello\",\"pod\":\"j-worker-0-0\",\"generation\":2,\"run\":2}");
    say(&opened[1], moves[3]);
    observe();
    CHECK_INT(o.quiet_ms, 1700);
    say(&opened[1], "{\"type\":\"event\",\"generation\":2,\"event\":{\"event\":\"progress\","
                    "\"step\":2}}");
    observe();
    CHECK_INT(o.quiet_ms, 0);
    end();
}

/* Looks once a second from now on, as asked for; how many until it is stalled; 0: never. */
static int looks_until_stalled(int looks)
{
    for (int i = 1; i <= looks; i++) {
        observe();
        if (o.stalled)
            return i;
        c.now.mono_ms += 1000;
    }
    return 0;
}

/* Quiet for too long, and listened to for some seconds more. */
static void test_stalled(void)
{
    begin("\"runPolicy\":{\"progressDeadlineSeconds\":30}," BUILTIN);
    observe();
    say(&opened[0], "{\"type\":\"hello\",\"pod\":\"j-worker-0-0\",\"generation\":2,\"run\":2}");
    say(&opened[0], RUN("training", "", 7));
    observe();
    c.now.mono_ms += 29999;
    CHECK_STR(popped(), "ns/j");
    CHECK_STR(popped(), "");
    observe();
    CHECK(!o.stalled);
    c.now.mono_ms += 1;
    CHECK_STR(popped(), "ns/j"); /* then it is looked at by itself */
    CHECK_INT(looks_until_stalled(20), 6);
    observe();
    CHECK(o.stalled); /* more looks change nothing */

    /* This process stood still: what was said meanwhile is still to be heard. */
    c.now.mono_ms += 20000;
    CHECK_INT(looks_until_stalled(3), 0);
    say(&opened[0], RUN("training", "", 8));
    CHECK_INT(looks_until_stalled(30), 0);
    CHECK_INT(looks_until_stalled(20), 6);

    /* A run is killed once. */
    agent_conns_kill(c.agent_conns, "ns/j", 2);
    CHECK_STR(opened[0].said, "{\"type\":\"kill\",\"generation\":2}");
    observe();
    CHECK_INT(o.run->killed, 2);
    say(&opened[0], RUN("failed", "", 8));
    c.now.mono_ms += 30000;
    CHECK_INT(looks_until_stalled(20), 0); /* nothing runs */
    opened[0].end(opened[0].arg, "reset");
    agent_conns_kill(c.agent_conns, "ns/j", 3); /* nobody hears it */
    end();

    /* Another MPI program never tells of progress. */
    begin("\"runPolicy\":{\"progressDeadlineSeconds\":30},\"mpi\":{},");
    observe();
    CHECK(o.run != NULL);
    say(&opened[0], "{\"type\":\"hello\",\"pod\":\"j-worker-0-0\",\"generation\":2,\"run\":2}");
    say(&opened[0], RUN("training", "", 0));
    c.now.mono_ms += 3600000;
    CHECK_INT(looks_until_stalled(20), 0);
    end();

    begin("\"runPolicy\":{\"progressDeadlineSeconds\":0}," BUILTIN);
    observe();
    say(&opened[0], "{\"type\":\"hello\",\"pod\":\"j-worker-0-0\",\"generation\":2,\"run\":2}");
    say(&opened[0], RUN("training", "", 7));
    c.now.mono_ms += 3600000;
    CHECK_INT(looks_until_stalled(20), 0);
    end();
}

static void test_orders(void)
{
    begin(BUILTIN);
    observe();
    agent_conns_launch(c.agent_conns, "ns/j", o.tj, 5); /* nobody is there to hear it */
    CHECK(opened[0].said == NULL);
    say(&opened[0], HELLO);
    agent_conns_launch(c.agent_conns, "ns/j", o.tj, 5);
    CHECK_CONTAINS(opened[0].said, "{\"type\":\"world\",\"generation\":5,\"job\":{");
    CHECK_CONTAINS(opened[0].said,
                   "\"hosts\":[{\"pod\":\"j-worker-0-0\",\"host\":\"j-worker-0\",\"address\":"
                   "\"10.0.0.7\"},{\"pod\":\"j-worker-1-0\",\"host\":\"j-worker-1\",\"address\":"
                   "\"10.0.0.8\"}]");
    observe();
    CHECK_INT(o.run->told, 5); /* it is not sent twice */
    agent_conns_stop(c.agent_conns, "ns/j", 5);
    CHECK_STR(opened[0].said, "{\"type\":\"stop\",\"generation\":5}");

    /* A run that has ended before the order to stop it is sent stays as it ended. */
    say(&opened[0], RUN("failed", "", 8));
    agent_conns_stop(c.agent_conns, "ns/j", 2);
    CHECK_STR(opened[0].said, "{\"type\":\"stop\",\"generation\":5}");
    observe();
    CHECK_INT(o.run->phase, RUN_FAILED);
    end();
}

/* After the workers that the launch has. */
static void test_servers(void)
{
    begin(BUILTIN);
    put_job(BUILTIN "\"strategy\":{\"type\":\"ParameterServer\"},", 2, 2);
    put_member("ps", 1, 0, "Running", "10.0.0.4", 3);
    put_member("ps", 0, 0, "Running", "10.0.0.9", 4);
    put_member("ps", 2, 0, "Running", "10.0.0.5", 5);
    observe();
    say(&opened[0], HELLO);
    agent_conns_launch(c.agent_conns, "ns/j", o.tj, 5);
    CHECK_CONTAINS(opened[0].said, "\"ps\":{\"replicas\":2");
    CHECK_CONTAINS(opened[0].said,
                   "\"hosts\":[{\"pod\":\"j-worker-0-0\",\"host\":\"j-worker-0\",\"address\":"
                   "\"10.0.0.7\"},{\"pod\":\"j-ps-0-0\",\"host\":\"j-ps-0\",\"address\":"
                   "\"10.0.0.9\"},{\"pod\":\"j-ps-1-0\",\"host\":\"j-ps-1\",\"address\":"
                   "\"10.0.0.4\"}]");
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
    agent_conns_drop_all(c.agent_conns); /* somebody else leads */
    CHECK(opened[0].closed);
    agent_conns_launch(c.agent_conns, "ns/j", o.tj, 5);
    CHECK(opened[0].said == NULL);
    end();
}

#define CANARY "{\"type\":\"hello\",\"pod\":\"j-worker-0-0\",\"generation\":3,\"canary\":%s}"

/* The agent of a job says which port the job's NetworkPolicy keeps the operator from. */
static void begin_guarded(const char *spec, const char *canary)
{
    AUTO(auto_free) char *hello = xasprintf(CANARY, canary);

    n_probes = 0;
    launched = 4;
    begin(spec);
    c.config.in_cluster = true;
    c.objects.operator_namespace = "ops";
    observe();
    say(&opened[0], hello);
    popped();
}

/* Ten seconds after the hello, when the network plugin has had time. */
static void wait_and_observe(void)
{
    c.now.mono_ms += 10000;
    CHECK_STR(popped(), "ns/j");
    observe();
}

static void test_unenforced(void)
{
    begin_guarded(BUILTIN, "7500");
    observe();
    c.now.mono_ms += 9999;
    observe();
    CHECK_INT(n_probes, 0);
    c.now.mono_ms++;
    CHECK_STR(popped(), "ns/j");
    observe();
    CHECK_INT(n_probes, 1);
    CHECK_INT(probed_port, 7500);
    observe();
    CHECK_INT(n_probes, 1); /* it is under way */
    CHECK(!o.unenforced);
    opened[0].probed(opened[0].arg, true);
    CHECK_STR(popped(), "ns/j");
    observe();
    CHECK_CONTAINS(o.unenforced ? o.unenforced : "", "port 7500 of pod j-worker-0-0 at 10.0.0.7");
    CHECK_INT(n_probes, 1);

    /* The next launch has a probe of its own. Nobody answers, so nothing is said. */
    launched = 5;
    put_job(BUILTIN, 2, 0);
    observe();
    CHECK(!o.unenforced);
    CHECK_INT(n_probes, 2);
    opened[0].probed(opened[0].arg, false);
    observe();
    CHECK(!o.unenforced);
    CHECK_INT(n_probes, 2);
    launched = 4;
    end();
}

/* A probe that the end of its connection took along, or for which there was no room, is made later.
 */
static void test_probe_again(void)
{
    begin_guarded(BUILTIN, "7500");
    probes_full = true;
    observe();
    wait_and_observe();
    CHECK_INT(n_probes, 1);
    probes_full = false;
    c.now.mono_ms += 1000;
    CHECK_STR(popped(), "ns/j");
    observe();
    CHECK_INT(n_probes, 2);
    opened[0].end(opened[0].arg, "reset");
    observe();
    CHECK_INT(n_probes, 2);
    c.now.mono_ms += agent_conns_next_ms(c.agent_conns, c.now.mono_ms);
    agent_conns_step(c.agent_conns);
    say(&opened[1], "{\"type\":\"hello\",\"pod\":\"j-worker-0-0\",\"canary\":7500}");
    popped();
    observe();
    wait_and_observe();
    CHECK_INT(n_probes, 3);
    end();
}

/* No connection is tried where it would mean nothing. */
static void test_no_probe(void)
{
    static const struct {
        const char *spec, *canary;
        int n;
    } cases[] = {
        {BUILTIN, "null", 0}, /* an older agent */
        {BUILTIN, "22", 0},   /* not one of the ports that pods of a job use */
        {BUILTIN, "7420", 0},
        {BUILTIN, "8000", 0},
        {BUILTIN, "1e300", 0},
        {BUILTIN "\"networkPolicy\":{\"type\":\"None\"},", "7500", 0},
        {BUILTIN "\"networkPolicy\":{\"extraIngress\":[{}]},", "7500", 0},
        {BUILTIN "\"networkPolicy\":{\"extraIngress\":[{\"ports\":[{\"port\":80}]}]},", "7500", 1},
    };
    /* Without its templates: the port of a rule, how long the rules are. */
    static const int large[][3] = {{80, 100, 1}, {7500, 100, 0}, {80, 9000, 0}};
    const char *spec =
        BUILTIN "\"networkPolicy\":{\"extraIngress\":[{\"ports\":[{\"port\":%d}],"
                "\"x\":\"%0*d\"}]},\"output\":{\"volume\":{\"nfs\":{\"x\":\"%09000d\"}}},";

    for (size_t i = 0; i < ARRAY_LEN(large); i++) {
        AUTO(auto_free) char *text = xasprintf(spec, large[i][0], large[i][1], 0, 0);

        begin_guarded(text, "7500");
        c.now.mono_ms += 10000;
        observe();
        CHECK_INT(n_probes, large[i][2]);
        end();
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        begin_guarded(cases[i].spec, cases[i].canary);
        c.now.mono_ms += 10000;
        observe();
        CHECK_INT(n_probes, cases[i].n);
        end();
    }
    begin_guarded(BUILTIN, "7500");
    c.config.in_cluster = false; /* --reach-pods */
    c.now.mono_ms += 10000;
    observe();
    CHECK_INT(n_probes, 0);
    c.config.in_cluster = true;
    c.objects.operator_namespace = NULL;
    observe();
    CHECK_INT(n_probes, 0);
    end();
}

int main(void)
{
    test_life();
    test_unreachable();
    test_hang_ups();
    test_quiet();
    test_stalled();
    test_orders();
    test_servers();
    test_not_ours();
    test_unenforced();
    test_probe_again();
    test_no_probe();
    return test_result();
}
