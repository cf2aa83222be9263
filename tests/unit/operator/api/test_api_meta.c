// LINK: operator/api/meta.c operator/api/field.c common
/* Metadata, resource versions, times and names. */
#include "operator/api/field.h"
#include "operator/api/meta.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/test.h"

#define OBJECT(fields) "{\"metadata\":{" fields "}}"
#define NAMED "\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\""

static int decode(struct meta *m, const char *text, struct arena *a, struct err *err)
{
    AUTO(auto_json) cJSON *object = NULL;

    CHECK_INT(json_parse(&object, text, strlen(text), "object", err), 0);
    return meta_decode(m, object, a, err);
}

#define JOB_KIND "\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\","

/* Only a TrainingJob of ours that controls the object, with name and UID, owns it. */
static void test_owner(void)
{
    static const struct {
        const char *reference;
        bool owns;
    } cases[] = {
        {JOB_KIND "\"uid\":\"o\",\"name\":\"on\",\"controller\":true", true},
        {"\"apiVersion\":\"paceline.dev/"
         "v2\",\"kind\":\"TrainingJob\",\"uid\":\"o\",\"name\":\"on\","
         "\"controller\":true",
         true},
        {JOB_KIND "\"uid\":\"o\",\"name\":\"on\"", false},
        {JOB_KIND "\"uid\":\"o\",\"controller\":true", false},
        {JOB_KIND "\"name\":\"on\",\"controller\":true", false},
        {JOB_KIND "\"uid\":\"\",\"name\":\"on\",\"controller\":true", false},
        {"\"uid\":\"o\",\"name\":\"on\",\"controller\":true", false},
        {"\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"Job\",\"uid\":\"o\",\"name\":\"on\","
         "\"controller\":true",
         false},
        {"\"apiVersion\":\"paceline.device/"
         "v1\",\"kind\":\"TrainingJob\",\"uid\":\"o\",\"name\":\"on\","
         "\"controller\":true",
         false},
        {"\"apiVersion\":\"batch/v1\",\"kind\":\"TrainingJob\",\"uid\":\"o\",\"name\":\"on\","
         "\"controller\":true",
         false},
        {"\"apiVersion\":7,\"kind\":\"TrainingJob\",\"uid\":\"o\",\"name\":\"on\",\"controller\":"
         "true",
         false},
        {"\"apiVersion\":\"paceline.dev/v1\",\"uid\":\"o\",\"name\":\"on\",\"controller\":true",
         false},
    };
    const struct meta job = {.namespace_ = "ns", .name = "on", .uid = "o"};
    const struct meta others[] = {{.namespace_ = "other", .name = "on", .uid = "o"},
                                  {.namespace_ = "ns", .name = "o", .uid = "o"},
                                  {.namespace_ = "ns", .name = "on", .uid = "on"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(arena_release) struct arena a = {0};
        AUTO(buf_release) struct buf text;
        struct meta m;
        struct err err;

        buf_init(&text, 0);
        buf_printf(&text, OBJECT(NAMED ",\"ownerReferences\":[{%s}]"), cases[i].reference);
        CHECK_INT(decode(&m, text.data, &a, &err), 0);
        CHECK(!m.owner_uid == !m.owner_name);
        if (meta_controls(&job, &m) != cases[i].owns)
            TEST_FAIL("owned, or not, by {%s}", cases[i].reference);
        for (size_t o = 0; o < ARRAY_LEN(others); o++)
            CHECK(!meta_controls(&others[o], &m));
    }
}

static void test_decode(void)
{
    AUTO(arena_release) struct arena a = {0};
    struct meta m;
    struct err err;

    CHECK_INT(
        decode(&m,
               OBJECT(NAMED ",\"creationTimestamp\":\"2026-11-21T07:00:00Z\","
                            "\"deletionTimestamp\":\"2026-11-21T07:00:30Z\","
                            "\"deletionGracePeriodSeconds\":30,\"generation\":4,"
                            "\"ownerReferences\":[{\"uid\":\"x\",\"name\":\"x\"},"
                            "{" JOB_KIND "\"uid\":\"o\",\"name\":\"on\",\"controller\":true},"
                            "{" JOB_KIND "\"uid\":\"p\",\"name\":\"p\",\"controller\":true}]"),
               &a, &err),
        0);
    CHECK_STR(m.name, "a");
    CHECK_STR(m.namespace_, "ns");
    CHECK_STR(m.uid, "u");
    CHECK_STR(m.resource_version, "7");
    CHECK_STR(m.owner_uid, "o");
    CHECK_STR(m.owner_name, "on");
    CHECK_INT(m.deletion_ms - m.created_ms, 30000);
    CHECK_INT(m.deletion_grace_ms, 30000);
    CHECK_INT(m.generation, 4);

    CHECK_INT(decode(&m,
                     OBJECT("\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\","
                            "\"creationTimestamp\":null,\"ownerReferences\":{}"),
                     &a, &err),
              0);
    CHECK_STR(m.namespace_, "");
    CHECK(!m.owner_uid && !m.owner_name && !m.created_ms && !m.deletion_ms && !m.generation);
    CHECK_INT(decode(&m, OBJECT(NAMED ",\"generation\":-3,\"deletionGracePeriodSeconds\":1e300"),
                     &a, &err),
              0);
    CHECK_INT(m.generation, 0);
    CHECK(m.deletion_grace_ms > 0);
}

static void check_refused(const char *text, const char *part)
{
    AUTO(arena_release) struct arena a = {0};
    struct meta m;
    struct err err = {0};

    CHECK_INT(decode(&m, text, &a, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_CONTAINS(err.msg, part);
}

static void test_refused(void)
{
    AUTO(auto_free) char *wide = xasprintf("%0300d", 1), *long_one = NULL;
    static const char *const longs[] = {
        OBJECT("\"name\":\"%s\",\"uid\":\"u\",\"resourceVersion\":\"7\""),
        OBJECT("\"name\":\"a\",\"uid\":\"%s\",\"resourceVersion\":\"7\""),
        OBJECT("\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"%s\""),
        OBJECT("\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"namespace\":\"%s\""),
    };
    static const char *const fields[] = {"name", "uid", "resourceVersion", "namespace"};

    check_refused("[]", "name");
    check_refused("{}", "name");
    check_refused("{\"metadata\":[]}", "name");
    check_refused(OBJECT("\"name\":1"), "name");
    check_refused(OBJECT("\"name\":\"\""), "name");
    check_refused(OBJECT("\"name\":\"a\""), "uid");
    check_refused(OBJECT("\"name\":\"a\",\"uid\":\"u\""), "resourceVersion");
    check_refused(OBJECT("\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":7"), "resourceVersion");
    for (size_t i = 0; i < ARRAY_LEN(longs); i++) {
        const char *at = strstr(longs[i], "%s");

        free(long_one);
        long_one = xasprintf("%.*s%s%s", (int)(at - longs[i]), longs[i], wide, at + 2);
        check_refused(long_one, fields[i]);
    }
}

static void test_versions(void)
{
    static const char *const ascending[] = {
        "",
        "0",
        "1",
        "9",
        "10",
        "99",
        "100",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999999999999999",
    };

    for (size_t i = 0; i < ARRAY_LEN(ascending); i++)
        for (size_t k = 0; k < ARRAY_LEN(ascending); k++)
            CHECK_INT(rv_compare(ascending[i], ascending[k]), (i > k) - (i < k));
    CHECK_INT(rv_compare("007", "7"), 0);
    CHECK_INT(rv_compare("007", "10"), -1);
}

static void check_time(const char *text, int64_t ms)
{
    CHECK_INT(time_decode(text), ms);
    if (test_failed)
        fprintf(stderr, "  %s\n", text);
}

/* Known instants (date -u -d TEXT +%s). */
static void test_times(void)
{
    static const char *const bad[] = {
        "",
        "2026",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00Zx",
        "2026-01-01T00:00:00+1:00",
        "2026-01-01T00:00:00+01:60",
        "2026-01-01T00:00:00+01:00x",
        "2026-01-01T00:00:00+24:00",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00+01:00",
        "2026-1-01T00:00:00Z",
        "2026-01-01T00:00:0",
        "x",
        "2026-01-01T00:00:00.5",
        "2026/01/01T00:00:00Z",
        "9999-12-31T23:59:59-00:01",
    };
    char text[TIME_SIZE];

    check_time("2026-11-21T07:00:00Z", 1795244400000);
    check_time("2026-11-21T07:00:00z", 1795244400000);
    check_time("2026-11-21T08:30:00+01:30", 1795244400000);
    check_time("2026-11-21T05:30:00-01:30", 1795244400000);
    check_time("2026-11-21T07:00:00.5Z", 1795244400500);
    check_time("2026-11-21T07:00:00.123456789Z", 1795244400123);
    check_time("2000-02-29T12:00:00Z", 951825600000);
    check_time("2100-03-01T00:00:00Z", 4107542400000);
    check_time("1970-01-01T00:00:01Z", 1000);
    check_time("9999-12-31T23:59:59Z", 253402300799000);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_time(bad[i], 0);
    time_encode(1795244400000, text);
    CHECK_STR(text, "2026-11-21T07:00:00Z");
    time_encode(1795244400045, text);
    CHECK_STR(text, "2026-11-21T07:00:00.045Z");
    for (int64_t ms = 86399999; ms < 253402300799000; ms = ms * 1009 / 1000 + 86400001) {
        time_encode(ms, text);
        CHECK_INT(time_decode(text), ms);
    }
}

static void test_names(void)
{
    char name[NAME_SIZE];

    pod_name(name, "fashion", ROLE_WORKER, 12, 3);
    CHECK_STR(name, "fashion-worker-12-3");
    host_name(name, "fashion", ROLE_PS, 0);
    CHECK_STR(name, "fashion-ps-0");
}

static void test_fields(void)
{
    AUTO(arena_release) struct arena a = {0};
    AUTO(auto_json)
    cJSON *object = cJSON_Parse(
        "{\"s\":\"h\\u00e4\\u00e4\",\"e\":\"\",\"n\":2.9,\"big\":1e30,\"low\":-1e30,\"t\":true}");
    int64_t number = -1;

    CHECK_STR(field_text(object, "s", 100, &a), "h\xc3\xa4\xc3\xa4");
    CHECK_STR(field_text(object, "s", 4, &a), "h\xc3\xa4");
    CHECK_STR(field_text(object, "s", 3, &a), "h\xc3\xa4");
    CHECK_STR(field_text(object, "s", 2, &a), "h");
    CHECK(field_text(object, "e", 9, &a) == NULL && field_text(object, "n", 9, &a) == NULL);
    CHECK_INT(field_int(object, "n", 0, 10), 2);
    CHECK_INT(field_int(object, "big", 0, 10), 10);
    CHECK_INT(field_int(object, "low", -5, 10), -5);
    CHECK_INT(field_int(object, "s", 0, 10), 0);
    CHECK_INT(field_int(NULL, "n", 0, 10), 0);
    CHECK(field_is_true(object, "t") && !field_is_true(object, "n"));
    CHECK_INT(field_time(object, "n"), 0);
    CHECK(decimal_parse(&number, "0", 5) && number == 0);
    CHECK(decimal_parse(&number, "5", 5) && number == 5);
    CHECK(!decimal_parse(&number, "6", 5) && !decimal_parse(&number, "", 5));
    CHECK(!decimal_parse(&number, "01", 5) && !decimal_parse(&number, "1x", 50));
    CHECK(!decimal_parse(&number, "-1", 5) && !decimal_parse(&number, " 1", 5));
    CHECK(!decimal_parse(&number, "1234567890123456789", INT64_MAX));
    CHECK_INT(number, 5);
}

int main(void)
{
    test_owner();
    test_decode();
    test_refused();
    test_versions();
    test_times();
    test_names();
    test_fields();
    return test_result();
}
