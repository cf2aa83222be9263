// LINK: wire/frame.c common/json.c common/buf.c common/err.c common/text.c common/mem.c
#include "wire/frame.h"

#include "paceline/mem.h"
#include "tests/test.h"

struct seen {
    int n;
    struct buf text;
};

static int collect(void *arg, const cJSON *message, struct err *err)
{
    struct seen *s = arg;

    s->n++;
    json_print(message, 0, &s->text);
    if (strcmp(message_type(message), "bad") == 0)
        return err_set(err, ERR_CONFLICT, "refused by the receiver");
    return 0;
}

static void encode(struct buf *out, const char *text)
{
    AUTO(auto_json) cJSON *message = cJSON_Parse(text);
    struct err err;

    CHECK_INT(frame_encode(message, out, &err), 0);
}

/* The bytes in pieces of step; what frames_add returned first. */
static int feed(const char *bytes, size_t n, size_t step, struct seen *s, struct err *err)
{
    AUTO(frames_release) struct frames f;
    int rc = 0;

    frames_init(&f);
    *s = (struct seen){0};
    buf_init(&s->text, 0);
    for (size_t at = 0; at < n && rc == 0; at += step)
        rc = frames_add(&f, bytes + at, step < n - at ? step : n - at, collect, s, err);
    return rc;
}

static void test_pieces(void)
{
    static const char *const messages[] = {"{\"type\":\"ping\"}",
                                           "{\"type\":\"hello\",\"protocol\":1}",
                                           "{\"type\":\"log\",\"text\":\"one\\ntwo\"}"};
    AUTO(buf_release) struct buf bytes, want;
    struct err err;

    buf_init(&bytes, 0);
    buf_init(&want, 0);
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        encode(&bytes, messages[i]);
        buf_puts(&want, messages[i]);
    }
    CHECK_INT(bytes.len, want.len + 4 * ARRAY_LEN(messages));
    CHECK_BYTES(bytes.data, "\0\0\0\x0f{\"type", 10);
    for (size_t step = 1; step <= bytes.len; step++) {
        struct seen s;

        CHECK_INT(feed(bytes.data, bytes.len, step, &s, &err), 0);
        CHECK_INT(s.n, ARRAY_LEN(messages));
        CHECK_STR(s.text.data, want.data);
        buf_release(&s.text);
    }
    for (size_t n = 0; n < bytes.len; n++) { /* a stream that stops anywhere is only not done */
        struct seen s;

        CHECK_INT(feed(bytes.data, n, bytes.len, &s, &err), 0);
        CHECK(s.n < (int)ARRAY_LEN(messages));
        buf_release(&s.text);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } cases[] = {
        {"\0\x10\0\1{", 5, "1048577 bytes"},
        {"\xff\xff\xff\xff", 4, "at most 1048576"},
        {"GET / HTTP/1.1", 14, "at most 1048576"},
        {"\0\0\0\0", 4, "a message"},
        {"\0\0\0\2{}", 6, "\"type\""},
        {"\0\0\0\4null", 8, "\"type\""},
        {"\0\0\0\x0a{\"type\":1}", 14, "\"type\""},
        {"\0\0\0\x0b{\"type\":\"\"}", 15, "\"type\""},
        {"\0\0\0\5{\"typ", 9, "a message"},
        {"\0\0\0\x0e{\"type\":\"bad\"}", 18, "refused by the receiver"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen s;
        struct err err = {0};

        CHECK_INT(feed(cases[i].bytes, cases[i].n, cases[i].n, &s, &err), -1);
        CHECK_CONTAINS(err.msg, cases[i].why);
        buf_release(&s.text);
    }
}

/* A length alone takes no memory; what a frame took is given back after it. */
static void test_memory(void)
{
    AUTO(frames_release) struct frames f;
    AUTO(buf_release) struct buf big;
    struct seen s = {0};
    struct err err;

    buf_init(&s.text, 0);
    buf_init(&big, 0);
    buf_puts(&big, "{\"type\":\"x\",\"text\":\"");
    while (big.len < FRAME_MAX - 2)
        buf_puts(&big, "y");
    buf_puts(&big, "\"}");
    frames_init(&f);
    CHECK_INT(frames_add(&f, "\0\x10\0\0", 4, collect, &s, &err), 0);
    CHECK(f.body.cap < 1024);
    CHECK_INT(frames_add(&f, big.data, big.len, collect, &s, &err), 0);
    CHECK_INT(s.n, 1);
    CHECK(f.body.cap < 1024);
    buf_release(&s.text);
}

static void test_encode(void)
{
    AUTO(buf_release) struct buf out, text;
    AUTO(auto_json) cJSON *message = cJSON_CreateObject();
    struct err err = {0};

    buf_init(&out, 0);
    buf_init(&text, 0);
    buf_puts(&out, "before");
    while (text.len < FRAME_MAX)
        buf_puts(&text, "y");
    cJSON_AddStringToObject(message, "type", "log");
    cJSON_AddStringToObject(message, "text", text.data);
    CHECK_INT(frame_encode(message, &out, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_CONTAINS(err.msg, "\"log\"");
    CHECK_STR(out.data, "before");
}

static void test_fields(void)
{
    AUTO(auto_json)
    cJSON *m = cJSON_Parse("{\"type\":\"t\",\"i\":7,\"f\":1.5,\"big\":1e300,\"s\":\"x\"}");

    CHECK_STR(message_type(m), "t");
    CHECK_STR(message_text(m, "i"), "");
    CHECK_STR(message_text(m, "none"), "");
    CHECK_INT(message_integer(m, "i"), 7);
    CHECK_INT(message_integer(m, "f"), -1);
    CHECK_INT(message_integer(m, "big"), -1);
    CHECK_INT(message_integer(m, "s"), -1);
}

static int keep_none(void *arg, const cJSON *message, struct err *err)
{
    (void)message, (void)err;
    ++*(int *)arg;
    return 0;
}

/* A small message of very many values would be a large tree. */
static void test_values(void)
{
    for (int extra = 0; extra < 2; extra++) {
        AUTO(buf_release) struct buf text;
        unsigned char head[FRAME_HEAD];
        struct frames f;
        struct err err = {.msg = ""};
        int n = 0, rc;

        buf_init(&text, 0);
        buf_puts(&text, "{\"type\":\"x\",\"s\":\",,[[\\\",,,\",\"a\":[0"); /* five so far */
        for (int i = 5; i < (1 << 16) + extra; i++)
            buf_puts(&text, ",0");
        buf_puts(&text, "]}");
        for (int i = 0; i < FRAME_HEAD; i++)
            head[i] = (unsigned char)(text.len >> (24 - 8 * i));
        frames_init(&f);
        rc = frames_add(&f, head, sizeof head, keep_none, &n, &err);
        if (rc == 0)
            rc = frames_add(&f, text.data, text.len, keep_none, &n, &err);
        CHECK_INT(rc, extra ? -1 : 0);
        CHECK_INT(n, !extra);
        if (extra)
            CHECK_CONTAINS(err.msg, "a message of 65537 values; at most 65536 are allowed");
        CHECK_INT(f.n_messages, !extra);
        frames_release(&f);
    }
}

int main(void)
{
    test_pieces();
    test_refused();
    test_memory();
    test_encode();
    test_fields();
    test_values();
    return test_result();
}
