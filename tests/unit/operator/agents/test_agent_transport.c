// LINK: operator/agents operator/core/limit.c operator/objects/keys.c wire common
// LIBS: -lssl -lcrypto -ldl
/*
 * The operator's connections to agents: what those cost that nobody answers, and those whose agent
 * sends too much, too slowly, or what is no message. Agents listen on loopback here.
 */
#include "operator/agents/transport.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "operator/objects/keys.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "wire/channel.h"
#include "wire/tls.h"

static const unsigned char key[KEY_BYTES] = {7, 1, 2};
static struct agent_transport *net;
static int64_t now = 1000;

/* A program's own function goes before that of a shared library. */
static int n_contexts;
SSL_CTX *SSL_CTX_new(const SSL_METHOD *method)
{
    SSL_CTX *(*real)(const SSL_METHOD *);
    void *found = dlsym(RTLD_NEXT, "SSL_CTX_new");

    memcpy(&real, &found, sizeof real); /* ISO C has no conversion */
    n_contexts++;
    return real(method);
}

/* The callbacks of one link, as its owner saw them. */
struct told {
    struct agent_link *link;
    int n_messages, n_ends, n_probes, n_connected;
    size_t longest;
    char why[300];
};

static void on_message(void *arg, const cJSON *message)
{
    struct told *t = arg;
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(message, "text"));

    t->n_messages++;
    if (text && strlen(text) > t->longest)
        t->longest = strlen(text);
}

static void on_end(void *arg, const char *why)
{
    struct told *t = arg;

    t->n_ends++;
    snprintf(t->why, sizeof t->why, "%s", why);
}

static void open_link(struct told *t, const char *address)
{
    *t = (struct told){0};
    t->link = agent_transport_ops()->open(net, &(struct agent_target){address, key}, on_message,
                                          on_end, t);
}

static void begin(void)
{
    struct err err;

    CHECK_INT(agent_transport_new(&net, &err), 0);
    agent_transport_step(net, now);
}

static int count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static int listen_on(const char *address, int port, int backlog)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, address, &in.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    CHECK_INT(bind(fd, (const void *)&in, sizeof in), 0);
    CHECK_INT(listen(fd, backlog), 0);
    return fd;
}

static int listen_at(const char *address, int backlog)
{
    return listen_on(address, CHANNEL_PORT, backlog);
}

/* Nobody listens there: no key is made and no TLS begun. */
static void test_nobody(void)
{
    enum { DIALS = 500 };
    static struct told all[DIALS];
    struct timespec from, to;

    begin();
    n_contexts = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (int i = 0; i < DIALS; i++) {
        open_link(&all[i], "127.0.77.1");
        agent_transport_step(net, now);
        agent_transport_step(net, ++now);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    for (int i = 0; i < DIALS; i++) {
        CHECK_INT(all[i].n_ends, 1);
        CHECK_CONTAINS(all[i].why, "Connection refused");
    }
    CHECK_INT(n_contexts, 0);
    printf("a dial that nobody answers takes %.0f us of CPU\n",
           ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3) /
               DIALS);
    agent_transport_free(net);
}

/* Packets that vanish: a backlog that is full takes no more connections. Of many links some dial,
 * and the others do when these have given up. */
static void test_silence(void)
{
    enum { LINKS = 600 };
    static struct told all[LINKS];
    int fd = listen_at("127.0.77.2", 0), fillers[4], before, n_ends = 0;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        fillers[i] = channel_dial("127.0.77.2", CHANNEL_PORT, &err);
        usleep(1000);
    }
    begin();
    before = count_fds();
    for (int i = 0; i < LINKS; i++)
        open_link(&all[i], "127.0.77.2");
    agent_transport_step(net, now);
    CHECK_INT(count_fds() - before, 256);
    CHECK(agent_transport_next_ms(net, now) > 0); /* no busy loop for those that wait */
    for (int round = 1; round <= 3; round++) {
        now += 251;
        agent_transport_step(net, now);
        agent_transport_step(net, now);
        n_ends = 0;
        for (int i = 0; i < LINKS; i++)
            n_ends += all[i].n_ends;
        CHECK_INT(n_ends, round * 256 < LINKS ? round * 256 : LINKS);
    }
    CHECK_CONTAINS(all[0].why, "no connection within 250 ms");
    agent_transport_free(net);
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++)
        close(fillers[i]);
    close(fd);
}

/* An agent that has the key, and sends raw bytes. */
struct liar {
    int fd;
    SSL *ssl;
    bool ready;
};

static struct channel_tls *tls;

static void make_tls(void)
{
    struct err err;

    CHECK_INT(channel_tls_new(&tls, key, KEY_BYTES, &err), 0);
}

static void liar_meet(struct liar *l, int listener)
{
    *l = (struct liar){.fd = -1};
    for (int i = 0; i < 2000 && !l->ready; i++) {
        agent_transport_step(net, now);
        if (l->fd < 0)
            l->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (l->fd >= 0 && !l->ssl)
            l->ssl = channel_tls_session(tls, l->fd, true);
        l->ready = l->ssl && SSL_do_handshake(l->ssl) == 1;
        usleep(50);
    }
    CHECK(l->ready);
}

static void liar_leave(struct liar *l)
{
    SSL_free(l->ssl);
    close(l->fd);
}

/* Sends what fits now; how many bytes that is. */
static size_t liar_send(struct liar *l, const char *bytes, size_t n)
{
    size_t sent = 0;

    while (sent < n) {
        int part = SSL_write(l->ssl, bytes + sent, (int)(n - sent < 16384 ? n - sent : 16384));

        if (part <= 0)
            break;
        sent += (size_t)part;
    }
    return sent;
}

/* The bytes of a frame: a text of so many, of which it sends only so many. */
static char *frame(size_t text, size_t *n)
{
    size_t len = text + 24;
    char *bytes = xmalloc(len + 64);
    int head = snprintf(bytes + 4, 32, "{\"type\":\"x\",\"text\":\"");

    memset(bytes + 4 + head, 'a', text);
    memcpy(bytes + 4 + head + text, "\"}", 3);
    len = (size_t)head + text + 2;
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(len >> (24 - 8 * i) & 0xff);
    *n = len + 4;
    return bytes;
}

/* Messages as fast as the network takes them. */
static void test_flood(void)
{
    int listener = listen_at("127.0.77.3", 16);
    AUTO(auto_free) char *small = NULL, *many = xmalloc(1 << 20);
    int64_t from, woken = 0;
    struct told t;
    struct liar l;
    size_t n, len = 0;

    small = frame(1, &n);
    while (len + n < 1 << 20) {
        memcpy(many + len, small, n);
        len += n;
    }
    begin();
    open_link(&t, "127.0.77.3");
    liar_meet(&l, listener);
    from = now;
    for (size_t at = 0; now - from < 20000; now += 5) {
        struct pollfd wait = {agent_transport_fd(net), POLLIN, 0};

        at = (at + liar_send(&l, many + at, len - at)) % len;
        woken += poll(&wait, 1, 0) > 0;
        agent_transport_step(net, now);
    }
    /* 4 MiB at once and 512 KiB a second; a message counts for 128 bytes more. */
    CHECK(t.n_messages <= (4 + 10) * 1024 * 1024 / (int)(n + 128) + 10000);
    CHECK(t.n_messages > 10 * 1024 * 1024 / (int)(n + 128));
    CHECK_INT(t.n_ends, 0);
    CHECK(woken < 20000 / 5 / 2); /* while it is paused it wakes nobody */
    liar_leave(&l);
    agent_transport_free(net);
    close(listener);
}

/* Messages that never end, from many agents; and one that does. */
static void test_endless_messages(void)
{
    enum { LIARS = 40, PART = 900000 };
    static struct told all[LIARS], honest;
    static struct liar liars[LIARS], one;
    int listener = listen_at("127.0.77.4", 64), n_ends = 0;
    AUTO(auto_free) char *large = NULL;
    size_t n, at[LIARS] = {0}, sent = 0;

    large = frame(1000000, &n);
    begin();
    for (int i = 0; i < LIARS; i++) {
        open_link(&all[i], "127.0.77.4");
        liar_meet(&liars[i], listener);
    }
    for (int round = 0; round < 200; round++, now += 5) {
        for (int i = 0; i < LIARS; i++)
            at[i] += liar_send(&liars[i], large + at[i], PART - at[i]);
        agent_transport_step(net, now);
        usleep(100);
    }
    for (int i = 0; i < LIARS; i++) {
        n_ends += all[i].n_ends;
        if (all[i].n_ends)
            CHECK_CONTAINS(all[i].why, "others need the memory");
    }
    CHECK(n_ends >= LIARS - (16 << 20) / PART);
    CHECK(n_ends < LIARS);

    open_link(&honest, "127.0.77.4");
    liar_meet(&one, listener);
    for (int round = 0; round < 200; round++, now += 5) {
        sent += liar_send(&one, large + sent, n - sent);
        agent_transport_step(net, now);
        usleep(100);
    }
    CHECK_INT(honest.n_messages, 1);
    CHECK_INT(honest.longest, 1000000);
    CHECK_INT(honest.n_ends, 0);
    for (int i = 0; i < LIARS; i++)
        liar_leave(&liars[i]);
    liar_leave(&one);
    agent_transport_free(net);
    close(listener);
}

/* A length beyond the bound, and bytes that are no JSON. */
static void test_nonsense(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } cases[] = {
        {"\x7f\xff\xff\xff", 4, "at most 1048576 are allowed"},
        {"\0\0\0\4\xff\xfe\x1b[", 8, "not valid JSON"},
        {"\0\0\0\2[]", 6, "no object"},
    };
    int listener = listen_at("127.0.77.5", 16);

    begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct told t;
        struct liar l;

        open_link(&t, "127.0.77.5");
        liar_meet(&l, listener);
        CHECK_INT(liar_send(&l, cases[i].bytes, cases[i].n), cases[i].n);
        for (int round = 0; round < 100 && !t.n_ends; round++) {
            agent_transport_step(net, ++now);
            usleep(100);
        }
        CHECK_INT(t.n_ends, 1);
        CHECK_INT(t.n_messages, 0);
        CHECK_CONTAINS(t.why, cases[i].why);
        liar_leave(&l);
    }
    agent_transport_free(net);
    close(listener);
}

enum { CANARY = 7500 };

static void on_probe(void *arg, bool connected)
{
    struct told *t = arg;

    t->n_probes++;
    t->n_connected += connected;
}

static bool probe(struct told *t)
{
    return agent_transport_ops()->probe(net, t->link, CANARY, on_probe);
}

/* Steps as the loop does; true: an event has woken it. */
static bool until_probed(const struct told *t)
{
    struct pollfd wait = {agent_transport_fd(net), POLLIN, 0};
    bool woken = false;

    for (int i = 0; i < 100 && !t->n_probes; i++) {
        woken |= poll(&wait, 1, 100) > 0;
        agent_transport_step(net, now);
    }
    CHECK_INT(t->n_probes, 1);
    return woken;
}

/* A link whose agent has said all that it has to say. */
static void meet_and_hush(struct told *t, struct liar *l, const char *address, int listener)
{
    begin();
    open_link(t, address);
    liar_meet(l, listener);
    for (int i = 0; i < 20; i++) {
        agent_transport_step(net, now);
        usleep(1000);
    }
}

/* A port that somebody listens on, then one that refuses. */
static void test_probe(void)
{
    int listener = listen_at("127.0.77.6", 16), canary = listen_on("127.0.77.6", CANARY, 16);
    struct told t;
    struct liar l;
    int before;

    meet_and_hush(&t, &l, "127.0.77.6", listener);
    before = count_fds();
    CHECK(probe(&t));
    CHECK(!probe(&t)); /* one is under way */
    CHECK(until_probed(&t));
    CHECK_INT(t.n_connected, 1);
    CHECK_INT(count_fds(), before);
    close(canary);
    t.n_probes = t.n_connected = 0;
    CHECK(probe(&t)); /* and the next */
    CHECK(until_probed(&t));
    CHECK_INT(t.n_connected, 0);
    CHECK_INT(t.n_ends, 0); /* the connection to the agent goes on */
    liar_leave(&l);
    agent_transport_free(net);
    close(listener);
}

/* A port whose packets vanish: 2 s, without a busy loop, or until it refuses. Once the link is
 * closed there is no callback. */
static void test_probe_silence(void)
{
    int listener = listen_at("127.0.77.7", 16), canary = listen_on("127.0.77.7", CANARY, 0);
    int fillers[4], before;
    struct told t;
    struct liar l;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        fillers[i] = channel_dial("127.0.77.7", CANARY, &err);
        usleep(1000);
    }
    meet_and_hush(&t, &l, "127.0.77.7", listener);
    before = count_fds();
    CHECK(probe(&t));
    now += 1999;
    agent_transport_step(net, now);
    CHECK_INT(agent_transport_next_ms(net, now), 1);
    CHECK_INT(t.n_probes, 0);
    agent_transport_step(net, ++now);
    CHECK_INT(t.n_probes, 1);
    CHECK_INT(t.n_connected, 0);
    CHECK_INT(count_fds(), before);

    CHECK(probe(&t));
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++)
        close(fillers[i]);
    close(canary); /* the next packet is answered by a refusal */
    t.n_probes = 0;
    CHECK(until_probed(&t));
    CHECK_INT(t.n_connected, 0);

    CHECK(probe(&t));
    agent_transport_ops()->close(net, t.link);
    now += 2000;
    agent_transport_step(net, now);
    CHECK_INT(t.n_probes, 1);
    liar_leave(&l);
    agent_transport_free(net);
    CHECK_INT(count_fds(), before - 8);
    close(listener);
}

/* So many at once and no more; those that end make room. */
static void test_many_probes(void)
{
    enum { LINKS = 66 };
    static struct told all[LINKS];
    int listener = listen_at("127.0.77.8", 128), n = 0;

    begin();
    for (int i = 0; i < LINKS; i++) {
        open_link(&all[i], "127.0.77.8");
        n += probe(&all[i]);
    }
    CHECK_INT(n, 64);
    agent_transport_ops()->close(net, all[0].link);
    for (int i = 0; i < 100 && !all[1].n_probes; i++) {
        agent_transport_step(net, now);
        usleep(1000);
    }
    CHECK_INT(all[0].n_probes, 0);
    for (int i = 1; i < 64; i++)
        CHECK_INT(all[i].n_probes, 1);
    CHECK(probe(&all[64]) && probe(&all[65]));
    agent_transport_free(net);
    close(listener);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_nobody();
    make_tls();
    test_silence();
    test_flood();
    test_endless_messages();
    test_nonsense();
    test_probe();
    test_probe_silence();
    test_many_probes();
    channel_tls_free(tls);
    return test_result();
}
