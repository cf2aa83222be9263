// LINK: operator/web/metrics.c operator/web/snapshot.c common
/* The text is read back by the rules of Prometheus' exposition format, version 0.0.4. */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "operator/web/metrics.h"
#include "paceline/mem.h"
#include "tests/test.h"

enum { MAX_SAMPLES = 256, MAX_FAMILIES = 64 };

struct metric_family {
    char name[128], type[16];
    bool closed; /* another family's samples came after */
};
struct metric_sample {
    char series[192]; /* name and labels as written */
    double value;
};
struct metrics_text {
    struct metric_family families[MAX_FAMILIES];
    struct metric_sample samples[MAX_SAMPLES];
    size_t n_families, n_samples;
};

static size_t name_length(const char *s)
{
    size_t n = 0;

    while (isalpha((unsigned char)s[n]) || s[n] == '_' || s[n] == ':' ||
           (n > 0 && isdigit((unsigned char)s[n])))
        n++;
    return n;
}

/* Length of {name="value",...}, 0 without labels, (size_t)-1 when it is none. */
static size_t labels_length(const char *s)
{
    const char *p = s;

    if (*p != '{')
        return 0;
    do {
        size_t n = name_length(++p);

        if (n == 0 || p[n] != '=' || p[n + 1] != '"')
            return (size_t)-1;
        p += n + 2;
        while (*p && *p != '"') {
            if (*p == '\\' && !strchr("\\\"n", *++p))
                return (size_t)-1;
            p++;
        }
        if (*p++ != '"')
            return (size_t)-1;
    } while (*p == ',');
    return *p == '}' ? (size_t)(p + 1 - s) : (size_t)-1;
}

static bool ends_with(const char *s, size_t n, const char *end)
{
    return n >= strlen(end) && strncmp(s + n - strlen(end), end, strlen(end)) == 0;
}

/* The family of a sample: its name, without a histogram's suffix. */
static struct metric_family *family_of(struct metrics_text *t, const char *name, size_t n)
{
    static const char *const suffixes[] = {"_bucket", "_sum", "_count"};

    for (size_t i = 0; i < t->n_families; i++) {
        struct metric_family *f = &t->families[i];

        if (strlen(f->name) == n && strncmp(f->name, name, n) == 0)
            return f;
        for (size_t s = 0; s < ARRAY_LEN(suffixes); s++)
            if (strcmp(f->type, "histogram") == 0 && ends_with(name, n, suffixes[s]) &&
                strlen(f->name) == n - strlen(suffixes[s]) &&
                strncmp(f->name, name, strlen(f->name)) == 0)
                return f;
    }
    return NULL;
}

static void read_comment(struct metrics_text *t, const char *line, const char *before)
{
    struct metric_family f = {0};
    char help[512];

    if (sscanf(line, "# HELP %127s %511[^\n]", f.name, help) == 2) {
        CHECK_INT(name_length(f.name), strlen(f.name));
        CHECK(strchr(help, '\\') == NULL); /* would need an escape */
        CHECK(family_of(t, f.name, strlen(f.name)) == NULL);
        return;
    }
    CHECK_INT(sscanf(line, "# TYPE %127s %15s", f.name, f.type), 2);
    CHECK(strncmp(before, "# HELP ", 7) == 0 &&
          strncmp(before + 7, f.name, strlen(f.name)) == 0); /* HELP and TYPE go together */
    CHECK(strcmp(f.type, "counter") == 0 || strcmp(f.type, "gauge") == 0 ||
          strcmp(f.type, "histogram") == 0);
    CHECK_INT(ends_with(f.name, strlen(f.name), "_total"), strcmp(f.type, "counter") == 0);
    for (size_t i = 0; i < t->n_families; i++)
        t->families[i].closed = true;
    CHECK(t->n_families < MAX_FAMILIES);
    t->families[t->n_families++] = f;
}

static void read_sample(struct metrics_text *t, const char *line)
{
    size_t n = name_length(line), labels = labels_length(line + n);
    struct metric_family *f = family_of(t, line, n);
    struct metric_sample *s = &t->samples[t->n_samples];
    char *end;

    CHECK(n > 0 && labels != (size_t)-1 && line[n + labels] == ' ');
    if (n == 0 || labels == (size_t)-1)
        return;
    if (!f || f->closed)
        TEST_FAIL("not in its family: %s", line);
    CHECK(n + labels < sizeof s->series && t->n_samples < MAX_SAMPLES - 1);
    snprintf(s->series, sizeof s->series, "%.*s", (int)(n + labels), line);
    for (size_t i = 0; i < t->n_samples; i++)
        if (strcmp(t->samples[i].series, s->series) == 0)
            TEST_FAIL("twice: %s", s->series);
    s->value = strtod(line + n + labels + 1, &end);
    if (*end || !isfinite(s->value))
        TEST_FAIL("no number: %s", line);
    t->n_samples++;
}

static void read_text(struct metrics_text *t, const struct buf *in)
{
    AUTO(auto_free) char *copy = xstrdup(in->data);
    char *save = NULL;
    const char *before = "";

    *t = (struct metrics_text){0};
    CHECK(in->len > 0 && in->data[in->len - 1] == '\n'); /* the last line too */
    CHECK(strstr(in->data, "\n\n") == NULL && !in->overflowed);
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (*line == '#')
            read_comment(t, line, before);
        else
            read_sample(t, line);
        before = line;
    }
}

static double value(const struct metrics_text *t, const char *series)
{
    for (size_t i = 0; i < t->n_samples; i++)
        if (strcmp(t->samples[i].series, series) == 0)
            return t->samples[i].value;
    TEST_FAIL("no %s", series);
    return NAN;
}

static const char *type(const struct metrics_text *t, const char *name)
{
    for (size_t i = 0; i < t->n_families; i++)
        if (strcmp(t->families[i].name, name) == 0)
            return t->families[i].type;
    return "absent";
}

static const struct metrics_process process = {
    .resident_bytes = 5242880, .cpu_seconds = 0.125, .start_seconds = 1.5e9, .version = "1.2.3"};

/* Every number of the snapshot differs, so that no two can be mixed up. */
static struct snapshot filled(void)
{
    struct snapshot s = {.leader = true,
                         .healthy = true,
                         .pods = 101,
                         .queue_depth = 102,
                         .writes_in_flight = 103,
                         .looks_delayed = 117,
                         .watch_restarts = 104,
                         .relists = 105,
                         .objects_cut = 106,
                         .jobs_finished = {106, 107}};

    for (size_t i = 0; i < N_SNAPSHOT_STATES; i++)
        s.jobs[i] = 200 + i;
    for (size_t i = 0; i < N_SNAPSHOT_RESTARTS; i++)
        s.restarts[i] = 300 + i;
    for (size_t i = 0; i < N_METHODS; i++)
        for (size_t k = 0; k < N_CODES; k++)
            s.requests[i][k] = 400 + 10 * i + k;
    histogram_add(&s.reconcile, 0.0004);
    histogram_add(&s.reconcile, 0.0004);
    histogram_add(&s.reconcile, 0.002);
    histogram_add(&s.sync, 1000);
    return s;
}

static void test_values(void)
{
    static const struct {
        const char *series;
        double value;
    } wants[] = {
        {"paceline_jobs{state=\"Pending\"}", 200},
        {"paceline_jobs{state=\"Running\"}", 201},
        {"paceline_jobs{state=\"Restarting\"}", 202},
        {"paceline_jobs{state=\"Blocked\"}", 203},
        {"paceline_jobs{state=\"Suspended\"}", 204},
        {"paceline_jobs{state=\"Succeeded\"}", 205},
        {"paceline_jobs{state=\"Failed\"}", 206},
        {"paceline_pod_restarts_total{reason=\"Exit\"}", 300},
        {"paceline_pod_restarts_total{reason=\"Disrupted\"}", 301},
        {"paceline_pod_restarts_total{reason=\"NodeLost\"}", 302},
        {"paceline_api_requests_total{verb=\"GET\",code=\"none\"}", 400},
        {"paceline_api_requests_total{verb=\"GET\",code=\"2xx\"}", 402},
        {"paceline_api_requests_total{verb=\"POST\",code=\"409\"}", 416},
        {"paceline_api_requests_total{verb=\"PUT\",code=\"5xx\"}", 425},
        {"paceline_api_requests_total{verb=\"PATCH\",code=\"429\"}", 437},
        {"paceline_api_requests_total{verb=\"DELETE\",code=\"4xx\"}", 444},
        {"paceline_pods", 101},
        {"paceline_workqueue_depth", 102},
        {"paceline_api_writes_in_flight", 103},
        {"paceline_looks_delayed_total", 117},
        {"paceline_watch_restarts_total", 104},
        {"paceline_relists_total", 105},
        {"paceline_objects_cut_total", 106},
        {"paceline_jobs_finished_total{result=\"Succeeded\"}", 106},
        {"paceline_jobs_finished_total{result=\"Failed\"}", 107},
        {"paceline_leader", 1},
        {"paceline_synced", 0},
        {"paceline_reconcile_seconds_bucket{le=\"0.0001\"}", 0},
        {"paceline_reconcile_seconds_bucket{le=\"0.0005\"}", 2},
        {"paceline_reconcile_seconds_bucket{le=\"0.001\"}", 2},
        {"paceline_reconcile_seconds_bucket{le=\"0.005\"}", 3},
        {"paceline_reconcile_seconds_bucket{le=\"60\"}", 3},
        {"paceline_reconcile_seconds_bucket{le=\"+Inf\"}", 3},
        {"paceline_reconcile_seconds_count", 3},
        {"paceline_sync_seconds_bucket{le=\"60\"}", 0},
        {"paceline_sync_seconds_bucket{le=\"+Inf\"}", 1},
        {"paceline_sync_seconds_sum", 1000},
        {"paceline_sync_seconds_count", 1},
        {"paceline_build_info{version=\"1.2.3\"}", 1},
        {"process_resident_memory_bytes", 5242880},
        {"process_cpu_seconds_total", 0.125},
        {"process_start_time_seconds", 1.5e9},
    };
    struct snapshot s = filled();
    AUTO(buf_release) struct buf out;
    static struct metrics_text t;

    buf_init(&out, 0);
    metrics_encode(&s, &process, &out);
    read_text(&t, &out);
    for (size_t i = 0; i < ARRAY_LEN(wants); i++)
        CHECK_NEAR(value(&t, wants[i].series), wants[i].value, 0);
    CHECK_NEAR(value(&t, "paceline_reconcile_seconds_sum"), 0.0028, 1e-12);
    CHECK_STR(type(&t, "paceline_jobs"), "gauge");
    CHECK_STR(type(&t, "paceline_reconcile_seconds"), "histogram");
    CHECK_STR(type(&t, "paceline_sync_seconds"), "histogram");
    CHECK_STR(type(&t, "paceline_api_requests_total"), "counter");
    CHECK_STR(type(&t, "process_cpu_seconds_total"), "counter");
    CHECK_STR(type(&t, "paceline_leader"), "gauge");
    CHECK(out.len < 32768); /* the web thread has room for 64 KiB */
}

/* The largest numbers stay exact, and before the first snapshot the text is sound too. */
static void test_edges(void)
{
    struct snapshot s = {0};
    AUTO(buf_release) struct buf out, none;
    static struct metrics_text t;

    memset(s.jobs, 0xff, sizeof s.jobs);
    buf_init(&out, 0);
    metrics_encode(&s, &process, &out);
    read_text(&t, &out);
    CHECK_CONTAINS(out.data, "paceline_jobs{state=\"Failed\"} 18446744073709551615\n");
    CHECK_NEAR(value(&t, "paceline_leader"), 0, 0);
    buf_init(&none, 0);
    metrics_encode(NULL, &process, &none);
    read_text(&t, &none);
    CHECK_INT(t.n_samples, 4);
}

static void test_histogram(void)
{
    struct histogram h = {0};

    for (int i = 0; i < N_BUCKETS; i++) {
        CHECK(i == 0 || snapshot_bounds[i] > snapshot_bounds[i - 1]);
        histogram_add(&h, snapshot_bounds[i]); /* a bound is inside its bucket */
        CHECK_INT(h.counts[i], 1);
    }
    histogram_add(&h, 1e9);
    CHECK_INT(h.counts[N_BUCKETS], 1);
    CHECK_NEAR(h.sum, 1e9 + 76.66666, 1e-3);
    h = (struct histogram){0};
    histogram_add(&h, -1);
    histogram_add(&h, NAN);
    CHECK_INT(h.counts[0], 2);
    CHECK_NEAR(h.sum, 0, 0);
}

static void test_codes(void)
{
    static const struct {
        int status;
        const char *name;
    } cases[] = {{0, "none"},  {-1, "none"}, {99, "none"}, {101, "1xx"}, {200, "2xx"},
                 {201, "2xx"}, {304, "3xx"}, {400, "4xx"}, {404, "4xx"}, {409, "409"},
                 {410, "4xx"}, {429, "429"}, {500, "5xx"}, {599, "5xx"}, {600, "none"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int code = snapshot_code(cases[i].status);

        CHECK(code >= 0 && code < N_CODES);
        CHECK_STR(snapshot_code_names[code], cases[i].name);
    }
}

int main(void)
{
    test_values();
    test_edges();
    test_histogram();
    test_codes();
    return test_result();
}
