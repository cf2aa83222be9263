// LINK: operator/api common
/* Objects that are larger than what is kept of them. test_api_pod and test_api_trainingjob read
 * ordinary ones through the same tables. */
#include "operator/api/kept.h"
#include "operator/api/trainingjob.h"
#include "tests/test.h"
#include "tests/unit/sieve_check.h"

#define HEAD                                                                                    \
    "\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"j\"," \
    "\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\"}"
#define SPEC "\"spec\":{\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"}}"

static struct tj *decode(const char *text)
{
    AUTO(sieved_release) struct sieved seen = {0};
    AUTO(auto_json) cJSON *object = NULL;
    struct tj *tj = NULL;
    struct err err;

    sieve_text(&seen, kept_job, false, text, strlen(text), 100);
    if (json_parse(&object, seen.rest.data, seen.rest.len, "job", &err) ||
        tj_decode(&tj, object, &err)) {
        TEST_FAIL("%s: %s", text, err.msg);
        exit(1);
    }
    return tj;
}

static void auto_tj(struct tj **tj) { tj_free(*tj); }

/* Of a spec or a status beyond the bounds only that is known, and it is said. */
static void test_too_large(void)
{
    static const struct {
        const char *before, *part, *after, *problem;
    } rows[] = {
        {"\"spec\":{\"replicas\":{\"worker\":{\"template\":{\"x\":[0", ",[]", "]}}}}",
         "spec: found more than the 256 KiB of JSON or the 16384 values"},
        {"\"spec\":{\"replicas\":{\"worker\":{\"template\":{\"x\":\"", "xxxxxxxx", "\"}}}}",
         "spec: found more than the 256 KiB of JSON or the 16384 values"},
        {SPEC ",\"status\":{\"x\":[0", ",{}", "]}", "status: larger than"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(buf_release) struct buf text;
        AUTO(auto_tj) struct tj *tj = NULL;

        buf_init(&text, 0);
        buf_puts(&text, "{" HEAD ",");
        buf_puts(&text, rows[i].before);
        for (int k = 0; k < 40000; k++)
            buf_puts(&text, rows[i].part);
        buf_puts(&text, rows[i].after);
        buf_puts(&text, "}");
        tj = decode(text.data);
        CHECK_STR(tj->meta.name, "j");
        CHECK_CONTAINS(tj->problem, rows[i].problem);
    }
}

int main(void)
{
    test_too_large();
    return test_result();
}
