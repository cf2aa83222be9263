#include "agent/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/pending_conns.h"
#include "paceline/log.h"
#include "paceline/mem.h"

enum {
    ACCEPTS_PER_STEP = 64, /* so that a flood does not delay who is in */
    PATIENCE_MS = 50,      /* a stranger has this long for itself when others wait */
};

struct server_conn {
    struct server *server;
    struct channel *channel;
    struct conn_source source;
    int64_t came_ms;
    bool known; /* has said hello, as kind */
    enum client_kind kind;
};

struct server {
    struct server_config config;
    struct server_conn *conns[SERVER_MAX_HANDSHAKES + SERVER_MAX_CLIENTS]; /* the oldest first */
    size_t n, n_known;
    struct pending_conns pending;
    int64_t now_ms;
};

static const char *const client_kind_names[] = {
    [CLIENT_CONTROL] = "control", [CLIENT_EXEC] = "exec"};

struct server *server_new(const struct server_config *config)
{
    struct server *d = xcalloc(1, sizeof *d);

    d->config = *config;
    return d;
}

static void server_forget(struct server *d, size_t i)
{
    struct server_conn *v = d->conns[i];

    d->n--;
    d->n_known -= v->known;
    memmove(&d->conns[i], &d->conns[i + 1], (d->n - i) * sizeof(struct server_conn *));
    channel_free(v->channel);
    free(v);
}

void server_free(struct server *d)
{
    while (d->n)
        server_forget(d, d->n - 1);
    pending_conns_release(&d->pending);
    free(d);
}

static struct server_conn *find_control(const struct server *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->conns[i]->known && d->conns[i]->kind == CLIENT_CONTROL)
            return d->conns[i];
    return NULL;
}

struct channel *server_control(const struct server *d)
{
    const struct server_conn *v = find_control(d);

    return v ? v->channel : NULL;
}

static void server_end_conn(struct server_conn *v)
{
    if (v->known)
        v->server->config.on_end(v->server->config.arg, v->kind, v->channel);
    v->known = false;
    v->came_ms = v->server->now_ms; /* time to hear why */
    v->server->n_known--;
}

/* Says why, and closes once that is sent. */
static int server_refuse(struct server_conn *v, const char *why)
{
    channel_refuse(v->channel, "%s", why);
    channel_finish(v->channel, v->server->now_ms);
    return 0;
}

static int server_take_hello(struct server_conn *v, const cJSON *message)
{
    struct server *d = v->server;
    const char *name = message_text(message, "channel");
    struct server_conn *before = find_control(d);

    if (strcmp(message_type(message), "hello") != 0)
        return server_refuse(v, "a connection begins with hello");
    if (message_integer(message, "protocol") != PROTOCOL)
        return server_refuse(v, "this agent speaks protocol 1 only");
    if (d->n_known == SERVER_MAX_CLIENTS)
        return server_refuse(v, "this agent has too many connections");
    for (size_t i = 0; i < ARRAY_LEN(client_kind_names); i++) {
        if (strcmp(name, client_kind_names[i]) != 0)
            continue;
        v->kind = (enum client_kind)i;
        if (v->kind == CLIENT_CONTROL && before) {
            server_end_conn(before);
            (void)server_refuse(before, "another operator has connected");
        }
        v->known = true;
        d->n_known++;
        d->config.on_hello(d->config.arg, v->kind, v->channel);
        return 0;
    }
    return server_refuse(v, "the channel must be \"control\" or \"exec\"");
}

static int server_take(void *arg, const cJSON *message, struct err *err)
{
    struct server_conn *v = arg;
    const struct server_config *config = &v->server->config;

    if (!v->known)
        return server_take_hello(v, message);
    return config->on_message(config->arg, v->kind, v->channel, message, err);
}

/* The stranger that has to go before one of this source may show its key; d->n: there is room. */
static size_t blocker(const struct server *d, const struct conn_source *source)
{
    size_t own = 0, oldest_own = d->n, oldest = d->n;

    for (size_t i = d->n; i-- > 0;) {
        const struct server_conn *v = d->conns[i];

        if (v->known)
            continue;
        oldest = i;
        if (conn_source_same(&v->source, source)) {
            own++;
            oldest_own = i;
        }
    }
    if (own >= SERVER_PER_SOURCE)
        return oldest_own;
    return d->n - d->n_known >= SERVER_MAX_HANDSHAKES ? oldest : d->n;
}

/* When one of this source may. */
static int64_t enter_ms(const struct server *d, const struct conn_source *source)
{
    size_t i = blocker(d, source);

    return i < d->n ? d->conns[i]->came_ms + PATIENCE_MS : 0;
}

static void let_in(struct server *d, size_t conn)
{
    struct server_conn *v = xcalloc(1, sizeof *v);
    struct conn_source source = d->pending.conns[conn].source;
    size_t gone = blocker(d, &source);

    if (gone < d->n)
        server_forget(d, gone);
    *v = (struct server_conn){.server = d, .source = source, .came_ms = d->now_ms};
    v->channel = channel_accept(d->config.tls, pending_conns_take(&d->pending, conn), server_take,
                                v, d->now_ms);
    d->conns[d->n++] = v;
}

/* Those among the pending connections that have begun to speak. */
static void let_some_in(struct server *d, const struct pollset *w)
{
    for (size_t i = 0; i < d->pending.n;) {
        const struct pending_conn *conn = &d->pending.conns[i];

        if (pollset_came(w, conn->fd) && enter_ms(d, &conn->source) <= d->now_ms)
            let_in(d, i);
        else
            i++;
    }
    pending_conns_expire(&d->pending, d->now_ms - CHANNEL_HANDSHAKE_MS + 1);
}

static void accept_some(struct server *d)
{
    for (int i = 0; i < ACCEPTS_PER_STEP; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t len = sizeof peer;
        int fd = accept4(d->config.listener, (struct sockaddr *)&peer, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct conn_source source = conn_source_of(&peer);

        if (fd < 0)
            return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        pending_conns_add(&d->pending, fd, &source, d->now_ms);
    }
}

/* False: it is over, with err. */
static bool step_one(struct server_conn *v, short came, struct err *err)
{
    int64_t now_ms = v->server->now_ms;

    if (!v->known && now_ms >= v->came_ms + CHANNEL_HANDSHAKE_MS) {
        err_set(err, ERR_TRANSIENT, "no hello within 2 s");
        return false;
    }
    if (!came && now_ms < channel_next_ms(v->channel))
        return true;
    return channel_step(v->channel, came, now_ms, err) == 0;
}

static void pending_wait(const struct server *d, struct pollset *w)
{
    for (size_t i = 0; i < d->pending.n; i++) {
        const struct pending_conn *conn = &d->pending.conns[i];
        int64_t enter = enter_ms(d, &conn->source);

        if (enter <= d->now_ms)
            pollset_add(w, conn->fd, POLLIN);
        else
            pollset_until(w, enter);
        pollset_until(w, conn->came_ms + CHANNEL_HANDSHAKE_MS);
    }
}

void server_wait(const struct server *d, struct pollset *w)
{
    pollset_add(w, d->config.listener, POLLIN);
    pending_wait(d, w);
    for (size_t i = 0; i < d->n; i++) {
        const struct server_conn *v = d->conns[i];

        pollset_add(w, channel_fd(v->channel), channel_wants(v->channel));
        pollset_until(w, channel_next_ms(v->channel));
        if (!v->known)
            pollset_until(w, v->came_ms + CHANNEL_HANDSHAKE_MS);
    }
}

void server_step(struct server *d, const struct pollset *w, int64_t now_ms)
{
    d->now_ms = now_ms;
    for (size_t i = 0; i < d->n;) {
        struct server_conn *v = d->conns[i];
        struct err err;

        if (step_one(v, pollset_came(w, channel_fd(v->channel)), &err)) {
            i++;
            continue;
        }
        if (v->known) {
            log_info("connection ended channel=%s: %s", client_kind_names[v->kind], err.msg);
            server_end_conn(v);
        } else {
            log_debug("stranger sent away: %s", err.msg);
        }
        server_forget(d, i);
    }
    let_some_in(d, w);
    if (pollset_came(w, d->config.listener))
        accept_some(d);
}
