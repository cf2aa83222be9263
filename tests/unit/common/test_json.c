// LINK: common/json.c common/buf.c common/err.c common/text.c common/mem.c
/* JSON: what is refused, and printing that reads back exactly. */
#include "paceline/json.h"

#include "paceline/mem.h"
#include "tests/test.h"

static void test_refused(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "not valid JSON"},
        {"{\"a\": 1,\n\"b\": }", "t:2: not valid JSON"},
        {"{\"a\": 1}\n x", "t:2: text after"},
        {"{\"a\": 1, \"b\": {\"c\": 1, \"d\": 2, \"c\": 3}}", "\"c\" stands twice"},
        {"[1e999]", "range of a double"},
        {"\"a\\u0000b\"", "NUL"},
    };
    struct err err = {0};
    char deep[2 * JSON_MAX_DEPTH + 3];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cJSON *out = NULL;

        err.msg[0] = '\0';
        CHECK_INT(json_parse(&out, cases[i].text, strlen(cases[i].text), "t", &err), -1);
        CHECK(out == NULL);
        CHECK_CONTAINS(err.msg, cases[i].message);
    }
    for (int depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
        AUTO(auto_json) cJSON *out = NULL;

        memset(deep, '[', (size_t)depth);
        memset(deep + depth, ']', (size_t)depth);
        CHECK_INT(json_parse(&out, deep, 2 * (size_t)depth, "t", &err),
                  depth > JSON_MAX_DEPTH ? -1 : 0);
    }
}

/* Text that another program has accepted loses no more than it must. */
static void test_lenient(void)
{
    static const struct {
        const char *text, *kept;
    } cases[] = {
        {"{\"b\":1,\"a\":2,\"b\":{\"c\":3},\"b\":[4]}", "{\"a\":2,\"b\":[4]}"},
        {"[{\"a\":1,\"a\":2},{\"a\":{\"b\":1,\"b\":null}}]", "[{\"a\":2},{\"a\":{\"b\":null}}]"},
        {"[1e999,-1e999,1e308]", "[null,null,1e+308]"},
        {"{}", "{}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_json) cJSON *value = NULL;
        AUTO(buf_release) struct buf text;
        struct err err;

        buf_init(&text, 0);
        CHECK_INT(json_parse_lenient(&value, cases[i].text, strlen(cases[i].text), "t", &err), 0);
        json_print(value, 0, &text);
        CHECK_STR(text.data, cases[i].kept);
        CHECK(cJSON_IsObject(value) || cJSON_IsObject(value->child) || cJSON_IsNull(value->child));
    }
}

static void test_round_trip(void)
{
    static const char text[] = "{\"a\":[1,-0.1,3.14e-300,4194304,9007199254740991,"
                               "0.30000000000000004],\"b\":{},\"c\":[],\"d\":null,\"e\":[true,"
                               "false],\"f\":\"q\\\" b\\\\ n\\n t\\t \\u0001 \303\251 \\\\u0000\"}";
    AUTO(auto_json) cJSON *value = NULL;
    AUTO(buf_release) struct buf flat, indented;
    struct err err = {0};

    buf_init(&flat, 0);
    buf_init(&indented, 0);
    CHECK_INT(json_parse(&value, text, sizeof text - 1, "t", &err), 0);
    CHECK_STR(err.msg, "");
    json_print(value, 0, &flat);
    CHECK_STR(flat.data, text);

    AUTO(auto_json) cJSON *small = NULL;

    CHECK_INT(json_parse(&small, "{\"a\":[1,{}],\"b\":2}", 18, "t", &err), 0);
    json_print(small, 2, &indented);
    CHECK_STR(indented.data, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": 2\n}");
}

/* Characters that a terminal obeys are printed as ASCII, and are read back as they were. */
static void test_controls(void)
{
    static const char text[] = "\x1b[2J \302\233\302\200\302\237 \302\240 \303\202 \x7f \302";
    AUTO(auto_json) cJSON *value = NULL;
    AUTO(buf_release) struct buf b;
    struct err err;

    buf_init(&b, 0);
    json_print_string(text, &b);
    CHECK_STR(b.data, "\"\\u001b[2J \\u009b\\u0080\\u009f \302\240 \303\202 \\u007f \302\"");
    CHECK_INT(json_parse(&value, b.data, b.len, "t", &err), 0);
    CHECK_STR(cJSON_GetStringValue(value), text);
    b.len = 0;
    json_print(NULL, 0, &b);
    CHECK_STR(b.data, "null");
}

static void test_numbers(void)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0.1, "0.1"}, {1.0 / 3, "0.3333333333333333"}, {1e-7, "1e-07"}, {128, "128"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_release) struct buf b;

        buf_init(&b, 0);
        json_print_number(cases[i].number, &b);
        CHECK_STR(b.data, cases[i].text);
        CHECK(strtod(b.data, NULL) == cases[i].number);
    }
}

int main(void)
{
    test_refused();
    test_lenient();
    test_round_trip();
    test_controls();
    test_numbers();
    return test_result();
}
