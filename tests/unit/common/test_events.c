// LINK: common/events.c common/buf.c common/err.c common/text.c common/json.c common/mem.c
#include "paceline/events.h"

#include "paceline/mem.h"
#include "tests/test.h"

static const char *const wanted[] = {"one", "two", "three, cut", "last"};
static size_t seen;

static void take(void *arg, const char *line, size_t len)
{
    (void)arg;
    CHECK_STR(line, seen < ARRAY_LEN(wanted) ? wanted[seen] : "no more");
    CHECK_INT(len, strlen(line));
    seen++;
}

/* Whatever the pieces in which the bytes come, the lines are the same; empty ones and bytes of 0
 * are skipped. */
static void test_lines(void)
{
    static const char text[] = "one\n\0two\n\nthree,\0 cut\n\0\nlast\0";
    AUTO(auto_free) struct lines *l = xcalloc(1, sizeof *l);
    struct err err;

    for (size_t piece = 1; piece <= sizeof text; piece++) {
        seen = 0;
        for (size_t i = 0; i < sizeof text - 1; i += piece) {
            size_t left = sizeof text - 1 - i;

            CHECK_INT(lines_add(l, text + i, left < piece ? left : piece, take, NULL, &err), 0);
        }
        CHECK_INT(seen, 3);
        lines_end(l, take, NULL);
        CHECK_INT(seen, 4);
    }
}

static void count(void *arg, const char *line, size_t len)
{
    (void)line;
    *(size_t *)arg += len;
}

static void test_line_limit(void)
{
    AUTO(auto_free) struct lines *l = xcalloc(1, sizeof *l);
    AUTO(auto_free) char *long_line = xmalloc(EVENT_LINE_MAX + 1);
    size_t bytes = 0;
    struct err err = {0};

    memset(long_line, 'x', EVENT_LINE_MAX + 1);
    CHECK_INT(lines_add(l, long_line, EVENT_LINE_MAX, count, &bytes, &err), 0);
    CHECK_INT(lines_add(l, "\n", 1, count, &bytes, &err), 0);
    CHECK_INT(bytes, EVENT_LINE_MAX);
    CHECK_INT(lines_add(l, long_line, EVENT_LINE_MAX + 1, count, &bytes, &err), -1);
    CHECK_STR(err.msg, "a line is longer than 65536 bytes");
}

static void test_parse(void)
{
    static const struct {
        const char *line;
        int type; /* -1: no event */
    } cases[] = {
        {"{\"event\":\"start\"}", EVENT_START},
        {"{\"event\":\"firstStep\",\"seconds\":1}", EVENT_FIRST_STEP},
        {"{\"event\":\"progress\"}", EVENT_PROGRESS},
        {"{\"event\":\"epoch\"}", EVENT_EPOCH},
        {"{\"event\":\"checkpoint\"}", EVENT_CHECKPOINT},
        {"{\"event\":\"done\"}", EVENT_DONE},
        {"{\"event\":\"error\"}", EVENT_ERROR},
        {"{\"event\":\"evaluation\"}", EVENT_EVALUATION},
        {"{\"event\":\"prediction\"}", EVENT_PREDICTION},
        {"{\"event\":\"skipped\"}", EVENT_SKIPPED},
        {"{\"event\":\"weather\"}", EVENT_UNKNOWN},
        {"{\"event\":7}", -1},
        {"{\"Event\":\"done\"}", -1},
        {"[\"event\"]", -1},
        {"done", -1},
        {"{\"event\":\"done\"", -1},
        {"", -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum event_type type = EVENT_UNKNOWN;
        AUTO(auto_json) cJSON *event = event_parse(cases[i].line, strlen(cases[i].line), &type);

        CHECK_INT(event ? (int)type : -1, cases[i].type);
    }
}

static void test_fields(void)
{
    static const char line[] =
        "{\"event\":\"epoch\",\"loss\":0.5,\"step\":9007199254740991,\"model\":\"m\","
        "\"validationLoss\":null,\"huge\":1e300}";
    enum event_type type;
    AUTO(auto_json) cJSON *e = event_parse(line, strlen(line), &type);

    CHECK_NEAR(event_number(e, "loss"), 0.5, 0);
    CHECK(isnan(event_number(e, "validationLoss")));
    CHECK(isnan(event_number(e, "absent")));
    CHECK(isnan(event_number(NULL, "loss")));
    CHECK_INT(event_integer(e, "step"), 9007199254740991);
    CHECK_INT(event_integer(e, "huge"), -1);
    CHECK_INT(event_integer(e, "absent"), -1);
    CHECK_STR(event_text(e, "model"), "m");
    CHECK_STR(event_text(e, "loss"), "");
}

int main(void)
{
    test_lines();
    test_line_limit();
    test_parse();
    test_fields();
    return test_result();
}
