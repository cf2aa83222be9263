// LINK: wire common
// LIBS: -lssl -lcrypto
/* Two ends over a socket pair; the clock is an argument. */
#include "wire/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "wire/tls.h"

#define ROUNDS 50

static void key_of(unsigned char key[CHANNEL_KEY_BYTES], const char *job)
{
    memset(key, 0, CHANNEL_KEY_BYTES);
    memcpy(key, job, strlen(job));
}

static struct channel_tls *tls_of(const char *job)
{
    unsigned char key[CHANNEL_KEY_BYTES];
    struct channel_tls *tls = NULL;
    struct err err;

    key_of(key, job);
    CHECK_INT(channel_tls_new(&tls, key, sizeof key, &err), 0);
    return tls;
}

struct end {
    struct channel *channel;
    int n, rc;
    char last[64];
    struct err err;
};

static int take(void *arg, const cJSON *message, struct err *err)
{
    struct end *e = arg;

    e->n++;
    snprintf(e->last, sizeof e->last, "%s", message_text(message, "text"));
    if (strcmp(message_type(message), "bad") == 0)
        return err_set(err, ERR_INVALID, "a bad message");
    return 0;
}

struct channel_pair {
    struct end client, server;
    int64_t now;
};

static void open_pair(struct channel_pair *p, struct channel_tls *client,
                      struct channel_tls *server)
{
    int fds[2];

    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    *p = (struct channel_pair){.now = 1000};
    p->client.channel = channel_connect(client, fds[0], take, &p->client, p->now);
    p->server.channel = channel_accept(server, fds[1], take, &p->server, p->now);
}

static void close_pair(struct channel_pair *p)
{
    channel_free(p->client.channel);
    channel_free(p->server.channel);
}

static void step(struct end *e, int64_t now)
{
    struct pollfd fd = {.fd = channel_fd(e->channel), .events = channel_wants(e->channel)};

    if (e->rc < 0)
        return;
    poll(&fd, 1, 0);
    if (fd.revents || now >= channel_next_ms(e->channel))
        e->rc = channel_step(e->channel, fd.revents, now, &e->err);
}

static void settle(struct channel_pair *p)
{
    for (int i = 0; i < ROUNDS; i++) {
        step(&p->client, p->now);
        step(&p->server, p->now);
    }
}

static void say(struct channel *c, const char *type, const char *text)
{
    AUTO(auto_json) cJSON *message = cJSON_CreateObject();

    cJSON_AddStringToObject(message, "type", type);
    cJSON_AddStringToObject(message, "text", text);
    channel_send(c, message);
}

static void test_talk(struct channel_tls *tls)
{
    struct channel_pair p;

    open_pair(&p, tls, tls);
    CHECK(!channel_ready(p.client.channel));
    say(p.client.channel, "hello", "before the handshake");
    settle(&p);
    CHECK(channel_ready(p.client.channel) && channel_ready(p.server.channel));
    CHECK_INT(p.server.n, 1);
    CHECK_STR(p.server.last, "before the handshake");
    say(p.server.channel, "hello", "an answer");
    settle(&p);
    CHECK_STR(p.client.last, "an answer");
    say(p.server.channel, "last", "words");
    channel_finish(p.server.channel, p.now);
    settle(&p);
    CHECK_STR(p.client.last, "words");
    CHECK_INT(p.server.rc, -1);
    CHECK_INT(p.server.err.code, ERR_GONE);
    channel_free(p.server.channel);
    p.server.channel = NULL;
    p.server.rc = -1;
    step(&p.client, p.now);
    CHECK_INT(p.client.rc, -1);
    CHECK_INT(p.client.err.code, ERR_GONE);
    close_pair(&p);
}

/* Neither end hands over a byte of the other's, whichever has the wrong key. */
static void test_wrong_key(struct channel_tls *ours, struct channel_tls *other)
{
    for (int i = 0; i < 2; i++) {
        struct channel_pair p;

        open_pair(&p, i ? ours : other, i ? other : ours);
        say(p.client.channel, "hello", "let me in");
        say(p.server.channel, "secret", "for nobody");
        settle(&p);
        CHECK_INT(p.server.rc, -1);
        CHECK_INT(p.client.rc, -1);
        CHECK_INT(p.client.n, 0);
        CHECK_INT(p.server.n, 0);
        CHECK_INT(p.server.err.code, ERR_FORBIDDEN);
        CHECK_INT(p.client.err.code, ERR_FORBIDDEN);
        CHECK_CONTAINS(p.server.err.msg, "the job's own key");
        CHECK(!channel_ready(p.server.channel));
        close_pair(&p);
    }
}

/* A stranger without TLS gets at most an alert (7 bytes); a silent one is dropped after 2 s. */
static void test_stranger(struct channel_tls *tls)
{
    struct channel_pair p;
    int fds[2];
    char bytes[64];
    ssize_t n;

    for (int garbage = 0; garbage < 2; garbage++) {
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
        p = (struct channel_pair){.now = 1000};
        p.server.channel = channel_accept(tls, fds[1], take, &p.server, p.now);
        say(p.server.channel, "secret", "for nobody");
        if (garbage)
            CHECK_INT(write(fds[0], "\x16\3\1\0\5hello", 10), 10);
        for (; p.now < 1000 + CHANNEL_HANDSHAKE_MS; p.now += 100)
            step(&p.server, p.now);
        CHECK_INT(p.server.rc, garbage ? -1 : 0);
        step(&p.server, p.now);
        CHECK_INT(p.server.rc, -1);
        CHECK_INT(p.server.n, 0);
        n = read(fds[0], bytes, sizeof bytes);
        CHECK(garbage ? n == 7 && bytes[0] == 21 : n < 0);
        close(fds[0]);
        channel_free(p.server.channel);
    }
}

/* Another program on the other end of a channel: plain OpenSSL, with what it was given. */
struct peer {
    SSL_CTX *ctx;
    SSL *ssl;
    char refusal[sizeof((struct err *)0)->msg];
    bool with_key;
};

static const char *peer_identity;

static int peer_session(SSL *ssl, SSL_SESSION **session)
{
    unsigned char key[CHANNEL_KEY_BYTES];

    key_of(key, "job-1");
    *session = SSL_SESSION_new();
    return SSL_SESSION_set1_master_key(*session, key, sizeof key) &&
           SSL_SESSION_set_cipher(*session,
                                  SSL_CIPHER_find(ssl, (const unsigned char[]){0x13, 1})) &&
           SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
}

static int peer_offer(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *n,
                      SSL_SESSION **session)
{
    (void)md;
    *id = (const unsigned char *)peer_identity;
    *n = strlen(peer_identity);
    return peer_session(ssl, session);
}

static int peer_find(SSL *ssl, const unsigned char *id, size_t n, SSL_SESSION **session)
{
    (void)id, (void)n;
    return peer_session(ssl, session);
}

/* TLS up to this version; with the key of job-1, or without it. */
static void peer_init(struct peer *p, int version, bool with_key)
{
    *p = (struct peer){.ctx = SSL_CTX_new(TLS_method()), .with_key = with_key};
    peer_identity = "paceline job";
    CHECK(p->ctx && SSL_CTX_set_max_proto_version(p->ctx, version) == 1);
    if (with_key) {
        SSL_CTX_set_psk_use_session_callback(p->ctx, peer_offer);
        SSL_CTX_set_psk_find_session_callback(p->ctx, peer_find);
    }
}

/* A certificate that a server may have instead, signed by itself. */
static void peer_certify(struct peer *p)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    X509 *cert = X509_new();

    CHECK(key && cert && X509_set_pubkey(cert, key) &&
          X509_gmtime_adj(X509_getm_notBefore(cert), 0) &&
          X509_gmtime_adj(X509_getm_notAfter(cert), 3600) && X509_sign(cert, key, EVP_sha256()) &&
          SSL_CTX_use_certificate(p->ctx, cert) == 1 && SSL_CTX_use_PrivateKey(p->ctx, key) == 1);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* Whether the channel's end lets the peer in; n: what a peer that it refuses can read. */
static bool peer_meets(struct peer *p, struct channel_tls *tls, bool channel_serves, ssize_t *n)
{
    struct end e = {0};
    char bytes[64];
    int fds[2];
    bool met;

    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    e.channel = channel_serves ? channel_accept(tls, fds[1], take, &e, 1000)
                               : channel_connect(tls, fds[1], take, &e, 1000);
    say(e.channel, "secret", "for the job alone");
    p->ssl = SSL_new(p->ctx);
    SSL_set_fd(p->ssl, fds[0]);
    if (channel_serves)
        SSL_set_connect_state(p->ssl);
    else
        SSL_set_accept_state(p->ssl);
    for (int i = 0; i < ROUNDS; i++) {
        SSL_do_handshake(p->ssl);
        step(&e, 1000);
    }
    *n = SSL_read(p->ssl, bytes, sizeof bytes);
    met = e.rc == 0 && channel_ready(e.channel);
    snprintf(p->refusal, sizeof p->refusal, "%s", e.rc ? e.err.msg : "");
    channel_free(e.channel);
    close(fds[0]);
    return met;
}

static void peer_release(struct peer *p)
{
    SSL_free(p->ssl);
    SSL_CTX_free(p->ctx);
}

/* Others' programs need the key, TLS 1.3, and a Diffie-Hellman exchange beside the key. */
static void test_peers(struct channel_tls *tls)
{
    static const struct {
        const char *name;
        int version;
        bool key, certificate, no_exchange, other_identity, serves, met;
    } cases[] = {
        {"a client with the key", TLS1_3_VERSION, .key = true, .serves = true, .met = true},
        {"a server with the key", TLS1_3_VERSION, .key = true, .met = true},
        {"a client without the key", TLS1_3_VERSION, .serves = true},
        {"a client with a certificate", TLS1_3_VERSION, .certificate = true, .serves = true},
        {"a server with a certificate", TLS1_3_VERSION, .certificate = true},
        {"a client with another identity", TLS1_3_VERSION, .key = true, .other_identity = true,
         .serves = true},
        {"a client of TLS 1.2", TLS1_2_VERSION, .key = true, .certificate = true, .serves = true},
        {"a server of TLS 1.2", TLS1_2_VERSION, .key = true, .certificate = true},
        {"a client without an exchange", TLS1_3_VERSION, .key = true, .no_exchange = true,
         .serves = true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct peer p;
        ssize_t n;

        peer_init(&p, cases[i].version, cases[i].key);
        if (cases[i].certificate)
            peer_certify(&p);
        if (cases[i].no_exchange) {
            SSL_CTX_set_options(p.ctx, SSL_OP_ALLOW_NO_DHE_KEX);
            CHECK_INT(SSL_CTX_set1_groups_list(p.ctx, "P-521"), 1); /* none that we have */
        }
        if (cases[i].other_identity)
            peer_identity = "another job";
        test_checked++;
        if (peer_meets(&p, tls, cases[i].serves, &n) != cases[i].met || (n > 0) != cases[i].met)
            TEST_FAIL("%s: read %zd bytes", cases[i].name, n);
        if (cases[i].met)
            CHECK_INT(SSL_version(p.ssl), TLS1_3_VERSION);
        if (cases[i].version < TLS1_3_VERSION) /* and for no other reason */
            CHECK_CONTAINS(p.refusal,
                           cases[i].serves ? "unsupported protocol" : "protocol version");
        peer_release(&p);
    }
}

/* Pings keep a quiet connection; a silent end is given up after 5 s, and bytes that wait count. */
static void test_silence(struct channel_tls *tls)
{
    struct channel_pair p;

    open_pair(&p, tls, tls);
    settle(&p);
    for (int i = 0; i < 30; i++, p.now += 500)
        settle(&p);
    CHECK_INT(p.client.rc, 0);
    CHECK_INT(p.server.rc, 0);
    CHECK_INT(p.client.n, 0); /* pings are not handed over */
    for (int i = 0; i < 4; i++, p.now += 1000)
        step(&p.client, p.now);
    p.now += 60000; /* the server was stopped for a minute; what the client said waits for it */
    step(&p.server, p.now);
    CHECK_INT(p.server.rc, 0);
    for (int64_t begin = p.now; p.now < begin + CHANNEL_SILENCE_MS; p.now += 100) {
        step(&p.server, p.now);
        CHECK_INT(p.server.rc, 0);
    }
    step(&p.server, p.now);
    CHECK_INT(p.server.rc, -1);
    CHECK_INT(p.server.err.code, ERR_SILENT);
    CHECK_CONTAINS(p.server.err.msg, "silent for 5 s");
    close_pair(&p);
}

/* An end that does not read: the queue is bounded, and much goes through once it reads. */
static void test_back_pressure(struct channel_tls *tls)
{
    AUTO(buf_release) struct buf text;
    struct channel_pair p;
    int sent = 0;

    buf_init(&text, 0);
    while (text.len < 100000)
        buf_puts(&text, "0123456789");
    open_pair(&p, tls, tls);
    settle(&p);
    for (; p.client.rc == 0 && sent < 1000; sent++) {
        say(p.client.channel, "log", text.data);
        step(&p.client, p.now);
    }
    CHECK_INT(p.client.rc, -1);
    CHECK_CONTAINS(p.client.err.msg, "does not read");
    CHECK(sent > 40 && sent < 60);
    close_pair(&p);

    open_pair(&p, tls, tls);
    settle(&p);
    for (sent = 0; sent < 200; sent++) {
        say(p.client.channel, "log", text.data);
        settle(&p);
    }
    CHECK_INT(p.client.rc, 0);
    CHECK_INT(p.server.n, 200);
    CHECK(channel_drained(p.client.channel));
    close_pair(&p);
}

static void test_refusing(struct channel_tls *tls)
{
    struct channel_pair p;

    open_pair(&p, tls, tls);
    settle(&p);
    channel_refuse(p.server.channel, "no %s", "thanks");
    settle(&p);
    CHECK_INT(p.client.n, 1);
    say(p.client.channel, "bad", "");
    settle(&p);
    CHECK_INT(p.server.rc, -1);
    CHECK_STR(p.server.err.msg, "a bad message");
    close_pair(&p);
}

static void test_dial(struct channel_tls *tls)
{
    struct end e = {0};
    struct err err = {0};
    int fd;

    CHECK_INT(channel_dial("localhost", 1, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    fd = channel_dial("127.0.0.1", 1, &err); /* nobody listens there */
    if (fd >= 0) {
        e.channel = channel_connect(tls, fd, take, &e, 0);
        for (int i = 0; i < ROUNDS && e.rc == 0; i++)
            step(&e, 5 * i);
        CHECK_INT(e.rc, -1);
        CHECK_CONTAINS(e.err.msg, "connecting");
        channel_free(e.channel);
    } else {
        CHECK_INT(err.code, ERR_TRANSIENT);
    }
}

static void test_keys(void)
{
    struct channel_tls *tls = NULL;
    struct err err = {0};

    CHECK_INT(channel_tls_new(&tls, "no", 2, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_STR(err.msg, "the key has 2 bytes, not 32");
    CHECK(tls == NULL);
}

int main(void)
{
    struct channel_tls *ours = tls_of("job-1"), *other = tls_of("job-2");

    signal(SIGPIPE, SIG_IGN);
    test_talk(ours);
    test_wrong_key(ours, other);
    test_stranger(ours);
    test_peers(ours);
    test_silence(ours);
    test_back_pressure(ours);
    test_refusing(ours);
    test_dial(ours);
    test_keys();
    channel_tls_free(ours);
    channel_tls_free(other);
    return test_result();
}
