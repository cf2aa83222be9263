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
#define MODEL "\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"}"
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

static size_t job_json_len(const struct job *job)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    job_to_json(job, &text);
    return text.len;
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

/* The job of another controller is another's, however large its spec is and wherever that stands.
 */
static void test_large_of_another(void)
{
    static const struct {
        const char *before, *part, *after;
        bool ours;
    } rows[] = {
        {"\"runPolicy\":{\"managedBy\":\"a.b/c\"},\"x\":[0", ",[]", "]", false},
        {"\"replicas\":{\"worker\":{\"template\":{\"x\":\"", "xxxxxxxx",
         "\"}}},\"runPolicy\":{\"backoffLimit\":1,\"managedBy\":\"a.b/c\"}", false},
        {"\"x\":[0", ",[]", "],\"runPolicy\":{\"managedBy\":\"paceline.dev/operator\"}", true},
        {"\"x\":[0", ",{\"managedBy\":\"a.b/c\"}", "],\"managedBy\":\"a.b/c\"", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(buf_release) struct buf text;
        AUTO(auto_tj) struct tj *tj = NULL;

        buf_init(&text, 0);
        buf_puts(&text, "{" HEAD ",\"spec\":{");
        buf_puts(&text, rows[i].before);
        for (int k = 0; k < 40000; k++)
            buf_puts(&text, rows[i].part);
        buf_puts(&text, rows[i].after);
        buf_puts(&text, "}}");
        tj = decode(text.data);
        CHECK_CONTAINS(tj->problem, "spec: found more than the 256 KiB");
        CHECK_INT(tj_is_ours(tj), rows[i].ours);
    }
}

/* A large job in the cache has lost what only pods need, and says the same of itself as before. */
static void test_stripped(void)
{
    static const struct {
        const char *spec;
        size_t padding;
        bool stripped;
    } rows[] = {
        {"\"replicas\":{\"worker\":{\"template\":{\"x\":\"%s\",\"spec\":{\"containers\":[{\"name\":"
         "\"c\",\"image\":\"i\"}]}}}}",
         8000, false},
        {"\"replicas\":{\"worker\":{\"template\":{\"x\":\"%s\",\"spec\":{\"containers\":[{\"name\":"
         "\"c\",\"image\":\"i\"}]}}}}",
         9000, true},
        {"\"networkPolicy\":{\"extraIngress\":[{\"x\":\"%s\"}]}", 9000, true},
        {"\"model\":{\"layers\":[{\"type\":\"flatten\"},%s{\"type\":\"dense\",\"units\":10}]}", 0,
         true},
        {"\"output\":{\"volume\":{\"nfs\":{\"x\":\"%s\"}}}", 9000, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(buf_release) struct buf padding;
        AUTO(auto_free) char *spec = NULL, *text = NULL;
        AUTO(auto_json) cJSON *object = NULL;
        AUTO(auto_tj) struct tj *whole = NULL, *kept = NULL, *next = NULL;
        struct err err;

        buf_init(&padding, 0);
        for (size_t k = 0; k < rows[i].padding; k++)
            buf_puts(&padding, "x");
        for (int k = 0; !rows[i].padding && k < 250; k++)
            buf_puts(&padding, "{\"type\":\"dense\",\"units\":10},");
        spec = xasprintf(rows[i].spec, padding.data);
        text =
            xasprintf("{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{"
                      "\"name\":\"j\",\"uid\":\"u\",\"generation\":2,\"resourceVersion\":\"7\"},"
                      "\"spec\":{%s%s}}",
                      i < 2    ? ""
                      : i == 3 ? "\"dataset\":{\"name\":\"fashion-mnist\"},"
                               : MODEL ",",
                      spec);
        CHECK_INT(json_parse(&object, text, strlen(text), "job", &err), 0);
        CHECK_INT(tj_decode(&whole, object, &err), 0);
        CHECK_INT(tj_decode_again(&kept, object, NULL, &err), 0);
        CHECK_INT(tj_decode_again(&next, object, kept, &err), 0);
        if (!whole->job || !kept->job) {
            TEST_FAIL("row %zu: %s", i, whole->problem);
            continue;
        }
        CHECK(!whole->stripped);
        CHECK_INT(kept->stripped, rows[i].stripped);
        CHECK(next->stripped == kept->stripped && next->job == kept->job);
        CHECK_INT(job_builtin(kept->job), job_builtin(whole->job));
        CHECK_INT(kept->job->output.volume != NULL, whole->job->output.volume != NULL);
        CHECK_INT(job_json_len(kept->job) < 8000, rows[i].stripped);
        CHECK(job_json_len(whole->job) > 8000);
    }
}

int main(void)
{
    test_stripped();
    test_too_large();
    test_large_of_another();
    return test_result();
}
