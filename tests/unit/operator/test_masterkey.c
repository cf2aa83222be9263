// LINK: operator/masterkey.c operator/core/backoff.c common
// LIBS: -lcrypto
/* The key's state machine on a scripted API server. */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "operator/masterkey.h"
#include "paceline/json.h"
#include "paceline/log.h"
#include "paceline/mem.h"
#include "tests/test.h"

#define KEY_TEXT "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=" /* 0, 1, 2, ... 31 */

/* One request at a time: what was asked, and how to answer. */
static struct key_server {
    enum kube_method method;
    char path[256], body[512];
    kube_done_fn *done;
    void *arg;
    int requests, cancelled;
} server;

static struct kube_call *on_send(void *kube, const struct kube_request *r, kube_done_fn *done,
                                 void *arg)
{
    struct key_server *s = kube;

    CHECK(!s->done); /* never two */
    s->method = r->method;
    snprintf(s->path, sizeof s->path, "%s", r->path);
    snprintf(s->body, sizeof s->body, "%.*s", (int)r->body_len, r->body ? r->body : "");
    CHECK_INT(r->timeout_ms, 10000);
    s->done = done;
    s->arg = arg;
    s->requests++;
    return (struct kube_call *)s;
}

static void on_cancel(void *kube, struct kube_call *call)
{
    struct key_server *s = kube;

    (void)call;
    s->done = NULL;
    s->cancelled++;
}

static const struct kube_ops ops = {.send = on_send, .cancel = on_cancel};

static void answer(int status, const char *body)
{
    kube_done_fn *done = server.done;
    struct kube_response r = {.status = status,
                              .body = status ? body : NULL,
                              .len = status ? strlen(body) : 0,
                              .retry_after_ms = -1,
                              .error = status ? NULL : body};

    CHECK(done != NULL);
    server.done = NULL;
    if (done)
        done(server.arg, &r);
}

static struct masterkey *begin(void)
{
    struct masterkey *k = masterkey_new(&ops, &server, "ns", 10000);

    server = (struct key_server){0};
    CHECK_INT(masterkey_next_ms(k, 0), 0);
    masterkey_step(k, 0);
    CHECK_INT(server.method, KUBE_GET);
    CHECK_STR(server.path, "/api/v1/namespaces/ns/secrets/paceline-operator-key");
    CHECK_INT(masterkey_next_ms(k, 0), -1);
    masterkey_step(k, 0);
    CHECK_INT(server.requests, 1);
    CHECK(masterkey_bytes(k) == NULL);
    return k;
}

static void test_present(void)
{
    struct masterkey *k = begin();
    const unsigned char *key;

    answer(200, "{\"data\":{\"key\":\"" KEY_TEXT "\"}}");
    key = masterkey_bytes(k);
    CHECK(key != NULL);
    for (int i = 0; key && i < MASTERKEY_BYTES; i++)
        CHECK_INT(key[i], i);
    CHECK_INT(masterkey_next_ms(k, 0), -1);
    masterkey_step(k, 100000);
    CHECK_INT(server.requests, 1);
    masterkey_free(k);
}

/* The key that we hold is the one that was sent. */
static void test_absent(void)
{
    struct masterkey *k = begin(), *other = begin();
    AUTO(auto_json) cJSON *body = NULL;
    unsigned char first[MASTERKEY_BYTES];
    char sent[512];
    struct err err;

    answer(404, "");
    masterkey_step(other, 0);
    CHECK_INT(server.method, KUBE_POST);
    CHECK_STR(server.path, "/api/v1/namespaces/ns/secrets");
    CHECK_INT(json_parse(&body, server.body, strlen(server.body), "body", &err), 0);
    snprintf(sent, sizeof sent, "%s", server.body);
    answer(201, "{}");
    CHECK(masterkey_bytes(other) != NULL);
    if (masterkey_bytes(other))
        memcpy(first, masterkey_bytes(other), sizeof first);
    /* Another process reads what was sent. */
    masterkey_free(k);
    k = begin();
    answer(200, sent);
    CHECK(masterkey_bytes(k) != NULL);
    if (masterkey_bytes(k))
        CHECK_BYTES(masterkey_bytes(k), first, sizeof first);
    masterkey_free(k);
    masterkey_free(other);
    /* And a new one is another one. */
    k = begin();
    answer(404, "");
    masterkey_step(k, 0);
    answer(201, "{}");
    CHECK(masterkey_bytes(k) && memcmp(masterkey_bytes(k), first, sizeof first) != 0);
    masterkey_free(k);
}

/* Two operators start at once: the second takes the first one's key, not its own. */
static void test_race(void)
{
    struct masterkey *k = begin();

    answer(404, "");
    masterkey_step(k, 0);
    answer(409, "{}");
    CHECK(masterkey_bytes(k) == NULL);
    CHECK_INT(masterkey_next_ms(k, 0), 0);
    masterkey_step(k, 0);
    CHECK_INT(server.method, KUBE_GET);
    answer(200, "{\"data\":{\"key\":\"" KEY_TEXT "\"}}");
    CHECK(masterkey_bytes(k) && masterkey_bytes(k)[31] == 31);
    masterkey_free(k);
}

/* After any failure it reads again, later; a create that arrived is then found. */
static void test_failures(void)
{
    static const int statuses[] = {0, 401, 403, 429, 500, 503};
    struct masterkey *k = begin();
    int64_t now = 0, longest = 0;

    for (int i = 0; i < 20; i++) {
        int64_t wait;

        answer(statuses[i % 6], "text");
        masterkey_step(k, now);
        wait = masterkey_next_ms(k, now);
        CHECK(wait > 0 && wait <= 15000);
        longest = wait > longest ? wait : longest;
        masterkey_step(k, now + wait - 1);
        CHECK_INT(server.requests, i + 1);
        now += wait;
        masterkey_step(k, now);
        CHECK_INT(server.requests, i + 2);
        CHECK_INT(server.method, KUBE_GET);
    }
    CHECK(longest > 5000);
    answer(404, "");
    masterkey_step(k, now);
    CHECK_INT(server.method, KUBE_POST);
    answer(0, "cut");
    CHECK(masterkey_bytes(k) == NULL);
    masterkey_step(k, now);
    masterkey_step(k, now + 15000);
    CHECK_INT(server.method, KUBE_GET);
    masterkey_free(k);
    CHECK_INT(server.cancelled, 1);
    masterkey_free(NULL);
}

/* A damaged Secret is never replaced. */
static void test_damaged(void)
{
    static const char *const bodies[] = {
        "",
        "{",
        "{}",
        "{\"data\":null}",
        "{\"data\":{\"key\":7}}",
        "{\"data\":{\"key\":\"\"}}",
        "{\"data\":{\"key\":\"AAEC\"}}",
        "{\"data\":{\"key\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISI=\"}}",
        "{\"data\":{\"key\":\"" KEY_TEXT "AAAA\"}}",
        "{\"data\":{\"key\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==\"}}", /* 31 bytes */
        "{\"data\":{\"key\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g\"}}", /* 33 */
        "{\"data\":{\"key\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdH!8=\"}}",
        "{\"data\":{\"key\":\" AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg=\"}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct masterkey *k = begin();

        answer(200, bodies[i]);
        CHECK(masterkey_bytes(k) == NULL);
        masterkey_step(k, 0);
        CHECK(masterkey_next_ms(k, 0) > 0);
        masterkey_step(k, 20000);
        CHECK_INT(server.method, KUBE_GET);
        masterkey_free(k);
    }
}

static void test_file(void)
{
    char path[] = "/tmp/test_masterkey_XXXXXX";
    AUTO(auto_close) int fd = mkstemp(path);
    unsigned char key[MASTERKEY_BYTES] = {0}, bytes[40];
    struct err err;

    for (int i = 0; i < 40; i++)
        bytes[i] = (unsigned char)(i * 7); /* with a NUL and a newline's neighbours */
    CHECK_INT(masterkey_read_file(key, path, &err), -1);
    CHECK_CONTAINS(err.msg, "fewer than 32");
    CHECK_INT(write(fd, bytes, 31), 31);
    CHECK_INT(masterkey_read_file(key, path, &err), -1);
    CHECK_INT(key[1], 0); /* untouched */
    CHECK_INT(write(fd, bytes + 31, 1), 1);
    CHECK_INT(masterkey_read_file(key, path, &err), 0);
    CHECK_BYTES(key, bytes, MASTERKEY_BYTES);
    CHECK_INT(write(fd, "\n", 1), 1);
    CHECK_INT(masterkey_read_file(key, path, &err), -1);
    CHECK_CONTAINS(err.msg, "more than 32");
    unlink(path);
    CHECK_INT(masterkey_read_file(key, path, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_CONTAINS(err.msg, path);
    CHECK_INT(masterkey_read_file(key, "/", &err), -1);
}

int main(void)
{
    log_init(LOG_ERROR + 1, "");
    test_present();
    test_absent();
    test_race();
    test_failures();
    test_damaged();
    test_file();
    return test_result();
}
