// LINK: operator/kube/lines.c common/buf.c common/mem.c common/err.c
/* Lines: wherever the stream is cut, the same lines, each byte copied once. */
#include "operator/kube/lines.h"

#include "paceline/mem.h"
#include "tests/test.h"

struct seen {
    struct buf text; /* each line with a bar behind it */
    int n, stop_at;
};

static bool on_line(void *arg, const char *line, size_t len)
{
    struct seen *seen = arg;

    CHECK_INT(line[len], 0);
    buf_add(&seen->text, line, len);
    buf_puts(&seen->text, "|");
    return ++seen->n != seen->stop_at;
}

static void release(struct seen *seen) { buf_release(&seen->text); }

/* Each cut into three parts, empty ones too; bytes of UTF-8 and NUL are like all others. */
static void test_every_cut(void)
{
    static const char stream[] = "{\"a\":\"ü漢\"}\n\n\nb\0c\r\n{}\nrest";
    static const char want[] = "{\"a\":\"ü漢\"}|b\0c\r|{}|";
    const size_t n = sizeof stream - 1;

    for (size_t i = 0; i <= n; i++)
        for (size_t j = i; j <= n; j++) {
            AUTO(lines_release) struct lines l;
            AUTO(release) struct seen seen = {0};

            lines_init(&l, 100);
            buf_init(&seen.text, 0);
            CHECK_INT(lines_feed(&l, stream, i, on_line, &seen), LINES_OK);
            CHECK_INT(lines_feed(&l, stream + i, j - i, on_line, &seen), LINES_OK);
            CHECK_INT(lines_feed(&l, stream + j, n - j, on_line, &seen), LINES_OK);
            CHECK_INT(seen.text.len, sizeof want - 1);
            CHECK_BYTES(seen.text.data, want, sizeof want - 1);
            CHECK_STR(l.line.data, "rest");
        }
}

/* Ten bytes are allowed; text is fed in two parts. */
static enum lines_result feed_two(const char *text, size_t cut, struct seen *seen)
{
    AUTO(lines_release) struct lines l;
    enum lines_result result;

    lines_init(&l, 10);
    result = lines_feed(&l, text, cut, on_line, seen);
    return result == LINES_OK ? lines_feed(&l, text + cut, strlen(text) - cut, on_line, seen)
                              : result;
}

static void test_longest(void)
{
    for (size_t cut = 0; cut <= 11; cut++) {
        AUTO(release) struct seen seen = {0};

        buf_init(&seen.text, 0);
        CHECK_INT(feed_two("0123456789\n", cut, &seen), LINES_OK);
        CHECK_INT(seen.n, 1);
        CHECK_INT(feed_two("0123456789a\n", cut, &seen), LINES_TOO_LONG);
        CHECK_INT(seen.n, 1);
    }
}

static void test_stop(void)
{
    AUTO(lines_release) struct lines l;
    AUTO(release) struct seen seen = {.stop_at = 2};

    buf_init(&seen.text, 0);
    lines_init(&l, 10);
    CHECK_INT(lines_feed(&l, "a\nb\nc\n", 6, on_line, &seen), LINES_STOPPED);
    CHECK_STR(seen.text.data, "a|b|");
}

/* A megabyte in one line, byte by byte and at once; then the memory is given back. */
static void test_linear(void)
{
    enum { N = 1 << 20 };
    AUTO(auto_free) char *bytes = xcalloc(1, N + 1);

    memset(bytes, 'x', N);
    bytes[N] = '\n';
    for (size_t step = 1; step <= N + 1; step *= 4093) {
        AUTO(lines_release) struct lines l;
        AUTO(release) struct seen seen = {0};

        buf_init(&seen.text, 0);
        lines_init(&l, 2 * N);
        for (size_t at = 0; at <= N; at += step)
            CHECK(lines_feed(&l, bytes + at, step < N + 1 - at ? step : N + 1 - at, on_line,
                             &seen) == LINES_OK);
        CHECK_INT(seen.n, 1);
        CHECK_INT(seen.text.len, N + 1);
        CHECK_INT(l.copied, N);
        CHECK(l.line.cap < 70000);
    }
}

int main(void)
{
    test_every_cut();
    test_longest();
    test_stop();
    test_linear();
    return test_result();
}
