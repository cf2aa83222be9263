// LINK: operator/web common
// LIBS: -lwebsockets
/* The web thread with real sockets on loopback. Meant for ThreadSanitizer too. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "operator/web/page.h"
#include "operator/web/web.h"
#include "paceline/mem.h"
#include "tests/test.h"

static int64_t mono_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct web *start(void)
{
    struct listener_address address;
    struct err err = {0};
    struct web *w = NULL;

    if (listener_parse(&address, "127.0.0.1:0", &err) == 0)
        w = web_start(&address, "1.2.3", 1700000000500, &err);
    CHECK(w != NULL);
    if (!w) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    return w;
}

static int dial(const struct web *w)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)web_port(w))};
    struct timeval patience = {.tv_sec = 60};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&in, sizeof in) != 0)
        TEST_FAIL("connect: %s", strerror(errno));
    return fd;
}

static void say(int fd, const char *text) { (void)!send(fd, text, strlen(text), MSG_NOSIGNAL); }

/* Reads to the end; -1 when it never came. */
static int hear(int fd, struct buf *out)
{
    char bytes[4096];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        buf_add(out, bytes, (size_t)n);
    if (n < 0 && errno != ECONNRESET)
        return -1;
    return 0;
}

/* One request, its whole answer; the answer ends with the connection. */
static void ask(const struct web *w, const char *request, struct buf *out)
{
    AUTO(auto_close) int fd = dial(w);

    buf_init(out, 0);
    say(fd, request);
    CHECK_INT(hear(fd, out), 0);
}

static void get(const struct web *w, const char *path, struct buf *out)
{
    char request[256];

    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    ask(w, request, out);
}

static void check_status(const struct buf *answer, int status)
{
    int got = 0;

    if (sscanf(answer->data, "HTTP/1.%*d %d", &got) != 1 || got != status)
        TEST_FAIL("status %d, want %d: \"%s\"", got, status, answer->data);
    test_checked++;
}

static struct snapshot sound(void)
{
    return (struct snapshot){
        .leader = true, .synced = true, .healthy = true, .made_mono_ms = mono_ms(), .pods = 7};
}

static void test_paths(void)
{
    struct web *w = start();
    struct snapshot s = sound();
    static const struct {
        const char *path;
        int status;
        const char *part;
    } cases[] = {
        {"/metrics", 200, "\npaceline_pods 7\n"},
        {"/metrics?name=x", 200, "\npaceline_pods 7\n"},
        {"/healthz", 200, "\r\n\r\nok\n"},
        {"/readyz", 200, "\r\n\r\nok\n"},
        {"/", 404, "/metrics"},
        {"/metrics/", 404, ""},
        {"/metricsx", 404, ""},
        {"/../etc/passwd", 404, ""},
        {"/%2e%2e/%2e%2e/etc/passwd", 404, ""},
        {"/favicon.ico", 404, ""},
    };

    web_publish(w, &s);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_release) struct buf answer;

        get(w, cases[i].path, &answer);
        check_status(&answer, cases[i].status);
        CHECK_CONTAINS(answer.data, cases[i].part);
        CHECK_CONTAINS(answer.data, "cache-control: no-store\r\n");
        CHECK_CONTAINS(answer.data, "x-content-type-options: nosniff\r\n");
        CHECK_CONTAINS(answer.data, "connection: close\r\n");
        CHECK_CONTAINS(answer.data, "server: paceline\r\n");
    }
    web_stop(w);
}

/* Content-Length is what came, and the type is the format's. */
static void test_metrics_answer(void)
{
    struct web *w = start();
    struct snapshot s = sound();
    AUTO(buf_release) struct buf answer;
    const char *length, *body;

    web_publish(w, &s);
    get(w, "/metrics", &answer);
    CHECK_CONTAINS(answer.data, "content-type: text/plain; version=0.0.4; charset=utf-8\r\n");
    CHECK_CONTAINS(answer.data, "\npaceline_build_info{version=\"1.2.3\"} 1\n");
    CHECK_CONTAINS(answer.data, "\nprocess_start_time_seconds 1700000000.5\n");
    CHECK(strstr(answer.data, "\nprocess_resident_memory_bytes 0\n") == NULL);
    length = strcasestr(answer.data, "content-length: ");
    body = strstr(answer.data, "\r\n\r\n");
    CHECK(length && body);
    if (length && body)
        CHECK_INT(strtol(length + 16, NULL, 10), strlen(body + 4));
    web_stop(w);
}

static void test_methods(void)
{
    struct web *w = start();
    struct snapshot s = sound();
    static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"};

    web_publish(w, &s);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        AUTO(buf_release) struct buf answer;
        char request[256];

        snprintf(request, sizeof request, "%s /healthz HTTP/1.1\r\nHost: x\r\n%s\r\n", methods[i],
                 i < 4 ? "Content-Length: 3\r\n" : "");
        ask(w, request, &answer);
        check_status(&answer, 405);
        CHECK_CONTAINS(answer.data, "allow: GET\r\n");
        if (strcmp(methods[i], "HEAD") == 0) /* the length that a GET would have, and no bytes */
            CHECK_STR(strstr(answer.data, "\r\n\r\n"), "\r\n\r\n");
    }
    web_stop(w);
}

/* Nothing but HTTP/1 requests: no WebSocket, no HTTP/2, no garbage, nothing long. */
static void test_refused(void)
{
    struct web *w = start();
    struct snapshot s = sound();
    static const char *const requests[] = {
        "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Protocol: http\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "FOO /metrics HTTP/1.1\r\n\r\n",
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "\r\n\r\n\r\n\r\n\r\n",
    };
    AUTO(buf_release) struct buf answer = {0}, longest;
    int fds[ARRAY_LEN(requests)];

    web_publish(w, &s);
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) { /* together: some wait for their end */
        fds[i] = dial(w);
        say(fds[i], requests[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        AUTO(buf_release) struct buf refusal;

        buf_init(&refusal, 0);
        CHECK_INT(hear(fds[i], &refusal), 0);
        close(fds[i]);
        if (strstr(refusal.data, " 101 ") || strstr(refusal.data, "paceline_pods"))
            TEST_FAIL("request %zu was served: %s", i, refusal.data);
    }
    buf_init(&longest, 0);
    buf_puts(&longest, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: ");
    for (int i = 0; i < 100000; i++)
        buf_puts(&longest, "y");
    buf_puts(&longest, "\r\n\r\n");
    ask(w, longest.data, &answer);
    CHECK(strstr(answer.data, "paceline_pods") == NULL);
    buf_release(&answer);
    get(w, "/healthz", &answer); /* it still serves */
    check_status(&answer, 200);
    web_stop(w);
}

/* Bytes that come one by one and requests in one packet are the same requests. */
static void test_pieces(void)
{
    struct web *w = start();
    struct snapshot s = sound();
    const char *request = "GET /readyz HTTP/1.0\r\n\r\n";
    AUTO(buf_release) struct buf answer, two;
    AUTO(auto_close) int fd = dial(w);

    web_publish(w, &s);
    for (const char *c = request; *c; c++) {
        char one[2] = {*c};

        say(fd, one);
        usleep(1000);
    }
    buf_init(&answer, 0);
    CHECK_INT(hear(fd, &answer), 0);
    check_status(&answer, 200);
    /* The second is not answered: one request per connection. */
    ask(w, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", &two);
    check_status(&two, 200);
    CHECK(strstr(two.data, "paceline_pods") == NULL);
    web_stop(w);
}

/* Those who hold connections lose them: the silent, the slow, and who does not read. */
static void test_slow_clients(void)
{
    struct web *w = start();
    struct snapshot s = sound();
    AUTO(buf_release) struct buf rest, answer;
    int silent, half, drip, open = 1;

    web_publish(w, &s);
    silent = dial(w);
    half = dial(w);
    drip = dial(w);
    say(half, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: ");
    say(drip, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: ");
    while (open) { /* the script's time-out ends what the server does not */
        char byte;

        say(drip, "y");
        usleep(50000);
        if (recv(drip, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
            open = 0;
    }
    buf_init(&rest, 0);
    CHECK_INT(hear(silent, &rest), 0);
    CHECK_INT(hear(half, &rest), 0);
    CHECK(rest.len == 0 || strstr(rest.data, "paceline_pods") == NULL);
    get(w, "/healthz", &answer);
    check_status(&answer, 200);
    close(silent);
    close(half);
    close(drip);
    web_stop(w);
}

/* A thousand who only connect do not keep one request out, long before their time is up. */
static void test_flood(void)
{
    enum { FLOOD = 400 };
    struct web *w = start();
    struct snapshot s = sound();
    int fds[FLOOD];
    int closed = 0;
    AUTO(buf_release) struct buf answer;
    int64_t before = mono_ms();

    web_publish(w, &s);
    for (int i = 0; i < FLOOD; i++)
        fds[i] = dial(w);
    get(w, "/healthz", &answer);
    check_status(&answer, 200);
    for (int i = 0; i < FLOOD; i++) {
        char byte;

        closed += recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0 || errno != EAGAIN;
    }
    if (mono_ms() - before < WEB_DEADLINE_MS) /* else the deadline closed them */
        CHECK(closed >= FLOOD - WEB_CONNECTIONS && closed < FLOOD);
    for (int i = 0; i < FLOOD; i++)
        close(fds[i]);
    web_stop(w);
}

static void test_stop_with_connections(void)
{
    struct web *w = start();
    int fd = dial(w);

    say(fd, "GET /metr");
    web_stop(w);
    close(fd);
    w = start();
    usleep(100000); /* asleep by now, with nothing that would end its sleep */
    web_stop(w);
    web_stop(NULL);
}

static void test_start_fails(void)
{
    struct web *w = start();
    struct listener_address address;
    struct err err = {0};
    char text[64];

    snprintf(text, sizeof text, "127.0.0.1:%d", web_port(w));
    CHECK_INT(listener_parse(&address, text, &err), 0);
    CHECK(web_start(&address, "1", 0, &err) == NULL);
    CHECK_CONTAINS(err.msg, "in use");
    web_stop(w);
}

struct web_client {
    const struct web *w;
    atomic_bool *stop;
    int served;
};

static void *client(void *arg)
{
    struct web_client *c = arg;
    const char *const paths[] = {"/metrics", "/healthz", "/readyz"};

    for (int i = 0; !atomic_load(c->stop); i++) {
        AUTO(buf_release) struct buf answer;

        get(c->w, paths[i % 3], &answer);
        check_status(&answer, 200);
        if (i % 3 == 0) { /* one snapshot, never two mixed */
            const char *pods = strstr(answer.data, "\npaceline_pods ");
            const char *depth = strstr(answer.data, "\npaceline_workqueue_depth ");

            CHECK(pods && depth);
            if (pods && depth)
                CHECK_INT(strtoll(pods + 15, NULL, 10), strtoll(depth + 26, NULL, 10));
        }
        c->served++;
    }
    return NULL;
}

static void test_threads(void)
{
    struct web *w = start();
    struct web_client clients[3];
    pthread_t threads[ARRAY_LEN(clients)];
    atomic_bool stop = false;
    struct snapshot s = sound();
    int64_t end = mono_ms() + 1000;

    web_publish(w, &s);
    s.queue_depth = 7;
    web_publish(w, &s);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        clients[i] = (struct web_client){w, &stop, 0};
        pthread_create(&threads[i], NULL, client, &clients[i]);
    }
    for (uint64_t i = 0; mono_ms() < end; i++) {
        s.made_mono_ms = mono_ms();
        s.pods = s.queue_depth = i;
        web_publish(w, &s);
        if (i % 64 == 0)
            usleep(1);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        pthread_join(threads[i], NULL);
        CHECK(clients[i].served > 0);
    }
    web_stop(w);
}

static void check_page(const char *path, const struct snapshot *s, int64_t now, int status,
                       const char *part)
{
    struct metrics_process process = {.version = "1"};
    AUTO(buf_release) struct buf body;

    buf_init(&body, 0);
    CHECK_INT(page_make(path, true, s, now, &process, &body).status, status);
    CHECK_CONTAINS(body.data, part);
}

static void test_health(void)
{
    struct snapshot s = {.healthy = true, .made_mono_ms = 100000};

    check_page("/healthz", NULL, 0, 503, "not started");
    check_page("/readyz", NULL, 0, 503, "listed");
    check_page("/metrics", NULL, 0, 200, "process_start_time_seconds");
    check_page("/healthz", &s, 100000, 200, "ok");
    check_page("/healthz", &s, 100000 + PAGE_HEALTHY_MS, 200, "ok");
    check_page("/healthz", &s, 100001 + PAGE_HEALTHY_MS, 503, "for 30 s");
    check_page("/healthz", &s, 147000, 503, "for 47 s");
    check_page("/readyz", &s, 100000, 503, "listed");
    s.synced = true;
    check_page("/readyz", &s, 100000, 200, "ok"); /* leadership apart */
    s.healthy = false;
    check_page("/healthz", &s, 100000, 503, "not turned");
}

static void test_addresses(void)
{
    static const char *const good[] = {"127.0.0.1:8080", "[::1]:8080", "[::]:0", ":80",
                                       "0.0.0.0:65535"};
    static const char *const bad[] = {
        "",        "8080",        "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:80x",
        ":",       "localhost:1", "::1:80",    "[::1]",      "[127.0.0.1]:80",  "[]:80",
        "[::1:80", "1.2.3:80",    ":-1",       ": 80",       "127.0.0.1:000080"};
    struct listener_address address;
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK_INT(listener_parse(&address, good[i], &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (listener_parse(&address, bad[i], &err) == 0)
            TEST_FAIL("\"%s\" was taken", bad[i]);
        CHECK_CONTAINS(err.msg, bad[i]);
    }
}

/* Every address takes IPv4 too, on one socket. */
static void test_any_address(void)
{
    struct listener_address address;
    struct err err = {0};
    struct snapshot s = sound();
    AUTO(buf_release) struct buf answer;
    struct web *w;

    CHECK_INT(listener_parse(&address, ":0", &err), 0);
    w = web_start(&address, "1", 0, &err);
    CHECK(w != NULL);
    if (!w)
        return;
    web_publish(w, &s);
    get(w, "/readyz", &answer);
    check_status(&answer, 200);
    web_stop(w);
}

int main(void)
{
    test_addresses();
    test_health();
    test_paths();
    test_metrics_answer();
    test_methods();
    test_refused();
    test_pieces();
    test_any_address();
    test_flood();
    test_stop_with_connections();
    test_start_fails();
    test_threads();
    test_slow_clients();
    return test_result();
}
