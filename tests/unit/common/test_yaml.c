// LINK: common/yaml.c common/json.c common/buf.c common/err.c common/text.c common/mem.c
// TIMEOUT: 60
/* YAML: which scalars are what, lines, limits, and what is refused. */
#include "paceline/yaml.h"

#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/test.h"

static void test_scalars(void)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"true", "true"},
        {"False", "false"},
        {"'true'", "\"true\""},
        {"\"1\"", "\"1\""},
        {"yes", "\"yes\""},
        {"on", "\"on\""},
        {"~", "null"},
        {"a:", "{\"a\":null}"},
        {"12", "12"},
        {"-0.5e1", "-5"},
        {"+.5", "0.5"},
        {"1.", "1"},
        {"1e3", "1000"},
        {".", "\".\""},
        {"-", "[null]"},
        {"1e", "\"1e\""},
        {"1_000", "\"1_000\""},
        {"0x1f", "31"},
        {"0o17", "15"},
        {"0x", "\"0x\""},
        {"017", "17"},
        {"1.2.3", "\"1.2.3\""},
        {"2024-01-01", "\"2024-01-01\""},
        {"4Mi", "\"4Mi\""},
        {"[.inf, -.INF, .nan, 1e999]", "[\".inf\",\"-.INF\",\".nan\",\"1e999\"]"},
        {"|\n  1\n", "\"1\\n\""},
        {"{a: [1, {b: c}]}", "{\"a\":[1,{\"b\":\"c\"}]}"},
        {"x: &v {k: 1}\ny: *v", "{\"x\":{\"k\":1},\"y\":{\"k\":1}}"},
        {"{\n\t\"a\": \"\\u00e9\\/\"\n}", "{\"a\":\"\303\251/\"}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(yaml_release) struct yaml_doc doc;
        AUTO(buf_release) struct buf text;
        struct err err = {0};

        buf_init(&text, 0);
        CHECK_INT(yaml_parse(&doc, cases[i].yaml, strlen(cases[i].yaml), "t", &err), 0);
        CHECK_STR(err.msg, "");
        json_print(doc.root, 0, &text);
        CHECK_STR(text.data, cases[i].json);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *yaml, *message;
    } cases[] = {
        {"a: 1\nb: 2\na: 3", "t:3: key \"a\" stands twice; the first is on line 1"},
        {"a: 1\n---\nb: 2", "t:3: a second document"},
        {"a: 1\nb: [1\n", "t:3: not valid YAML"},
        {"\n? [1]\n: 2", "t:2: a key is not a plain word"},
        {"a: !!int 3", "tags are not allowed"},
        {"a: !own 3", "tags are not allowed"},
        {"a: caf\xe9\n", "t:1: this is not text in UTF-8"},
        {"a: 1\nb: \xff\n", "t:2: this is not text in UTF-8"},
        {"a: *b", "t:1: not valid YAML"},
        {"a: &a [*a]", "nested deeper"},
        {"a: \"x\\0y\"", "NUL"},
        {"\"x\\0y\": 1", "NUL"},
        {"\tb: 1", "t:1: found a tab; YAML is indented by spaces"},
        {"b: \xc3\xa9\nc:\n\td: 1", "t:3: found a tab"},
        {"a: @b", "t:1: not valid YAML: while scanning for the next token"},
        {"%TAG !a! x\n--- a", "t:1: found the directive %TAG; tags are not allowed"},
        {"b: 1\na: !own 3\nc: 1\nc: 2\nb: 3\nc: 3",
         "t:4: key \"c\" stands twice; the first is on line 3"},
        {"a: &a [0,0,0,0,0,0,0,0,0,0]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
         "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]",
         "more than 10000 values"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(yaml_release) struct yaml_doc doc;
        struct err err = {0};

        CHECK_INT(yaml_parse(&doc, cases[i].yaml, strlen(cases[i].yaml), "t", &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_CONTAINS(err.msg, cases[i].message);
        CHECK(doc.root == NULL);
    }
}

static void test_lines(void)
{
    static const char text[] = "# comment\na: 1\nb:\n  - 2\n  - c:\n      d: 3\n";
    AUTO(yaml_release) struct yaml_doc doc;
    struct err err = {0};

    CHECK_INT(yaml_parse(&doc, text, sizeof text - 1, "t", &err), 0);

    const cJSON *b = cJSON_GetObjectItemCaseSensitive(doc.root, "b");
    const cJSON *c = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(b, 1), "c");

    CHECK_INT(yaml_line(&doc, doc.root), 2);
    CHECK_INT(yaml_line(&doc, b), 3); /* the key's line, not the value's */
    CHECK_INT(yaml_line(&doc, cJSON_GetArrayItem(b, 0)), 4);
    CHECK_INT(yaml_line(&doc, c), 5);
    CHECK_INT(yaml_line(&doc, c->child), 6);
    yaml_mark(&doc, c, -1);
    CHECK_INT(yaml_line(&doc, c), -1);
    CHECK_INT(yaml_line(&doc, NULL), 0);
}

static void test_limits(void)
{
    AUTO(auto_free) char *large = xmalloc(YAML_MAX_BYTES + 1);
    char deep[2 * YAML_MAX_DEPTH + 2];
    struct err err = {0};

    for (size_t i = 0; i <= YAML_MAX_BYTES; i++)
        large[i] = "# \n"[i % 3];
    for (size_t len = YAML_MAX_BYTES; len <= YAML_MAX_BYTES + 1; len++) {
        AUTO(yaml_release) struct yaml_doc doc;

        CHECK_INT(yaml_parse(&doc, large, len, "t", &err), len > YAML_MAX_BYTES ? -1 : 0);
        CHECK(doc.root == NULL);
    }
    for (size_t depth = YAML_MAX_DEPTH; depth <= YAML_MAX_DEPTH + 1; depth++) {
        AUTO(yaml_release) struct yaml_doc doc;

        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        CHECK_INT(yaml_parse(&doc, deep, 2 * depth, "t", &err), depth > YAML_MAX_DEPTH ? -1 : 0);
    }
}

/* `head`, then `unit` with its number in it as often as it takes, then a character that no YAML
 * has. */
static char *hostile(const char *head, const char *unit, size_t bytes)
{
    struct buf text;

    buf_init(&text, 0);
    buf_puts(&text, head);
    for (int i = 0; text.len < bytes; i++)
        for (const char *c = unit; *c; c++)
            buf_printf(&text, *c == '#' ? "%d" : "%c", *c == '#' ? i : *c);
    buf_puts(&text, "\x01");
    return text.data;
}

/*
 * Texts that take libyaml a time that grows with the square of their length. They are refused
 * before their end is read: there stands a character that would be refused, too.
 */
static void test_square(void)
{
    static const struct {
        const char *head, *unit, *message;
    } cases[] = {
        {"", "[", "nested deeper than 64 levels"},
        {"a: ", "{", "nested deeper than 64 levels"},
        {"a: ", "{a: ", "nested deeper than 64 levels"},
        {"", "- ", "nested deeper than 64 levels"},
        {"[", "&a# x, ", "more than 100 anchors"},
        {"[&a x, ", "*a, ", "more than 10000 values"},
        {"", "- *a\n", "more than 10000 values"},
        {"", "? \n", "more than 10000 values"},
        {"", "%TAG !a#! x\n", "%TAG"},
        {"\"", " ", "blanks"},
        {"a: |\n  b", "\n", "blanks"},
        {"a", " \t\r\n", "blanks"},
        {"a", "\xc2\x85", "blanks"},
        {"a", "\xe2\x80\xa8", "blanks"},
        {"a", "\xe2\x80\xa9", "blanks"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_free) char *text = hostile(cases[i].head, cases[i].unit, YAML_MAX_BYTES / 2);
        AUTO(yaml_release) struct yaml_doc doc;
        struct err err = {0};

        CHECK_INT(yaml_parse(&doc, text, strlen(text), "t", &err), -1);
        CHECK_CONTAINS(err.msg, cases[i].message);
    }
}

/* The most that the limits allow: 100 anchors, 9,999 values of the most tokens each, 1,024 blanks.
 */
static void test_within(void)
{
    AUTO(yaml_release) struct yaml_doc doc;
    AUTO(buf_release) struct buf text;
    struct err err = {0};

    buf_init(&text, 0);
    buf_printf(&text, "[a,%*s", YAML_MAX_BLANKS, "");
    for (int i = 0; i < 100; i++)
        buf_printf(&text, "&a%d x,", i);
    for (int i = 0; i < 4949; i++)
        buf_puts(&text, "!!map {? !!str a : !!str b},");
    buf_puts(&text, "]");
    CHECK_INT(yaml_parse(&doc, text.data, text.len, "t", &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_INT(doc.n_marks, 9999 + 1);
}

/* One string of half the limit, twice; and three times. */
static void test_amplified(void)
{
    for (int copies = 0; copies < 3; copies++) {
        AUTO(yaml_release) struct yaml_doc doc;
        AUTO(buf_release) struct buf text;
        struct err err = {0};

        buf_init(&text, 0);
        buf_puts(&text, "- &a ");
        for (size_t i = 0; i < YAML_MAX_BYTES / 2; i++)
            buf_add(&text, "x", 1);
        for (int i = 0; i < copies; i++)
            buf_puts(&text, "\n- *a");
        CHECK_INT(yaml_parse(&doc, text.data, text.len, "t", &err), copies > 1 ? -1 : 0);
        CHECK_STR(err.msg, copies > 1 ? "t:1: with its aliases expanded, the text of all values is "
                                        "longer than 1048576 bytes"
                                      : "");
    }
}

/* Counts the comparisons of this program's objects and, as the linker exports it, of cJSON. */
static size_t comparisons;

int strcmp(const char *a, const char *b)
{
    comparisons++;
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

/* Four times the keys take no more than six times the comparisons: n log n, not n squared. */
static void test_many_keys(void)
{
    size_t counts[2];

    for (int round = 0; round < 2; round++) {
        AUTO(yaml_release) struct yaml_doc doc;
        AUTO(buf_release) struct buf text;
        struct err err = {0};

        buf_init(&text, 0);
        for (int i = 0; i < (round ? 8000 : 2000); i++)
            buf_printf(&text, "a-key-that-has-many-characters-%d: 1\n", i);
        comparisons = 0;
        CHECK_INT(yaml_parse(&doc, text.data, text.len, "t", &err), 0);
        CHECK_INT(cJSON_GetArraySize(doc.root), round ? 8000 : 2000);
        counts[round] = comparisons;
    }
    CHECK(counts[0] > 2000);
    CHECK(counts[1] < 6 * counts[0]);
}

int main(void)
{
    test_square();
    test_within();
    test_amplified();
    test_many_keys();
    test_scalars();
    test_refused();
    test_lines();
    test_limits();
    return test_result();
}
