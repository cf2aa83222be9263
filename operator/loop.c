#include "operator/loop.h"

#include <malloc.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "operator/masterkey.h"
#include "paceline/log.h"
#include "paceline/mem.h"

enum {
    PUBLISH_MS = 1000, /* /healthz wants news every 30 s, people at /metrics sooner */
    QUIET_MS = 2000,   /* without work, before free memory goes back to the system */
};

struct loop {
    const struct loop_config *config;
    struct masterkey *key;         /* until it is there */
    struct controller *controller; /* from then on */
    struct snapshot published;
    int64_t published_ms, busy_ms;
    bool untidy; /* there was work since free memory was given back */
    bool stopping;
    int64_t stop_ms; /* patience ends */
};

static struct kube_client *volatile signal_client;
static volatile sig_atomic_t signals;

static void loop_on_signal(int number)
{
    (void)number;
    if (signals++)
        _exit(EXIT_INTERRUPTED);
    kube_client_wakeup(signal_client);
}

void loop_catch_signals(struct kube_client *client)
{
    struct sigaction end = {.sa_handler = loop_on_signal, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    signal_client = client;
    sigemptyset(&end.sa_mask);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGHUP, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct moment moment_now(void)
{
    return (struct moment){clock_ms(CLOCK_REALTIME), clock_ms(CLOCK_BOOTTIME)};
}

static int64_t thread_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void begin_controller(struct loop *l, const unsigned char *key, struct moment now)
{
    struct controller_config config = l->config->controller;

    config.master_key = key;
    config.cpu_us = thread_us;
    config.agents = l->config->agents ? agent_transport_ops() : NULL;
    config.transport = l->config->agents;
    l->controller = controller_new(&config, kube_client_ops(), l->config->client, now);
}

static void loop_step(struct loop *l, struct moment now)
{
    if (l->key && masterkey_bytes(l->key)) {
        begin_controller(l, masterkey_bytes(l->key), now);
        masterkey_free(l->key); /* the controller has a copy */
        l->key = NULL;
    }
    if (l->key)
        masterkey_step(l->key, now.mono_ms);
    else
        controller_step(l->controller, now);
    if (l->config->agents) /* what the controller has queued goes out */
        agent_transport_step(l->config->agents, now.mono_ms);
}

/* True: the end. */
static bool step_stop(struct loop *l, struct moment now)
{
    if (!signals)
        return false;
    if (!l->stopping) {
        log_info("stopping");
        l->stopping = true;
        l->stop_ms = now.mono_ms + LOOP_STOP_MS;
        if (l->controller)
            controller_stop(l->controller, now);
    }
    if (!l->controller || controller_stopped(l->controller))
        return true;
    if (now.mono_ms < l->stop_ms)
        return false;
    log_warn("stopping took longer than %d s; what was under way is left", LOOP_STOP_MS / 1000);
    return true;
}

/* A list of thousands of objects leaves holes of megabytes. Trimming takes milliseconds, so it
 * waits until nothing is to be done. */
static void tidy(struct loop *l, const struct snapshot *s, struct moment now)
{
    if (s->queue_depth || s->writes_in_flight || s->relists != l->published.relists ||
        s->pods != l->published.pods) {
        l->untidy = true;
        l->busy_ms = now.mono_ms;
    } else if (l->untidy && now.mono_ms - l->busy_ms >= QUIET_MS) {
        l->untidy = false;
        malloc_trim(0);
    }
}

static void loop_publish(struct loop *l, struct moment now)
{
    bool synced = l->controller && controller_synced(l->controller);
    bool leader = l->controller && controller_leads(l->controller);
    struct snapshot s = {.healthy = true, .made_mono_ms = now.mono_ms};

    if (synced == l->published.synced && leader == l->published.leader && l->published_ms &&
        now.mono_ms - l->published_ms < PUBLISH_MS)
        return;
    if (l->controller)
        controller_snapshot(l->controller, now, &s);
    tidy(l, &s, now);
    l->published = s;
    l->published_ms = now.mono_ms;
    if (l->config->web)
        web_publish(l->config->web, &s);
}

static int wait_ms(const struct loop *l, struct moment now)
{
    int64_t wait = l->published_ms + PUBLISH_MS - now.mono_ms;
    int64_t next =
        l->key ? masterkey_next_ms(l->key, now.mono_ms) : controller_next_ms(l->controller, now);

    if (next >= 0 && next < wait)
        wait = next;
    next = l->config->agents ? agent_transport_next_ms(l->config->agents, now.mono_ms) : -1;
    if (next >= 0 && next < wait)
        wait = next;
    return wait < 0 ? 0 : (int)wait;
}

void loop_run(const struct loop_config *config)
{
    struct loop l = {.config = config};
    const struct controller_config *c = &config->controller;
    struct moment now = moment_now();

    if (c->master_key)
        begin_controller(&l, c->master_key, now);
    else
        l.key =
            masterkey_new(kube_client_ops(), config->client, c->operator_namespace, c->request_ms);
    if (config->agents)
        kube_client_wait_for(config->client, agent_transport_fd(config->agents));
    for (;;) {
        loop_step(&l, now);
        if (step_stop(&l, now))
            break;
        loop_publish(&l, now);
        kube_client_poll(config->client, wait_ms(&l, now));
        now = moment_now();
    }
    masterkey_free(l.key);
    if (l.controller)
        controller_free(l.controller);
}
