// LINK: operator/api/pod_events.c operator/api/meta.c operator/api/field.c common
/* The newest of the events about a pod, by whichever of its times it has. */
#include "operator/api/pod_events.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/test.h"

#define EVENT(type, reason, time) \
    "{\"type\":\"" type "\",\"reason\":\"" reason "\",\"message\":\"m\"," time "}"
#define LAST(second) "\"lastTimestamp\":\"2026-11-21T07:00:" second "Z\""
#define FAILED(time) EVENT("Warning", "FailedMount", time)
#define PULLING(time) EVENT("Normal", "Pulling", time)

static void test_newest(void)
{
    static const struct {
        const char *items, *want;
    } cases[] = {
        {"", NULL},
        {FAILED(LAST("10")), "FailedMount: m"},
        {EVENT("Normal", "Scheduled", LAST("10")), NULL},
        {FAILED(LAST("10")) "," EVENT("Normal", "Scheduled", LAST("11")), "FailedMount: m"},
        {FAILED(LAST("10")) "," PULLING(LAST("11")), "Pulling: m"},
        {PULLING(LAST("11")) "," FAILED(LAST("10")), "Pulling: m"},
        /* Of one second. */
        {FAILED(LAST("10.1")) "," PULLING(LAST("10.9")), "FailedMount: m"},
        {PULLING(LAST("10")) "," FAILED(LAST("10")), "FailedMount: m"},
        {FAILED(LAST("10")) "," EVENT("Warning", "Later", LAST("10")), "Later: m"},
        {PULLING(LAST("10")) "," EVENT("Normal", "Later", LAST("10")), "Later: m"},
        /* The newer API of events leaves lastTimestamp out. */
        {PULLING(LAST("10")) "," FAILED("\"lastTimestamp\":null,\"eventTime\":"
                                        "\"2026-11-21T07:00:11.123456Z\""),
         "FailedMount: m"},
        {FAILED("\"eventTime\":\"2026-11-21T07:00:01Z\",\"series\":{\"lastObservedTime\":"
                "\"2026-11-21T07:00:11Z\"}") "," PULLING(LAST("10")),
         "FailedMount: m"},
        {FAILED("\"metadata\":{\"creationTimestamp\":\"2026-11-21T07:00:11Z\"}") "," PULLING(
             LAST("10")),
         "FailedMount: m"},
        {FAILED("\"x\":1"), "FailedMount: m"},
        {"{\"reason\":\"Alone\"}", "Alone"},
        {"{\"message\":\"m\"},7", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(arena_release) struct arena arena = {0};
        AUTO(auto_free) char *text = xasprintf("{\"items\":[%s]}", cases[i].items);
        AUTO(auto_json) cJSON *list = NULL;
        const char *got;
        struct err err;

        CHECK_INT(json_parse(&list, text, strlen(text), "list", &err), 0);
        got = pod_events_newest(list, &arena);
        CHECK_STR(got ? got : "nothing", cases[i].want ? cases[i].want : "nothing");
    }
}

static void test_no_list(void)
{
    AUTO(arena_release) struct arena arena = {0};

    CHECK(!pod_events_newest(NULL, &arena));
}

int main(void)
{
    test_newest();
    test_no_list();
    return test_result();
}
