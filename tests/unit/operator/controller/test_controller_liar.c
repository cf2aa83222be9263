// LINK: operator/controller operator/core operator/reconcile operator/objects operator/api
// LINK: operator/web/snapshot.c common
// LIBS: -lcrypto
/* An agent that lies: whatever it says, and however often, costs the API server a bounded number of
 * writes, and what it says last is what status says in the end. */
#include <stdarg.h>

#include "tests/unit/controller_fake.h"

/* The connection to the only pod's agent. */
struct agent_link {
    agent_message_fn *message;
    agent_end_fn *end;
    void *arg;
};
static struct agent_link agent;
static bool connected;
static int64_t told; /* the generation of the last world */

static struct agent_link *agent_open(void *net, const struct agent_target *target,
                                     agent_message_fn *message, agent_end_fn *ended, void *arg)
{
    (void)net, (void)target;
    agent = (struct agent_link){message, ended, arg};
    connected = true;
    return &agent;
}

static void agent_send(void *net, struct agent_link *link, const cJSON *message)
{
    (void)net, (void)link;
    told = (int64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(message, "generation"));
}

static void agent_close(void *net, struct agent_link *link)
{
    (void)net, (void)link;
    connected = false;
}

static const struct agent_ops agents = {agent_open, agent_send, agent_close, NULL};

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
    AUTO(auto_json) cJSON *message = NULL;
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    message = cJSON_Parse(text);
    CHECK(message != NULL);
    if (connected)
        agent.message(agent.arg, message);
}

#define BUILTIN                                                                               \
    "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":"    \
    "\"a\",\"namespace\":\"ns\",\"uid\":\"u1\",\"resourceVersion\":\"%d\",\"generation\":1}," \
    "\"spec\":{\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"},"        \
    "\"output\":{\"volume\":{\"persistentVolumeClaim\":{\"claimName\":\"v\"}}},"              \
    "\"runPolicy\":{\"backoffLimit\":1000},\"replicas\":{\"worker\":{\"replicas\":1}}}%s%s}"

static int version = 100, n_status, n_events, n_pods;
static struct buf status; /* the last that was written */

/* The answer to a write of status, or to a read: the job as it then is. */
static void answer_job(struct kube_call *call)
{
    AUTO(auto_json) cJSON *patch = call->body ? cJSON_Parse(call->body) : NULL;
    AUTO(auto_free) char *job = NULL;

    if (patch) {
        status.len = 0;
        json_print(cJSON_GetObjectItem(patch, "status"), 0, &status);
        n_status++;
    }
    job = xasprintf(BUILTIN, ++version, status.len ? ",\"status\":" : "", status.data);
    answer(call, 200, job);
}

/* The pod runs as soon as it is made; one that is deleted is gone at once. */
static void answer_pod(struct kube_call *call)
{
    AUTO(auto_json) cJSON *pod = cJSON_Parse(call->body);
    cJSON *meta = cJSON_GetObjectItem(pod, "metadata"), *state;
    AUTO(buf_release) struct buf text;
    char number[16];

    snprintf(number, sizeof number, "%d", ++version);
    cJSON_AddStringToObject(meta, "uid", number);
    cJSON_AddStringToObject(meta, "resourceVersion", number);
    state = cJSON_AddObjectToObject(pod, "status");
    cJSON_AddStringToObject(state, "phase", "Running");
    cJSON_AddStringToObject(state, "podIP", "10.0.0.7");
    cJSON_AddStringToObject(cJSON_GetObjectItem(pod, "spec"), "nodeName", "n");
    buf_init(&text, 0);
    json_print(pod, 0, &text);
    n_pods++;
    answer(call, 201, text.data);
}

static bool serve_one(void)
{
    for (size_t i = 0; i < n_calls; i++) {
        struct kube_call *call = calls[i];

        if (call->over || strstr(call->path, "watch=1"))
            continue;
        if (strstr(call->path, "dryRun"))
            answer(call, 201, "{}");
        else if (strstr(call->path, "/events"))
            n_events++, answer(call, 201, "{}");
        else if (strstr(call->path, "/trainingjobs/a"))
            answer_job(call);
        else if (call->method == KUBE_POST && strstr(call->path, "/pods"))
            answer_pod(call);
        else if (call->method == KUBE_POST)
            echo(call);
        else
            answer(call, 404, STATUS(404, "NotFound"));
        return true;
    }
    return false;
}

static void forget_answered(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < n_calls; i++) {
        if (!calls[i]->over) {
            calls[kept++] = calls[i];
            continue;
        }
        free(calls[i]->path);
        free(calls[i]->body);
        free(calls[i]);
    }
    n_calls = kept;
}

/* Lets time pass; the API server answers at once. */
static void live(int64_t ms)
{
    for (int64_t until = now.mono_ms + ms; now.mono_ms < until;) {
        pass(10);
        while (serve_one())
            pass(0);
        forget_answered();
    }
}

static void set_up(void)
{
    struct controller_config config = usual;
    AUTO(auto_free) char *list = NULL;
    AUTO(auto_free) char *job = xasprintf(BUILTIN, 3, "", "");

    list = xasprintf("{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[%s]}", job);
    config.agents = &agents;
    connected = false;
    told = n_events = n_status = n_pods = 0;
    buf_init(&status, 0);
    begin_config(&config);
    sync_lists(list, EMPTY_LIST);
    live(2000);
    CHECK(connected);
    say("{\"type\":\"hello\",\"protocol\":1,\"pod\":\"a-worker-0-0\",\"generation\":0}");
    live(1000);
    CHECK_INT(told, 1);
    say("{\"type\":\"run\",\"generation\":1,\"phase\":\"training\",\"pods\":[\"a-worker-0-0\"]}");
    live(60000); /* whatever was saved up for is there */
    n_status = n_events = n_pods = 0;
}

static void tear_down(void)
{
    end();
    buf_release(&status);
}

/* One of the things that change status at once, another one each time. */
static void lie(int i)
{
    static const char *const phases[] = {"training", "starting", "stopping", "done", "nonsense"};

    switch (i % 4) {
    case 0:
        say("{\"type\":\"run\",\"generation\":%lld,\"phase\":\"%s\",\"stage\":\"s%d\",\"step\":%d,"
            "\"message\":\"m%d\",\"pods\":[\"a-worker-0-0\"]}",
            (long long)told, phases[i / 4 % 5], i, i, i);
        break;
    case 1:
        say("{\"type\":\"event\",\"generation\":%lld,\"event\":{\"event\":\"durable\",\"step\":%d,"
            "\"message\":\"%s\"}}",
            (long long)told, i, i / 4 % 2 ? "disk full" : "");
        break;
    case 2:
        say("{\"type\":\"event\",\"generation\":%lld,\"event\":{\"event\":\"progress\",\"step\":%d,"
            "\"epoch\":%d,\"loss\":%d,\"samplesPerSecond\":%d}}",
            (long long)told, i, i, i, i);
        break;
    default:
        say("{\"type\":\"hello\",\"protocol\":1,\"pod\":\"a-worker-0-0\",\"generation\":%lld,"
            "\"run\":%lld}",
            (long long)told, (long long)told);
    }
}

/* Their bounds are in controller.c and recorder.c. */
static void check_bounded(int seconds)
{
    CHECK(n_status <= 20 + seconds);
    CHECK(n_events <= 25 + seconds / 10);
}

static void test_changing_states(void)
{
    set_up();
    for (int i = 0; i < 2400; i++) {
        lie(i);
        live(50);
    }
    check_bounded(120);
    CHECK(n_status > 20); /* it is heard all the same */
    /* Its last report is written, though it sends no more. */
    say("{\"type\":\"run\",\"generation\":%lld,\"phase\":\"training\",\"stage\":\"\",\"step\":5000,"
        "\"pods\":[\"a-worker-0-0\"]}",
        (long long)told);
    say("{\"type\":\"event\",\"generation\":%lld,\"event\":{\"event\":\"progress\",\"step\":5000,"
        "\"epoch\":7,\"loss\":0.25}}",
        (long long)told);
    live(3000);
    CHECK_CONTAINS(status.data, "\"step\":5000");
    CHECK_CONTAINS(status.data, "\"loss\":0.25");
    CHECK_CONTAINS(status.data, "\"reason\":\"Training\"");
    tear_down();
}

/* A launch, or a quick loss and recovery, changes its state some times in a second: none waits. */
static void test_honest_changes(void)
{
    set_up();
    for (int i = 0; i < 15; i++) {
        say("{\"type\":\"run\",\"generation\":1,\"phase\":\"%s\",\"pods\":[\"a-worker-0-0\"]}",
            i % 2 ? "training" : "starting");
        live(50);
    }
    CHECK_INT(n_status, 15);
    tear_down();
}

/* Runs that end at once, with progress that would forgive every failure. */
static void test_endless_launches(void)
{
    static const char *const ends[] = {"stopped", "failed"};

    set_up();
    for (int i = 0; i < 2400; i++) {
        say("{\"type\":\"hello\",\"protocol\":1,\"pod\":\"a-worker-0-0\",\"generation\":%lld,"
            "\"run\":%lld}",
            (long long)told, (long long)told);
        say("{\"type\":\"run\",\"generation\":%lld,\"phase\":\"%s\",\"relaunch\":true,\"step\":%d,"
            "\"message\":\"m%d\",\"pods\":[\"a-worker-0-0\"]}",
            (long long)told, ends[i % 2], i + 1, i);
        live(50);
    }
    check_bounded(120);
    CHECK(n_pods <= 1);
    tear_down();
}

int main(void)
{
    log_init(LOG_ERROR, "");
    test_changing_states();
    test_honest_changes();
    test_endless_launches();
    return test_result();
}
