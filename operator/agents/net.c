#include "operator/agents/net.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "operator/objects/keys.h"
#include "paceline/buf.h"
#include "paceline/mem.h"
#include "wire/channel.h"

#define PROTOCOL 1

struct agent_link {
    struct agent_net *net;
    struct agent_link *next;
    struct channel_tls *tls;
    struct channel *channel; /* NULL: it could not begin, for the reason in err */
    struct err err;
    agent_message_fn *message;
    agent_end_fn *end;
    void *arg;
    short revents;
    short waits_for; /* as epoll knows it */
    bool closed;     /* by its owner, maybe from inside a callback */
};

struct agent_net {
    int epoll;
    struct agent_link *first;
    int64_t now_ms;
};

int agent_net_new(struct agent_net **out, struct err *err)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_IO, "epoll: %s", strerror(errno));
    *out = xcalloc(1, sizeof **out);
    (*out)->epoll = fd;
    return 0;
}

static void link_free(struct agent_link *k)
{
    channel_free(k->channel);
    channel_tls_free(k->tls);
    free(k);
}

void agent_net_free(struct agent_net *net)
{
    if (!net)
        return;
    while (net->first) {
        struct agent_link *k = net->first;

        net->first = k->next;
        link_free(k);
    }
    close(net->epoll);
    free(net);
}

int agent_net_fd(const struct agent_net *net) { return net->epoll; }

static int on_frame(void *arg, const cJSON *message, struct err *err)
{
    struct agent_link *k = arg;

    if (strcmp(message_type(message), "refused") == 0 && message_integer(message, "generation") < 0)
        return err_set(err, ERR_FORBIDDEN, "%.400s", message_text(message, "message"));
    if (!k->closed)
        k->message(k->arg, message);
    return k->closed ? err_set(err, ERR_GONE, "closed") : 0;
}

static int begin(struct agent_link *k, const struct agent_target *target, struct err *err)
{
    AUTO(buf_release) struct buf key;
    AUTO(buf_release) struct buf certificate;
    int fd;

    buf_init(&key, 0);
    buf_init(&certificate, 0);
    key_pem(target->key, &key, &certificate);
    int rc = channel_tls_new(&k->tls, key.data, key.len, certificate.data, certificate.len, err);
    explicit_bzero(key.data, key.len);
    if (rc || (fd = channel_dial(target->address, CHANNEL_PORT, err)) < 0)
        return -1;
    k->channel = channel_connect(k->tls, fd, on_frame, k, k->net->now_ms);
    return 0;
}

static void say_hello(struct agent_link *k)
{
    AUTO(auto_json) cJSON *hello = cJSON_CreateObject();

    cJSON_AddStringToObject(hello, "type", "hello");
    cJSON_AddNumberToObject(hello, "protocol", PROTOCOL);
    cJSON_AddStringToObject(hello, "channel", "control");
    channel_send(k->channel, hello);
}

static struct agent_link *net_open(void *arg, const struct agent_target *target,
                                   agent_message_fn *message, agent_end_fn *end, void *owner)
{
    struct agent_net *net = arg;
    struct agent_link *k = xcalloc(1, sizeof *k);

    *k = (struct agent_link){
        .net = net, .next = net->first, .message = message, .end = end, .arg = owner};
    net->first = k;
    if (begin(k, target, &k->err) == 0)
        say_hello(k);
    return k;
}

static void net_send(void *net, struct agent_link *k, const cJSON *message)
{
    (void)net;
    if (k->channel)
        channel_send(k->channel, message);
}

static void net_close(void *net, struct agent_link *k)
{
    (void)net;
    k->closed = true; /* freed by the next step */
}

static const struct agent_ops ops = {net_open, net_send, net_close};

const struct agent_ops *agent_net_ops(void) { return &ops; }

/* epoll follows what the channel waits for. */
static void watch(struct agent_link *k)
{
    struct epoll_event event = {.data.ptr = k};
    short wants = channel_wants(k->channel);

    if (wants == k->waits_for)
        return;
    event.events = (wants & POLLIN ? EPOLLIN : 0u) | (wants & POLLOUT ? EPOLLOUT : 0u);
    epoll_ctl(k->net->epoll, k->waits_for ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, channel_fd(k->channel),
              &event);
    k->waits_for = wants;
}

/* False: it is over. */
static bool step(struct agent_link *k)
{
    short revents = k->revents;

    k->revents = 0;
    if (!k->channel || channel_step(k->channel, revents, k->net->now_ms, &k->err))
        return false;
    watch(k);
    return true;
}

static void collect(struct agent_net *net)
{
    struct epoll_event events[64];
    int n = epoll_wait(net->epoll, events, ARRAY_LEN(events), 0);

    for (int i = 0; i < n; i++) {
        struct agent_link *k = events[i].data.ptr;

        k->revents |= (events[i].events & EPOLLIN ? POLLIN : 0) |
                      (events[i].events & EPOLLOUT ? POLLOUT : 0) |
                      (events[i].events & EPOLLHUP ? POLLHUP : 0) |
                      (events[i].events & EPOLLERR ? POLLERR : 0);
    }
}

static bool is_due(const struct agent_link *k, int64_t now_ms)
{
    return k->closed || !k->channel || !k->waits_for || k->revents ||
           channel_wants(k->channel) != k->waits_for || channel_next_ms(k->channel) <= now_ms;
}

void agent_net_step(struct agent_net *net, int64_t mono_ms)
{
    struct agent_link **at = &net->first;

    net->now_ms = mono_ms;
    collect(net);
    while (*at) {
        struct agent_link *k = *at;

        if (!is_due(k, mono_ms) || (!k->closed && step(k))) {
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

int64_t agent_net_next_ms(const struct agent_net *net, int64_t mono_ms)
{
    int64_t next = -1;

    for (const struct agent_link *k = net->first; k; k = k->next) {
        int64_t wait = is_due(k, mono_ms) ? 0 : channel_next_ms(k->channel) - mono_ms;

        if (next < 0 || wait < next)
            next = wait;
    }
    return next;
}
