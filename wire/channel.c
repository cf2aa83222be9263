#include "wire/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "paceline/mem.h"
#include "wire/tls.h"

enum {
    READS_PER_STEP = 8,
    RECORD_MAX = 16384, /* of TLS: with room for one, nothing decrypted stays where poll cannot
                           see it */
    KEEP_CAP = 65536,
};

enum channel_state {
    CONNECTING,
    CONNECTED,
    SHAKING,
    OPEN,
    FINISHING
}; /* CONNECTED: without TLS yet */

struct channel {
    struct channel_tls *tls; /* NULL: not known yet */
    SSL *ssl;                /* NULL until TCP is connected */
    int fd;
    bool server;
    enum channel_state state;
    short wants;
    frame_fn *fn;
    void *arg;
    struct frames in;
    struct buf out;
    size_t sent; /* of out */
    uint64_t received;
    int64_t spoke_ms, heard_ms, deadline_ms;
    bool broken; /* by channel_send; err says why */
    struct err err;
};

static struct channel *channel_new(struct channel_tls *tls, int fd, bool server, frame_fn *fn,
                                   void *arg, int64_t now_ms)
{
    struct channel *c = xcalloc(1, sizeof *c);

    *c = (struct channel){.tls = tls,
                          .fd = fd,
                          .server = server,
                          .state = server ? SHAKING : CONNECTING,
                          .wants = server ? POLLIN : POLLOUT,
                          .fn = fn,
                          .arg = arg,
                          .spoke_ms = now_ms,
                          .heard_ms = now_ms,
                          .deadline_ms =
                              now_ms + (server ? CHANNEL_HANDSHAKE_MS : CHANNEL_CONNECT_MS)};
    if (server)
        c->ssl = channel_tls_session(tls, fd, true);
    frames_init(&c->in);
    buf_init(&c->out, 0);
    return c;
}

struct channel *channel_connect(struct channel_tls *tls, int fd, frame_fn *fn, void *arg,
                                int64_t now_ms)
{
    return channel_new(tls, fd, false, fn, arg, now_ms);
}

struct channel *channel_accept(struct channel_tls *tls, int fd, frame_fn *fn, void *arg,
                               int64_t now_ms)
{
    return channel_new(tls, fd, true, fn, arg, now_ms);
}

void channel_free(struct channel *c)
{
    if (!c)
        return;
    if (c->state == OPEN || c->state == FINISHING)
        SSL_shutdown(c->ssl);
    ERR_clear_error();
    SSL_free(c->ssl);
    close(c->fd);
    frames_release(&c->in);
    buf_release(&c->out);
    free(c);
}

bool channel_needs_tls(const struct channel *c) { return c->state == CONNECTED && !c->tls; }

void channel_set_tls(struct channel *c, struct channel_tls *tls) { c->tls = tls; }

uint64_t channel_received(const struct channel *c) { return c->received; }
uint64_t channel_messages(const struct channel *c) { return c->in.n_messages; }
size_t channel_memory(const struct channel *c) { return c->in.body.cap + c->out.cap; }

int channel_dial(const char *address, int port, struct err *err)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    bool v6 = strchr(address, ':') != NULL;
    const struct sockaddr *to = v6 ? (const void *)&in6 : (const void *)&in;
    int fd, saved;

    if (inet_pton(v6 ? AF_INET6 : AF_INET, address, v6 ? (void *)&in6.sin6_addr : &in.sin_addr) !=
        1)
        return err_set(err, ERR_INVALID, "\"%.60s\" is no IP address", address);
    fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(err, ERR_TRANSIENT, "cannot open a socket: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (connect(fd, to, v6 ? sizeof in6 : sizeof in) == 0 || errno == EINPROGRESS)
        return fd;
    saved = errno;
    close(fd);
    return err_set(err, ERR_TRANSIENT, "connecting to %s port %d: %s", address, port,
                   strerror(saved));
}

int channel_fd(const struct channel *c) { return c->fd; }

short channel_wants(const struct channel *c)
{
    bool pending = c->state >= OPEN && !channel_drained(c);

    return pending ? c->wants | POLLOUT : c->wants;
}

bool channel_ready(const struct channel *c) { return c->state >= OPEN; }
bool channel_drained(const struct channel *c) { return c->sent == c->out.len; }

int64_t channel_next_ms(const struct channel *c)
{
    int64_t ping = c->spoke_ms + CHANNEL_PING_MS, silence = c->heard_ms + CHANNEL_SILENCE_MS;

    if (c->broken)
        return 0;
    if (c->state != OPEN)
        return c->deadline_ms;
    return ping < silence ? ping : silence;
}

void channel_send(struct channel *c, const cJSON *message)
{
    if (c->broken || c->state == FINISHING)
        return;
    if (frame_encode(message, &c->out, &c->err) < 0) {
        c->broken = true;
    } else if (c->out.len - c->sent > CHANNEL_QUEUE_MAX) {
        err_set(&c->err, ERR_TRANSIENT, "the other end does not read: %zu bytes wait for it",
                c->out.len - c->sent);
        c->broken = true;
    }
}

void channel_refuse(struct channel *c, const char *fmt, ...)
{
    AUTO(auto_json) cJSON *message = cJSON_CreateObject();
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cJSON_AddStringToObject(message, "type", "refused");
    cJSON_AddStringToObject(message, "message", text);
    channel_send(c, message);
}

void channel_finish(struct channel *c, int64_t now_ms)
{
    if (c->state != OPEN)
        return;
    c->state = FINISHING;
    c->wants = 0;
    c->deadline_ms = now_ms + CHANNEL_HANDSHAKE_MS;
}

/* The meaning of a failed TLS call. 0: wait; -1: the connection is over. */
static int understand(struct channel *c, int result, struct err *err)
{
    int saved = errno, code = SSL_get_error(c->ssl, result);
    unsigned long reason = ERR_peek_last_error();
    enum err_code kind = c->state == SHAKING ? ERR_FORBIDDEN : ERR_TRANSIENT;

    switch (code) {
    case SSL_ERROR_WANT_READ:
        c->wants = POLLIN;
        return 0;
    case SSL_ERROR_WANT_WRITE:
        c->wants = POLLIN | POLLOUT;
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        return err_set(err, ERR_GONE, "the other end has closed the connection");
    case SSL_ERROR_SSL:
        /* A client learns with its first read that the server does not know its key. */
        if (ERR_GET_LIB(reason) == ERR_LIB_SSL && ERR_GET_REASON(reason) > SSL_AD_REASON_OFFSET)
            kind = ERR_FORBIDDEN;
        if (ERR_GET_REASON(reason) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
            return err_set(err, ERR_TRANSIENT, "the other end is gone");
        return err_set(err, kind, "TLS: %s%s", ERR_reason_error_string(reason),
                       kind == ERR_FORBIDDEN ? "; the other end must have the job's own key" : "");
    default:
        return err_set(err, ERR_TRANSIENT, "the connection broke: %s",
                       saved ? strerror(saved) : "it was closed");
    }
}

/* TLS keeps errors in a queue of the thread, which must be empty before a call. */
static void clear_errors(void)
{
    ERR_clear_error();
    errno = 0;
}

static int finish_connect(struct channel *c, short revents, int64_t now_ms, struct err *err)
{
    int error = 0;
    socklen_t len = sizeof error;

    if (!(revents & (POLLOUT | POLLERR | POLLHUP)))
        return 0;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0)
        return err_set(err, ERR_TRANSIENT, "connecting: %s", strerror(error));
    c->state = CONNECTED;
    c->wants = 0;
    c->deadline_ms = now_ms + CHANNEL_HANDSHAKE_MS;
    return 0;
}

/* This is most of a connection's cost, so it waits until somebody answers. */
static void channel_begin_tls(struct channel *c)
{
    c->ssl = channel_tls_session(c->tls, c->fd, false);
    c->state = SHAKING;
}

static int shake(struct channel *c, int64_t now_ms, struct err *err)
{
    int result;

    clear_errors();
    result = SSL_do_handshake(c->ssl);
    if (result != 1)
        return understand(c, result, err);
    c->state = OPEN;
    c->wants = POLLIN;
    c->spoke_ms = c->heard_ms = now_ms;
    return 0;
}

static int channel_hand_over(void *arg, const cJSON *message, struct err *err)
{
    struct channel *c = arg;

    if (c->state != OPEN || strcmp(message_type(message), "ping") == 0)
        return 0;
    return c->fn(c->arg, message, err);
}

static int receive(struct channel *c, int64_t now_ms, struct err *err)
{
    char bytes[RECORD_MAX];

    for (int i = 0; i < READS_PER_STEP && c->state == OPEN; i++) {
        int n;

        clear_errors();
        n = SSL_read(c->ssl, bytes, sizeof bytes);
        if (n <= 0)
            return understand(c, n, err);
        c->heard_ms = now_ms;
        c->received += (uint64_t)n;
        if (frames_add(&c->in, bytes, (size_t)n, channel_hand_over, c, err) < 0)
            return -1;
    }
    return 0;
}

static int transmit(struct channel *c, int64_t now_ms, struct err *err)
{
    while (!channel_drained(c)) {
        size_t left = c->out.len - c->sent;
        int n;

        clear_errors();
        n = SSL_write(c->ssl, c->out.data + c->sent, left < RECORD_MAX ? (int)left : RECORD_MAX);
        if (n <= 0)
            return understand(c, n, err);
        c->sent += (size_t)n;
        c->spoke_ms = now_ms;
    }
    if (c->out.cap > KEEP_CAP) {
        buf_release(&c->out);
        buf_init(&c->out, 0);
    }
    c->out.len = c->sent = 0;
    return 0;
}

/* Drops sent bytes before the queue grows to twice its bound. */
static void compact(struct channel *c)
{
    if (c->sent <= CHANNEL_QUEUE_MAX / 2)
        return;
    memmove(c->out.data, c->out.data + c->sent, c->out.len - c->sent);
    c->out.len -= c->sent;
    c->sent = 0;
}

static void ping(struct channel *c, int64_t now_ms)
{
    AUTO(auto_json) cJSON *message = NULL;

    if (c->state != OPEN || now_ms < c->spoke_ms + CHANNEL_PING_MS || !channel_drained(c))
        return;
    message = cJSON_CreateObject();
    cJSON_AddStringToObject(message, "type", "ping");
    channel_send(c, message);
}

static int check_times(const struct channel *c, int64_t now_ms, struct err *err)
{
    static const char *const late[] = {
        [CONNECTING] = "no connection within 250 ms",
        [CONNECTED] = "no TLS handshake within 2 s",
        [SHAKING] = "no TLS handshake within 2 s",
        [FINISHING] = "the other end did not take the last message within 2 s",
    };

    if (c->state == OPEN && now_ms >= c->heard_ms + CHANNEL_SILENCE_MS)
        return err_set(err, ERR_SILENT, "the other end has been silent for %d s",
                       CHANNEL_SILENCE_MS / 1000);
    if (c->state != OPEN && now_ms >= c->deadline_ms)
        return err_set(err, ERR_SILENT, "%s", late[c->state]);
    return 0;
}

/* Bytes that wait are read before silence is found: this process may have been stopped. */
static int channel_converse(struct channel *c, short revents, int64_t now_ms, struct err *err)
{
    bool silence = now_ms >= c->heard_ms + CHANNEL_SILENCE_MS;

    if (c->state == OPEN && (revents || silence) && receive(c, now_ms, err) < 0)
        return -1;
    ping(c, now_ms);
    if (transmit(c, now_ms, err) < 0)
        return -1;
    compact(c);
    if (c->state == FINISHING && channel_drained(c))
        return err_set(err, ERR_GONE, "the connection was closed in order");
    return 0;
}

int channel_step(struct channel *c, short revents, int64_t now_ms, struct err *err)
{
    int rc = 0;

    if (c->state == CONNECTING)
        rc = finish_connect(c, revents, now_ms, err);
    if (rc == 0 && c->state == CONNECTED && c->tls)
        channel_begin_tls(c);
    if (rc == 0 && c->state == SHAKING)
        rc = shake(c, now_ms, err);
    if (rc == 0 && c->state >= OPEN)
        rc = channel_converse(c, revents, now_ms, err);
    if (rc == 0 && c->broken) {
        *err = c->err;
        rc = -1;
    }
    return rc == 0 ? check_times(c, now_ms, err) : rc;
}
