#include "agent/door.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/lobby.h"
#include "paceline/log.h"
#include "paceline/mem.h"

enum {
    ACCEPTS_PER_STEP = 64, /* so that a flood does not delay who is in */
    PATIENCE_MS = 50,      /* a stranger has this long for itself when others wait */
};

struct visitor {
    struct door *door;
    struct channel *channel;
    struct source source;
    int64_t came_ms;
    bool known; /* has said hello, as guest */
    enum guest guest;
};

struct door {
    struct door_config config;
    struct visitor *visitors[DOOR_STRANGERS + DOOR_GUESTS]; /* the oldest first */
    size_t n, n_known;
    struct lobby lobby;
    int64_t now_ms;
};

static const char *const guest_names[] = {[GUEST_CONTROL] = "control", [GUEST_EXEC] = "exec"};

struct door *door_new(const struct door_config *config)
{
    struct door *d = xcalloc(1, sizeof *d);

    d->config = *config;
    return d;
}

static void forget(struct door *d, size_t i)
{
    struct visitor *v = d->visitors[i];

    d->n--;
    d->n_known -= v->known;
    memmove(&d->visitors[i], &d->visitors[i + 1], (d->n - i) * sizeof(struct visitor *));
    channel_free(v->channel);
    free(v);
}

void door_free(struct door *d)
{
    while (d->n)
        forget(d, d->n - 1);
    lobby_release(&d->lobby);
    free(d);
}

static struct visitor *find_control(const struct door *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->visitors[i]->known && d->visitors[i]->guest == GUEST_CONTROL)
            return d->visitors[i];
    return NULL;
}

struct channel *door_control(const struct door *d)
{
    const struct visitor *v = find_control(d);

    return v ? v->channel : NULL;
}

static void end(struct visitor *v)
{
    if (v->known)
        v->door->config.on_end(v->door->config.arg, v->guest, v->channel);
    v->known = false;
    v->came_ms = v->door->now_ms; /* time to hear why */
    v->door->n_known--;
}

/* Says why, and closes once that is sent. */
static int refuse(struct visitor *v, const char *why)
{
    channel_refuse(v->channel, "%s", why);
    channel_finish(v->channel, v->door->now_ms);
    return 0;
}

static int take_hello(struct visitor *v, const cJSON *message)
{
    struct door *d = v->door;
    const char *name = message_text(message, "channel");
    struct visitor *before = find_control(d);

    if (strcmp(message_type(message), "hello") != 0)
        return refuse(v, "a connection begins with hello");
    if (message_integer(message, "protocol") != PROTOCOL)
        return refuse(v, "this agent speaks protocol 1 only");
    if (d->n_known == DOOR_GUESTS)
        return refuse(v, "this agent has too many connections");
    for (size_t i = 0; i < ARRAY_LEN(guest_names); i++) {
        if (strcmp(name, guest_names[i]) != 0)
            continue;
        v->guest = (enum guest)i;
        if (v->guest == GUEST_CONTROL && before) {
            end(before);
            (void)refuse(before, "another operator has connected");
        }
        v->known = true;
        d->n_known++;
        d->config.on_hello(d->config.arg, v->guest, v->channel);
        return 0;
    }
    return refuse(v, "the channel must be \"control\" or \"exec\"");
}

static int take(void *arg, const cJSON *message, struct err *err)
{
    struct visitor *v = arg;
    const struct door_config *config = &v->door->config;

    if (!v->known)
        return take_hello(v, message);
    return config->on_message(config->arg, v->guest, v->channel, message, err);
}

/* The stranger that has to go before one of this source may show its key; d->n: there is room. */
static size_t blocker(const struct door *d, const struct source *source)
{
    size_t own = 0, oldest_own = d->n, oldest = d->n;

    for (size_t i = d->n; i-- > 0;) {
        const struct visitor *v = d->visitors[i];

        if (v->known)
            continue;
        oldest = i;
        if (source_same(&v->source, source)) {
            own++;
            oldest_own = i;
        }
    }
    if (own >= DOOR_PER_SOURCE)
        return oldest_own;
    return d->n - d->n_known >= DOOR_STRANGERS ? oldest : d->n;
}

/* When one of this source may. */
static int64_t enter_ms(const struct door *d, const struct source *source)
{
    size_t i = blocker(d, source);

    return i < d->n ? d->visitors[i]->came_ms + PATIENCE_MS : 0;
}

static void let_in(struct door *d, size_t seat)
{
    struct visitor *v = xcalloc(1, sizeof *v);
    struct source source = d->lobby.seats[seat].source;
    size_t gone = blocker(d, &source);

    if (gone < d->n)
        forget(d, gone);
    *v = (struct visitor){.door = d, .source = source, .came_ms = d->now_ms};
    v->channel = channel_accept(d->config.tls, lobby_take(&d->lobby, seat), take, v, d->now_ms);
    d->visitors[d->n++] = v;
}

/* Those in the lobby that have begun to speak. */
static void let_some_in(struct door *d, const struct waits *w)
{
    for (size_t i = 0; i < d->lobby.n;) {
        const struct seat *seat = &d->lobby.seats[i];

        if (waits_came(w, seat->fd) && enter_ms(d, &seat->source) <= d->now_ms)
            let_in(d, i);
        else
            i++;
    }
    lobby_expire(&d->lobby, d->now_ms - CHANNEL_HANDSHAKE_MS + 1);
}

static void accept_some(struct door *d)
{
    for (int i = 0; i < ACCEPTS_PER_STEP; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t len = sizeof peer;
        int fd = accept4(d->config.listener, (struct sockaddr *)&peer, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct source source = source_of(&peer);

        if (fd < 0)
            return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        lobby_add(&d->lobby, fd, &source, d->now_ms);
    }
}

/* False: it is over, with err. */
static bool step_one(struct visitor *v, short came, struct err *err)
{
    int64_t now_ms = v->door->now_ms;

    if (!v->known && now_ms >= v->came_ms + CHANNEL_HANDSHAKE_MS) {
        err_set(err, ERR_TRANSIENT, "no hello within 2 s");
        return false;
    }
    if (!came && now_ms < channel_next_ms(v->channel))
        return true;
    return channel_step(v->channel, came, now_ms, err) == 0;
}

static void wait_in_lobby(const struct door *d, struct waits *w)
{
    for (size_t i = 0; i < d->lobby.n; i++) {
        const struct seat *seat = &d->lobby.seats[i];
        int64_t enter = enter_ms(d, &seat->source);

        if (enter <= d->now_ms)
            waits_add(w, seat->fd, POLLIN);
        else
            waits_until(w, enter);
        waits_until(w, seat->came_ms + CHANNEL_HANDSHAKE_MS);
    }
}

void door_wait(const struct door *d, struct waits *w)
{
    waits_add(w, d->config.listener, POLLIN);
    wait_in_lobby(d, w);
    for (size_t i = 0; i < d->n; i++) {
        const struct visitor *v = d->visitors[i];

        waits_add(w, channel_fd(v->channel), channel_wants(v->channel));
        waits_until(w, channel_next_ms(v->channel));
        if (!v->known)
            waits_until(w, v->came_ms + CHANNEL_HANDSHAKE_MS);
    }
}

void door_step(struct door *d, const struct waits *w, int64_t now_ms)
{
    d->now_ms = now_ms;
    for (size_t i = 0; i < d->n;) {
        struct visitor *v = d->visitors[i];
        struct err err;

        if (step_one(v, waits_came(w, channel_fd(v->channel)), &err)) {
            i++;
            continue;
        }
        if (v->known) {
            log_info("connection ended channel=%s: %s", guest_names[v->guest], err.msg);
            end(v);
        } else {
            log_debug("stranger sent away: %s", err.msg);
        }
        forget(d, i);
    }
    let_some_in(d, w);
    if (waits_came(w, d->config.listener))
        accept_some(d);
}
