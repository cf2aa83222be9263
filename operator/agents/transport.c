#include "operator/agents/transport.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "operator/agents/probe.h"
#include "operator/core/limit.h"
#include "operator/objects/keys.h"
#include "paceline/buf.h"
#include "paceline/mem.h"
#include "wire/channel.h"

#define PROTOCOL 1

/*
 * An agent may send anything. The cost of one connection is bounded by its rate, in which each
 * message counts as MESSAGE_BYTES more; the memory of all of them, by MEMORY_MAX.
 */
#define RATE_BYTES (512.0 * 1024) /* a second */
#define BURST_BYTES (4.0 * 1024 * 1024)
#define MESSAGE_BYTES 128
#define MEMORY_MAX ((size_t)16 << 20)
#define SMALL_MEMORY ((size_t)64 << 10) /* what any connection may hold for ever */
/* Each takes a descriptor for CHANNEL_CONNECT_MS where nobody answers; more wait for their turn. */
#define DIALS_MAX 256
#define PROBES_MAX 64 /* likewise for PROBE_MS */

struct agent_link {
    struct agent_transport *transport;
    struct agent_link *next;
    char address[64];
    unsigned char key[KEY_BYTES]; /* until TLS needs it */
    struct channel_tls *tls;
    struct channel *channel; /* NULL: it waits for its turn, or could not begin (err) */
    bool failed;             /* for the reason in err */
    bool dialing;            /* TCP is not connected yet */
    struct limit rate;
    int64_t paused_until_ms;
    size_t memory;          /* of the channel, as it was added up */
    int64_t large_since_ms; /* more than SMALL_MEMORY; 0: it is not */
    struct err err;
    agent_message_fn *message;
    agent_end_fn *end;
    agent_probe_fn *probed; /* NULL: no probe is under way */
    struct probe probe;
    void *arg;
    short revents;
    short waits_for; /* as epoll knows it */
    bool closed;     /* by its owner, maybe from inside a callback */
};

struct agent_transport {
    int epoll;
    struct agent_link *first;
    size_t n_dialing, n_waiting, n_probes, memory;
    int64_t now_ms;
};

int agent_transport_new(struct agent_transport **out, struct err *err)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_IO, "epoll: %s", strerror(errno));
    *out = xcalloc(1, sizeof **out);
    (*out)->epoll = fd;
    return 0;
}

static void end_probe(struct agent_link *k)
{
    k->transport->n_probes -= k->probed != NULL;
    k->probed = NULL;
    probe_end(&k->probe);
}

static void link_free(struct agent_link *k)
{
    end_probe(k);
    k->transport->n_dialing -= k->dialing;
    k->transport->n_waiting -= !k->channel && !k->failed;
    k->transport->memory -= k->memory;
    channel_free(k->channel);
    channel_tls_free(k->tls);
    OPENSSL_cleanse(k->key, sizeof k->key);
    free(k);
}

void agent_transport_free(struct agent_transport *transport)
{
    if (!transport)
        return;
    while (transport->first) {
        struct agent_link *k = transport->first;

        transport->first = k->next;
        link_free(k);
    }
    close(transport->epoll);
    free(transport);
}

int agent_transport_fd(const struct agent_transport *transport) { return transport->epoll; }

static int on_frame(void *arg, const cJSON *message, struct err *err)
{
    struct agent_link *k = arg;

    if (strcmp(message_type(message), "refused") == 0 && message_integer(message, "generation") < 0)
        return err_set(err, ERR_FORBIDDEN, "%.400s", message_text(message, "message"));
    if (!k->closed)
        k->message(k->arg, message);
    return k->closed ? err_set(err, ERR_GONE, "closed") : 0;
}

/* TLS needs memory for each connection, so it waits until somebody has answered. */
static int agent_transport_begin_tls(struct agent_link *k, struct err *err)
{
    const int rc = channel_tls_new(&k->tls, k->key, sizeof k->key, err);

    OPENSSL_cleanse(k->key, sizeof k->key);
    if (rc == 0)
        channel_set_tls(k->channel, k->tls);
    return rc;
}

static void say_hello(struct agent_link *k)
{
    AUTO(auto_json) cJSON *hello = cJSON_CreateObject();

    cJSON_AddStringToObject(hello, "type", "hello");
    cJSON_AddNumberToObject(hello, "protocol", PROTOCOL);
    cJSON_AddStringToObject(hello, "channel", "control");
    channel_send(k->channel, hello);
}

static void agent_transport_dial(struct agent_link *k)
{
    int fd = channel_dial(k->address, CHANNEL_PORT, &k->err);

    k->transport->n_waiting--;
    k->failed = fd < 0;
    if (k->failed)
        return;
    k->channel = channel_connect(NULL, fd, on_frame, k, k->transport->now_ms);
    k->dialing = true;
    k->transport->n_dialing++;
    say_hello(k);
}

/* Those that have waited longest are at the end. */
static void dial_waiting(struct agent_transport *transport)
{
    while (transport->n_waiting && transport->n_dialing < DIALS_MAX) {
        struct agent_link *oldest = NULL;

        for (struct agent_link *k = transport->first; k; k = k->next)
            if (!k->channel && !k->failed)
                oldest = k;
        if (!oldest)
            return;
        agent_transport_dial(oldest);
    }
}

static struct agent_link *transport_open(void *arg, const struct agent_target *target,
                                         agent_message_fn *message, agent_end_fn *end, void *owner)
{
    struct agent_transport *transport = arg;
    struct agent_link *k = xcalloc(1, sizeof *k);

    *k = (struct agent_link){.transport = transport,
                             .next = transport->first,
                             .message = message,
                             .end = end,
                             .arg = owner,
                             .probe = {.fd = -1}};
    snprintf(k->address, sizeof k->address, "%s", target->address);
    memcpy(k->key, target->key, sizeof k->key);
    limit_init(&k->rate, RATE_BYTES, BURST_BYTES, transport->now_ms);
    transport->first = k;
    transport->n_waiting++;
    if (transport->n_dialing < DIALS_MAX)
        agent_transport_dial(k);
    return k;
}

static void transport_send(void *transport, struct agent_link *k, const cJSON *message)
{
    (void)transport;
    if (k->channel)
        channel_send(k->channel, message);
}

static void transport_close(void *transport, struct agent_link *k)
{
    (void)transport;
    k->closed = true; /* freed by the next step */
}

/* Its events name no link. They wake agent_transport_step, which looks at all probes. */
static bool transport_probe(void *arg, struct agent_link *k, int port, agent_probe_fn *done)
{
    struct agent_transport *transport = arg;
    struct epoll_event event = {.events = EPOLLOUT};

    if (k->probed || transport->n_probes == PROBES_MAX)
        return false;
    k->probed = done;
    transport->n_probes++;
    probe_begin(&k->probe, k->address, port, transport->now_ms);
    if (k->probe.fd >= 0)
        epoll_ctl(transport->epoll, EPOLL_CTL_ADD, k->probe.fd, &event);
    return true;
}

static const struct agent_ops ops = {transport_open, transport_send, transport_close,
                                     transport_probe};

const struct agent_ops *agent_transport_ops(void) { return &ops; }

static bool is_paused(const struct agent_link *k)
{
    return k->paused_until_ms > k->transport->now_ms;
}

/* epoll follows what the channel waits for; nothing while it is paused. */
static void agent_transport_watch(struct agent_link *k)
{
    struct epoll_event event = {.data.ptr = k};
    short wants = is_paused(k) ? 0 : channel_wants(k->channel);

    if (wants == k->waits_for)
        return;
    /* Errors and ends are told in any case, so one that waits for nothing is not watched at all. */
    if (!wants) {
        epoll_ctl(k->transport->epoll, EPOLL_CTL_DEL, channel_fd(k->channel), &event);
        k->waits_for = 0;
        return;
    }
    event.events = (wants & POLLIN ? EPOLLIN : 0u) | (wants & POLLOUT ? EPOLLOUT : 0u);
    epoll_ctl(k->transport->epoll, k->waits_for ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
              channel_fd(k->channel), &event);
    k->waits_for = wants;
}

/* Counts the memory that the channel holds now. */
static void weigh(struct agent_link *k)
{
    size_t memory = channel_memory(k->channel);

    k->transport->memory += memory - k->memory;
    k->memory = memory;
    if (memory <= SMALL_MEMORY)
        k->large_since_ms = 0;
    else if (!k->large_since_ms)
        k->large_since_ms = k->transport->now_ms;
}

/* Counts what came in the last step: more than its rate is read later. */
static void pace(struct agent_link *k, uint64_t bytes, uint64_t messages)
{
    int64_t now = k->transport->now_ms;

    bytes = channel_received(k->channel) - bytes;
    messages = channel_messages(k->channel) - messages;
    limit_spend(&k->rate, (double)bytes + MESSAGE_BYTES * (double)messages, now);
    k->paused_until_ms = now + limit_next_ms(&k->rate, now);
}

/* One call of the channel, and a second one when TLS had to be made. */
static int step_channel(struct agent_link *k, short revents)
{
    if (channel_step(k->channel, revents, k->transport->now_ms, &k->err))
        return -1;
    if (!channel_needs_tls(k->channel))
        return 0;
    k->dialing = false;
    k->transport->n_dialing--;
    if (agent_transport_begin_tls(k, &k->err))
        return -1;
    return channel_step(k->channel, 0, k->transport->now_ms, &k->err);
}

/* False: it is over. */
static bool agent_transport_step_link(struct agent_link *k)
{
    short revents = k->revents;
    uint64_t bytes, messages;

    k->revents = 0;
    if (k->failed)
        return false;
    bytes = channel_received(k->channel);
    messages = channel_messages(k->channel);
    if (step_channel(k, revents))
        return false;
    pace(k, bytes, messages);
    weigh(k);
    agent_transport_watch(k);
    return true;
}

/* The one that has held much for longest makes room for the others: an honest message of a megabyte
 * is there within a second. */
static void agent_transport_make_room(struct agent_transport *transport)
{
    struct agent_link *oldest = NULL;

    if (transport->memory <= MEMORY_MAX)
        return;
    for (struct agent_link *k = transport->first; k; k = k->next)
        if (k->large_since_ms && !k->closed && !k->failed &&
            (!oldest || k->large_since_ms <= oldest->large_since_ms))
            oldest = k;
    if (!oldest)
        return;
    oldest->failed = true;
    err_set(&oldest->err, ERR_TRANSIENT,
            "it sends a large message too slowly, or does not read: others need the memory");
}

static void agent_transport_collect(struct agent_transport *transport)
{
    struct epoll_event events[64];
    int n = epoll_wait(transport->epoll, events, ARRAY_LEN(events), 0);

    for (int i = 0; i < n; i++) {
        struct agent_link *k = events[i].data.ptr;

        if (!k)
            continue;
        k->revents |= (events[i].events & EPOLLIN ? POLLIN : 0) |
                      (events[i].events & EPOLLOUT ? POLLOUT : 0) |
                      (events[i].events & EPOLLHUP ? POLLHUP : 0) |
                      (events[i].events & EPOLLERR ? POLLERR : 0);
    }
}

static void step_probes(struct agent_transport *transport)
{
    for (struct agent_link *k = transport->first; k && transport->n_probes; k = k->next) {
        agent_probe_fn *done = k->probed;
        enum probe_result result;

        if (!done || k->closed)
            continue;
        result = probe_step(&k->probe, transport->now_ms);
        if (result == PROBE_WAITS)
            continue;
        end_probe(k);
        done(k->arg, result == PROBE_CONNECTED);
    }
}

static bool is_due(const struct agent_link *k, int64_t now_ms)
{
    if (k->closed || k->failed)
        return true;
    if (!k->channel || k->paused_until_ms > now_ms)
        return false;
    return !k->waits_for || k->revents || channel_wants(k->channel) != k->waits_for ||
           channel_next_ms(k->channel) <= now_ms;
}

void agent_transport_step(struct agent_transport *transport, int64_t mono_ms)
{
    struct agent_link **at = &transport->first;

    transport->now_ms = mono_ms;
    agent_transport_collect(transport);
    dial_waiting(transport);
    agent_transport_make_room(transport);
    step_probes(transport);
    while (*at) {
        struct agent_link *k = *at;

        if (!is_due(k, mono_ms) || (!k->closed && agent_transport_step_link(k))) {
            at = &k->next;
            continue;
        }
        if (!k->closed)
            k->end(k->arg, k->err.msg);
        while (*at != k) /* the callback may have opened others */
            at = &(*at)->next;
        *at = k->next;
        link_free(k);
    }
}

/* -1: no probe is under way. */
static int64_t next_probe_ms(const struct agent_transport *transport, int64_t mono_ms)
{
    int64_t next = -1;

    for (const struct agent_link *k = transport->first; k && transport->n_probes; k = k->next) {
        int64_t wait =
            k->probe.fd < 0 || k->probe.until_ms < mono_ms ? 0 : k->probe.until_ms - mono_ms;

        if (k->probed && (next < 0 || wait < next))
            next = wait;
    }
    return next;
}

int64_t agent_transport_next_ms(const struct agent_transport *transport, int64_t mono_ms)
{
    int64_t next = next_probe_ms(transport, mono_ms);

    for (const struct agent_link *k = transport->first; k; k = k->next) {
        int64_t wait = 0;

        if (!k->channel && !k->failed && !k->closed) /* until another's dial has ended */
            continue;
        if (!is_due(k, mono_ms))
            wait =
                (k->paused_until_ms > mono_ms ? k->paused_until_ms : channel_next_ms(k->channel)) -
                mono_ms;
        if (next < 0 || wait < next)
            next = wait;
    }
    return next;
}
