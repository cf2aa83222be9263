// LINK: common
/* The sieve: what it keeps, however the text is cut into pieces, and that its memory is bounded. */
#include "tests/unit/sieve_check.h"

#include "tests/test.h"

static const struct sieve_field nothing[] = {{.name = NULL}};
static const struct sieve_field owner[] = {{.name = "uid"}, {.name = NULL}};
static const struct sieve_field meta[] = {
    {.name = "name"},
    {.name = "owners", .fields = owner},
    {.name = "finalizers", .only = "ours"},
    {.name = "labels", .rule = SIEVE_WHOLE, .max_bytes = 60, .max_values = 6},
    {.name = NULL},
};
static const struct sieve_field object[] = {
    {.name = "metadata", .fields = meta},
    {.name = "probe", .fields = nothing},
    {.name = "message"},
    {.name = NULL},
};
static const struct sieve_field list_meta[] = {{.name = "version"}, {.name = NULL}};
static const struct sieve_field list[] = {
    {.name = "metadata", .fields = list_meta},
    {.name = "items", .fields = object, .rule = SIEVE_ITEMS},
    {.name = NULL},
};
static const struct sieve_field event[] = {
    {.name = "type"},
    {.name = "object", .fields = object},
    {.name = NULL},
};

/* The same, however the text is cut. */
static void check(const struct sieve_field *fields, bool stream, const char *text,
                  const char *items, const char *rest)
{
    for (size_t step = 1; step <= strlen(text); step++) {
        AUTO(sieved_release) struct sieved seen = {0};

        sieve_text(&seen, fields, stream, text, strlen(text), step);
        CHECK_INT(seen.result, SIEVE_OK);
        CHECK(seen.complete);
        CHECK_STR(seen.items.data, items);
        CHECK_STR(seen.rest.data, rest);
    }
}

static void test_object(void)
{
    check(object, false, "{}", "", "{}");
    check(object, false, " {\"a\":1, \"metadata\" : {\"x\":[{}],\"name\":\"n\"},\"b\":\"}\\\"{\"} ",
          "", "{\"metadata\":{\"name\":\"n\"}}");
    /* Lists are walked, objects without fields are there and empty, scalars stay as they are. */
    check(object, false,
          "{\"metadata\":{\"owners\":[{\"uid\":\"1\",\"name\":\"x\"},{},[{\"uid\":2}],null]},"
          "\"probe\":{\"exec\":{\"command\":[\"a\"]}},\"message\":-1.5e3}",
          "",
          "{\"metadata\":{\"owners\":[{\"uid\":\"1\"},{},[{\"uid\":2}],null]},\"probe\":{},"
          "\"message\":-1.5e3}");
    check(object, false, "{\"message\":\"grün \\\"漢\\\\\",\"metadata\":[]}", "",
          "{\"message\":\"grün \\\"漢\\\\\",\"metadata\":[]}");
    /* Names that only look alike. */
    check(object, false,
          "{\"messag\":1,\"message2\":2,\"mess\\u0061ge\":3,\"\":4,"
          "\"a name that is longer than any that could stand in a table of fields, at all\":5}",
          "", "{}");
    check(nothing, false, "[true,[1,{\"a\":2}]]", "", "[true,[1,{}]]");
}

static void test_only(void)
{
    check(object, false,
          "{\"metadata\":{\"finalizers\":[\"a\",\"ours\",\"our\",\"ours2\",\"ours\"]}}", "",
          "{\"metadata\":{\"finalizers\":[null,\"ours\",\"ours\"]}}");
    check(object, false, "{\"metadata\":{\"finalizers\":[\"ours\",\"b\"]}}", "",
          "{\"metadata\":{\"finalizers\":[\"ours\",null]}}");
    check(object, false, "{\"metadata\":{\"finalizers\":[]}}", "",
          "{\"metadata\":{\"finalizers\":[]}}");
}

static void test_items(void)
{
    check(list, false,
          "{\"kind\":\"List\",\"items\":[{\"metadata\":{\"name\":\"a\"},\"spec\":{\"x\":[1,2]}},\n"
          " {\"status\":1}, 7 ,[8]],\"metadata\":{\"version\":\"5\",\"x\":1}}",
          "{\"metadata\":{\"name\":\"a\"}}\n{}\n7\n[8]\n",
          "{\"items\":[],\"metadata\":{\"version\":\"5\"}}");
    check(list, false, "{\"items\":null}", "", "{\"items\":null}");
    check(list, false, "{\"items\":[]}", "", "{\"items\":[]}");
    /* Only the list at its own place. */
    check(list, false, "{\"items\":[{\"metadata\":{\"items\":[1]},\"items\":[2]}]}",
          "{\"metadata\":{}}\n", "{\"items\":[]}");
}

static void test_stream(void)
{
    check(event, true,
          "{\"type\":\"ADDED\",\"object\":{\"message\":\"x\",\"y\":{}}}\n\n{\"type\":\"M\"}\r\n[]"
          "\n5 ",
          "{\"type\":\"ADDED\",\"object\":{\"message\":\"x\"}}\n{\"type\":\"M\"}\n[]\n5\n", "");
    check(event, true, "\n", "", "");
}

static void test_whole(void)
{
    check(object, false, "{\"metadata\":{\"labels\":{\"a\" : [1, {\"b\":\"]\"}]} ,\"name\":1}}", "",
          "{\"metadata\":{\"labels\":{\"a\" : [1, {\"b\":\"]\"}]},\"name\":1}}");
    /* 60 bytes and 61; six values and seven. */
    check(object, false,
          "{\"metadata\":{\"labels\":"
          "\"0123456789012345678901234567890123456789012345678901234567\"}}",
          "",
          "{\"metadata\":{\"labels\":"
          "\"0123456789012345678901234567890123456789012345678901234567\"}}");
    check(
        object, false,
        "{\"metadata\":{\"labels\":\"01234567890123456789012345678901234567890123456789012345678\","
        "\"name\":2}}",
        "", "{\"metadata\":{\"labels\":false,\"name\":2}}");
    /* Control characters count as what json_print writes: 60 bytes and more; U+00A0 is none. */
    check(object, false,
          "{\"metadata\":{\"labels\":\"\177\302\200\302\237\302\240 "
          "x234567890123456789012345678901234567\"}}",
          "",
          "{\"metadata\":{\"labels\":\"\177\302\200\302\237\302\240 "
          "x234567890123456789012345678901234567\"}}");
    check(object, false,
          "{\"metadata\":{\"labels\":\"\177\302\200\302\237\302\240 "
          "x2345678901234567890123456789012345678\"}}",
          "", "{\"metadata\":{\"labels\":false}}");
    check(object, false, "{\"metadata\":{\"labels\":[1,-2.3,[],true,\"6789\"]}}", "",
          "{\"metadata\":{\"labels\":[1,-2.3,[],true,\"6789\"]}}");
    check(object, false, "{\"metadata\":{\"labels\":[1,-2.34,[],true,\"6789\"]}}", "",
          "{\"metadata\":{\"labels\":false}}");
    check(object, false, "{\"metadata\":{\"labels\":[[],[],[],[1]]},\"message\":3}", "",
          "{\"metadata\":{\"labels\":false},\"message\":3}");
}

/* Of a value that is too large its own rule keeps something, wherever it stands in it. */
static void test_large(void)
{
    static const struct sieve_field inner[] = {{.name = "by"}, {.name = NULL}};
    static const struct sieve_field fields[] = {{.name = "policy", .fields = inner},
                                                {.name = NULL}};
    static const struct sieve_field large = {.fields = fields};
    static const struct sieve_field spec[] = {
        {.name = "spec", .rule = SIEVE_WHOLE, .max_bytes = 36, .max_values = 6, .large = &large},
        {.name = "status"},
        {.name = NULL},
    };
    static const struct sieve_field specs[] = {
        {.name = "items", .rule = SIEVE_ITEMS, .fields = spec},
        {.name = NULL},
    };
#define LONG "\"0123456789 \\\"]}{[ 01234567890123456789\""

    check(spec, false, "{\"spec\":{\"policy\":{\"by\":\"a\",\"c\":1}},\"status\":1}", "",
          "{\"spec\":{\"policy\":{\"by\":\"a\",\"c\":1}},\"status\":1}");
    check(spec, false, "{\"spec\":{\"policy\":{\"by\":\"a\",\"c\":1},\"x\":" LONG "},\"status\":1}",
          "", "{\"spec\":[{\"policy\":{\"by\":\"a\"}}],\"status\":1}");
    check(spec, false, "{\"spec\":{\"x\":" LONG ",\"policy\":{\"by\":\"a\",\"c\":1}},\"status\":1}",
          "", "{\"spec\":[{\"policy\":{\"by\":\"a\"}}],\"status\":1}");
    check(spec, false, "{\"spec\":{\"x\":[1,2,3,4,5,[],6],\"policy\":{\"by\":null}}}", "",
          "{\"spec\":[{\"policy\":{\"by\":null}}]}");
    check(spec, false, "{\"status\":2,\"spec\":[{\"x\":[1,2,3,4,5,6,7]},[{}]]}", "",
          "{\"status\":2,\"spec\":[[{},[{}]]]}");
    check(spec, false, "{\"spec\":" LONG ",\"status\":3}", "",
          "{\"spec\":[" LONG "],\"status\":3}");
    check(specs, false, "{\"items\":[{\"spec\":{\"x\":" LONG "}},{\"spec\":{\"policy\":4}}]}",
          "cut {\"spec\":[{}]}\n{\"spec\":{\"policy\":4}}\n", "{\"items\":[]}");
}

/* Of a list of objects only those are kept that are marked, however many there are. */
static void test_when(void)
{
    static const struct sieve_field member[] = {{.name = "uid"}, {.name = "on"}, {.name = NULL}};
    static const struct sieve_field fields[] = {
        {.name = "owners", .fields = member, .when = "on"},
        {.name = "name"},
        {.name = NULL},
    };
    AUTO(sieved_release) struct sieved seen = {0};
    AUTO(buf_release) struct buf text;

    check(fields, false, "{\"owners\":[{\"uid\":1,\"on\":true},{\"uid\":2}],\"name\":3}", "",
          "{\"owners\":[{\"uid\":1,\"on\":true}],\"name\":3}");
    check(fields, false,
          "{\"owners\":[{\"on\":false,\"uid\":0},{\"uid\":{\"on\":true}},{},{\"on\" : true "
          ",\"uid\":2,"
          "\"x\":{}},{\"on\":\"true\"},{\"on\":true}]}",
          "", "{\"owners\":[{\"on\":true,\"uid\":2},{\"on\":true}]}");
    check(fields, false, "{\"name\":1,\"owners\":{\"uid\":1}}", "",
          "{\"name\":1,\"owners\":{\"uid\":1}}");
    buf_init(&text, 0);
    buf_puts(&text, "{\"owners\":[");
    for (int i = 0; i < 3 * SIEVE_ELEMENTS_MAX; i++)
        buf_printf(&text, "{\"uid\":%d},", i);
    buf_puts(&text, "{\"uid\":\"last\",\"on\":true}]}");
    sieve_text(&seen, fields, false, text.data, text.len, 1000);
    CHECK_STR(seen.rest.data, "{\"owners\":[{\"uid\":\"last\",\"on\":true}]}");
}

static void test_bad(void)
{
    static const char *const texts[] = {
        "{]",
        "[}",
        "{\"message\" 1}",
        "{1:2}",
        "{\"message\":,}",
        "{,}",
        "[1,]",
        "[,1]",
        "{\"message\":1,}",
        "{} {}",
        "]",
        "{\"a\":1 \"b\":2}",
        "{\"a\":}",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO(sieved_release) struct sieved seen = {0};

        sieve_text(&seen, object, false, texts[i], strlen(texts[i]), 1 + i % 3);
        if (seen.result != SIEVE_BAD)
            TEST_FAIL("\"%s\" was taken", texts[i]);
        CHECK(!seen.complete);
    }
}

/* Wherever a list or a watch breaks off, what was complete is there and nothing else. */
static void test_broken_off(void)
{
    static const char text[] = "{\"items\":[{\"message\":1},{\"message\":2}],\"metadata\":{}}";
    static const char whole[] = "{\"message\":1}\n{\"message\":2}\n";

    for (size_t n = 0; n < strlen(text); n++) {
        AUTO(sieved_release) struct sieved seen = {0};

        sieve_text(&seen, list, false, text, n, 5);
        CHECK_INT(seen.result, SIEVE_OK);
        CHECK(!seen.complete);
        CHECK_INT(strncmp(seen.items.data, whole, seen.items.len), 0);
        CHECK_INT(seen.n, (n >= 23) + (n >= 37));
    }
}

static void test_stop(void)
{
    AUTO(sieved_release) struct sieved seen = {.stop_at = 2};

    sieve_text(&seen, event, true, "{}\n{}\n{}\n", 9, 9);
    CHECK_INT(seen.result, SIEVE_STOPPED);
    CHECK_INT(seen.n, 2);
    CHECK(!seen.complete);
}

/* head, then middle n times, then tail. */
static void fill(struct buf *out, const char *head, const char *middle, size_t n, const char *tail)
{
    buf_init(out, 0);
    buf_puts(out, head);
    for (size_t i = 0; i < n; i++)
        buf_puts(out, middle);
    buf_puts(out, tail);
}

/* A string that is too long ends with a whole character or escape, and is a string. */
static void test_long_strings(void)
{
    static const char *const parts[] = {"x",   "ü", "漢", "🚀", "\\n", "\\u00e9", "\\ud83d\\ude80",
                                        "\\\\"};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        for (size_t shift = 0; shift < 12; shift++) {
            AUTO(sieved_release) struct sieved seen = {0};
            AUTO(buf_release) struct buf text;
            AUTO(auto_json) cJSON *tree = NULL;
            char head[40] = "{\"items\":[{\"message\":\"";
            struct err err;

            for (size_t k = 0; k < shift; k++)
                memcpy(head + strlen(head), "-", 2);
            fill(&text, head, parts[i], SIEVE_TEXT_MAX / strlen(parts[i]) + 1, "\"},{}]}");
            sieve_text(&seen, list, false, text.data, text.len, 1000 + shift);
            CHECK_INT(seen.result, SIEVE_OK);
            CHECK_INT(seen.n, 2);
            CHECK_INT(strncmp(seen.items.data, "cut {", 5), 0);
            CHECK_STR(seen.items.data + seen.items.len - 3, "{}\n"); /* that one is not cut */
            *strchr(seen.items.data, '\n') = '\0';
            CHECK_INT(json_parse(&tree, seen.items.data + 4, strlen(seen.items.data + 4), "", &err),
                      0);
            if (tree) {
                size_t written = strlen(seen.items.data) - strlen("cut {\"message\":\"\"}");

                CHECK(written <= SIEVE_TEXT_MAX && written > SIEVE_TEXT_MAX - 12);
                CHECK_INT((written - shift) % strlen(parts[i]), 0);
            }
        }
}

/* The greatest objects that a hostile writer can think of keep little, whatever they are made of.
 */
static void test_bounds(void)
{
    static const struct {
        const char *head, *middle, *tail;
        size_t most;
        bool cut;
    } rows[] = {
        {"{\"items\":[{\"x\":[", "[[[[", "", 100, false},
        {"{\"items\":[{\"x\":\"", "xxxx", "\"", 100, false},
        {"{\"items\":[{\"x\":[", "0,", "0]}]}", 100, false},
        {"{\"items\":[{\"", "long", "\":1}]}", 100, false},
        {"{\"items\":[{\"message\":\"", "xxxx", "\"}]}", SIEVE_TEXT_MAX + 100, true},
        {"{\"items\":[{\"message\":", "1111", "}]}", SIEVE_TEXT_MAX + 100, true},
        {"{\"items\":[{\"message\":[", "{},", "{}]}]}", 3 * SIEVE_ELEMENTS_MAX + 100, true},
        {"{\"items\":[{\"message\":[", "[", "", 100, false},
        {"{\"items\":[{\"metadata\":{\"finalizers\":[", "\"a/b\",", "\"ours\"]}}]}", 100, false},
        {"{\"items\":[{\"metadata\":{\"labels\":[", "[],", "0]}}]}", 100, true},
        {"{\"items\":[{\"metadata\":{\"owners\":[", "{\"uid\":\"0123456789\"},", "{}]}}]}",
         SIEVE_ELEMENTS_MAX * 21 + 100, true},
        {"{\"metadata\":{\"version\":\"", "long", "\"}}", SIEVE_TEXT_MAX + 100, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(sieve_release) struct sieve s;
        AUTO(sieved_release) struct sieved seen = {0};
        AUTO(buf_release) struct buf text;
        size_t most = 0;

        fill(&text, rows[i].head, rows[i].middle, 500000, rows[i].tail);
        buf_init(&seen.items, 0);
        sieve_init(&s, list, false);
        for (size_t at = 0; at < text.len; at += 4096) {
            size_t n = text.len - at < 4096 ? text.len - at : 4096;

            CHECK_INT(sieve_feed(&s, text.data + at, n, sieved_item, &seen), SIEVE_OK);
            most = s.item.len + s.rest.len > most ? s.item.len + s.rest.len : most;
        }
        if (most > rows[i].most)
            TEST_FAIL("%s%s: %zu bytes were held", rows[i].head, rows[i].middle, most);
        CHECK_INT(strncmp(seen.items.data, "cut ", 4) == 0, rows[i].cut);
        CHECK(s.item.cap < 70000);
    }
}

/* No item takes more than its bound, however many of its fields are large. */
static void test_largest(void)
{
    AUTO(sieved_release) struct sieved seen = {0};
    AUTO(buf_release) struct buf text, message;

    fill(&message, "{\"message\":\"", "x", 4000, "\"},");
    fill(&text, "{\"items\":[{\"message\":[", message.data, 1000,
         "{}],\"metadata\":{\"name\":1}}]}");
    sieve_text(&seen, list, false, text.data, text.len, 65536);
    CHECK_INT(seen.result, SIEVE_OK);
    CHECK_INT(seen.n, 1); /* `message` has no fields: {} each */
    CHECK(seen.items.len < 4000);
    buf_release(&text);
    buf_release(&message);
    sieved_release(&seen);
    fill(&message, "\"", "x", 4000, "\",");
    fill(&text, "{\"items\":[{\"message\":[", message.data, 1000,
         "0],\"metadata\":{\"name\":1}}]}");
    seen = (struct sieved){0};
    sieve_text(&seen, list, false, text.data, text.len, 65536);
    CHECK_INT(seen.n, 1);
    CHECK_INT(strncmp(seen.items.data, "cut {", 5), 0);
    CHECK(seen.items.len > SIEVE_ITEM_MAX - 5000 && seen.items.len < SIEVE_ITEM_MAX + 5000);
}

static uint64_t seed = 1;

static unsigned random_below(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static void random_value(struct buf *out, int depth)
{
    static const char *const scalars[] = {"1",      "null", "true", "\"ours\"",
                                          "\"x}\"", "-2.5", "\"ü\""};
    static const char *const names[] = {"metadata",   "items", "message", "name",
                                        "owners",     "uid",   "labels",  "version",
                                        "finalizers", "probe", "x",       "y"};
    bool list_ = random_below(2);
    unsigned n = random_below(4);

    if (depth == 0 || random_below(4) == 0) {
        buf_puts(out, scalars[random_below(ARRAY_LEN(scalars))]);
        return;
    }
    buf_puts(out, list_ ? "[" : "{");
    for (unsigned i = 0; i < n; i++) {
        buf_puts(out, i ? ", " : " ");
        if (!list_) /* no name twice */
            buf_printf(out, "\"%s\" :", names[random_below(4) + 4 * (i % 3)]);
        random_value(out, depth - 1);
    }
    buf_puts(out, list_ ? "]" : "}");
}

/* The sieve keeps of random texts what a walk of the whole tree would keep. */
static void test_against_trees(void)
{
    static const struct sieve_field fields[] = {
        {.name = "items", .fields = object, .rule = SIEVE_ITEMS},
        {.name = "metadata", .fields = meta},
        {.name = "labels", .rule = SIEVE_WHOLE, .max_bytes = 100000, .max_values = 1000},
        {.name = NULL},
    };

    for (int i = 0; i < 20000; i++) {
        AUTO(sieved_release) struct sieved seen = {0};
        AUTO(buf_release) struct buf text, want, got;
        AUTO(auto_json) cJSON *tree = NULL, *kept = NULL, *tree_kept = NULL;
        struct sieve_field root = {.fields = fields};
        struct err err;

        buf_init(&text, 0);
        buf_init(&want, 0);
        buf_init(&got, 0);
        random_value(&text, 1 + i % 7);
        if (json_parse(&tree, text.data, text.len, "", &err))
            continue; /* a name came twice */
        buf_puts(&text, "\n");
        sieve_text(&seen, fields, false, text.data, text.len, 1 + (size_t)i % 40);
        if (!cJSON_IsObject(tree) && !cJSON_IsArray(tree)) {
            CHECK(seen.complete);
            continue;
        }
        CHECK(seen.complete && json_parse(&kept, seen.rest.data, seen.rest.len, "", &err) == 0);
        tree_kept = expected(tree, &root, 0);
        json_print(tree_kept, 0, &want);
        json_print(kept, 0, &got);
        /* The bound on metadata.labels is shown elsewhere. */
        if (!strstr(got.data, "\"labels\":false"))
            CHECK_STR(got.data, want.data);
    }
}

int main(void)
{
    test_object();
    test_only();
    test_items();
    test_stream();
    test_whole();
    test_large();
    test_when();
    test_bad();
    test_broken_off();
    test_stop();
    test_long_strings();
    test_bounds();
    test_largest();
    test_against_trees();
    return test_result();
}
