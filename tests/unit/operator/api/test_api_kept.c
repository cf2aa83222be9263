// LINK: operator/api common
/* Objects that are larger than what is kept of them. test_api_pod and test_api_trainingjob read
 * ordinary ones through the same tables. */
#include <glob.h>

#include "tests/unit/sieved_job.h"

#define META "\"name\":\"j\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\""
#define HEAD "\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\""
#define MODEL "\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"}"
#define SPEC "\"spec\":{\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"}}"

static size_t job_json_len(const struct job *job)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    job_to_json(job, &text);
    return text.len;
}

/* Of a spec or a status beyond the bounds only that is known, and it is said. */
static void test_too_large(void)
{
    static const struct {
        const char *before, *part, *after, *problem;
        int n;
    } rows[] = {
        {"\"spec\":{\"replicas\":{\"worker\":{\"template\":{\"x\":[0", ",[]", "]}}}}",
         "spec: found more than the 128 KiB of JSON or the 5120 values", 3080},
        {"\"spec\":{\"replicas\":{\"worker\":{\"template\":{\"x\":\"", "xxxxxxxx", "\"}}}}",
         "spec: found more than the 128 KiB of JSON or the 5120 values", 16384},
        {"\"spec\":{\"replicas\":{\"worker\":{\"template\":{\"x\":[0", ",0.12345678901234567",
         "]}}}}", "spec: found more than the 128 KiB of JSON or the 5120 values", 1200},
        {SPEC ",\"status\":{\"x\":[0", ",{}", "]}", "status: larger than", 2048},
        {SPEC ",\"metadata\":{" META ",\"labels\":{\"x\":\"0\"", ",\"y\":\"0\"", "}}",
         "metadata.labels: found more than 512 labels or 64 KiB", 512},
        {SPEC ",\"metadata\":{" META ",\"annotations\":{\"x\":\"0\"", ",\"y\":\"0\"", "}}",
         "metadata.annotations: found more than 512 annotations or 128 KiB", 512},
        {SPEC ",\"metadata\":{" META ",\"annotations\":{\"x\":\"0", "12345678", "\"}}",
         "metadata.annotations: found more than 512 annotations or 128 KiB", 16384},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(buf_release) struct buf text;
        AUTO(auto_tj) struct tj *tj = NULL;

        buf_init(&text, 0);
        buf_puts(&text, "{" HEAD ",");
        buf_puts(&text, rows[i].before);
        for (int k = 0; k < rows[i].n; k++)
            buf_puts(&text, rows[i].part);
        buf_puts(&text, rows[i].after);
        buf_puts(&text, strstr(rows[i].before, "metadata") ? "}" : ",\"metadata\":{" META "}}");
        tj = sieved_job(text.data);
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
        buf_puts(&text, "{" HEAD ",\"metadata\":{" META "},\"spec\":{");
        buf_puts(&text, rows[i].before);
        for (int k = 0; k < 40000; k++)
            buf_puts(&text, rows[i].part);
        buf_puts(&text, rows[i].after);
        buf_puts(&text, "}}");
        tj = sieved_job(text.data);
        CHECK_CONTAINS(tj->problem, "spec: found more than the 128 KiB");
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

/* Numbers, strings, lists and objects, as the sieve counts them. */
static size_t count_values(const cJSON *value)
{
    size_t n = 1;

    for (const cJSON *c = value->child; c; c = c->next)
        n += count_values(c);
    return n;
}

static void add_layers(struct buf *out)
{
    for (int i = 0; i < 254; i++)
        buf_printf(out,
                   "{name: a_long_name_of_a_layer_%d, type: conv, filters: 128, kernel: [3, 3], "
                   "stride: [1, 1], padding: same, initializer: he, inputs: [%s%.0d]},",
                   i, i ? "a_long_name_of_a_layer_" : "input", i ? i - 1 : 0);
    buf_puts(out, "{type: flatten}, {type: dense, units: 10}");
}

/* A pod with sidecars, each with all that one writes into a container. */
static void add_containers(struct buf *out)
{
    for (int i = 0; i < 12; i++) {
        buf_printf(out, "{name: c%d, image: i, command: [a, b, c], args: [", i);
        for (int k = 0; k < 30; k++)
            buf_printf(out, "--option-%d=value,", k);
        buf_puts(out, "], resources: {limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 1}}, env: [");
        for (int k = 0; k < 40; k++)
            buf_printf(out, "{name: NAME_%d, value: the value of a variable},", k);
        buf_puts(out, "], volumeMounts: [");
        for (int k = 0; k < 12; k++)
            buf_printf(out, "{name: v%d, mountPath: /v/%d, readOnly: true},", k, k);
        buf_puts(out, "], livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 10}},");
    }
}

/* How much of the bounds the largest honest specs take, with all defaults. */
static void check_fits(const struct job *job, const char *name)
{
    AUTO(sieved_release) struct sieved seen = {0};
    AUTO(buf_release) struct buf text;
    AUTO(auto_json) cJSON *object = NULL;
    const cJSON *spec;
    struct err err;

    buf_init(&text, 0);
    job_to_json(job, &text);
    sieve_text(&seen, kept_job, false, text.data, text.len, 1000);
    CHECK_INT(json_parse(&object, seen.rest.data, seen.rest.len, name, &err), 0);
    spec = cJSON_GetObjectItemCaseSensitive(object, "spec");
    printf("%-32s %6zu bytes %5zu values\n", name, text.len, count_values(spec));
    if (!cJSON_IsObject(spec))
        TEST_FAIL("%s: %zu bytes of JSON are beyond the bounds of a spec", name, text.len);
}

static void check_job(const char *name, const char *head, void (*add)(struct buf *out),
                      const char *tail)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(buf_release) struct buf text;
    AUTO(auto_job) struct job *job = NULL;

    buf_init(&text, 0);
    buf_puts(&text,
             "{apiVersion: paceline.dev/v1, kind: TrainingJob, metadata: {name: j}, spec: {");
    buf_puts(&text, head);
    add(&text);
    buf_puts(&text, tail);
    job = job_parse(text.data, text.len, "test.yaml", NULL, 0, &problems);
    for (size_t i = 0; i < problems.n; i++)
        TEST_FAIL("%s", problems.items[i]);
    if (job)
        check_fits(job, name);
}

static void test_honest(void)
{
    AUTO(globfree) glob_t files = {0};

    CHECK_INT(glob("examples/*.yaml", 0, NULL, &files), 0);
    CHECK(files.gl_pathc > 10);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        AUTO(problems_release) struct problems problems = {0};
        AUTO(auto_job) struct job *job = job_load(files.gl_pathv[i], NULL, 0, &problems);

        if (job)
            check_fits(job, files.gl_pathv[i]);
        CHECK(job != NULL);
    }
    check_job("256 layers", "dataset: {name: fashion-mnist}, model: {layers: [", add_layers,
              "]}}}");
    check_job("12 large containers",
              "replicas: {worker: {replicas: 4096, template: {spec: {containers: [", add_containers,
              "]}}}}}}");
}

int main(void)
{
    test_honest();
    test_stripped();
    test_too_large();
    test_large_of_another();
    return test_result();
}
