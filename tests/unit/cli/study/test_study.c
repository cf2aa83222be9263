// LINK: cli/study/file.c cli/study/result.c cli/base/format.c cli/report/history.c common/events.c
// LINK: common/yaml.c common/json.c common/buf.c common/err.c common/text.c common/mem.c
#include "cli/study/result.h"

#include <math.h>

#include "paceline/mem.h"
#include "tests/test.h"

static const char good[] =
    "apiVersion: paceline.dev/v1\n"
    "kind: Study\n"
    "metadata: {name: \"7\"}\n"
    "title: Seven\n"
    "job: {model: {name: mlp}}\n"
    "presets: {p: {training.seed: 3}, q: {}}\n"
    "scales:\n"
    "- {name: small, seeds: 3, set: {training.epochs: 1}}\n"
    "- {name: part, seeds: 1, points: [4, 8], presets: {p: {training.seed: 5}}}\n"
    "variants:\n"
    "- {name: a, series: S, x: 1, use: [p, q]}\n"
    "- {name: b, series: S, x: 2, set: {strategy.type: AllReduce}}\n"
    "- {name: c, calibrate: true}\n"
    "- {name: d, series: D, calibration: c, points: [2, 4], at: [training.seed]}\n"
    "tables:\n"
    "- title: T\n"
    "  columns:\n"
    "  - {title: accuracy, measure: testAccuracy, format: percent, published: {b: 0.5}}\n"
    "  - {title: share, measure: phases.update, per: seconds, against: a}\n"
    "- {title: U, series: [D, S], by: rank, columns: [{title: x, measure: x}]}\n"
    "plots:\n"
    "- {title: P, over: workers, measure: seconds}\n"
    "- {title: Q, over: workers, measure: x, series: [D], beside: {title: y, measure: z}}\n"
    "orderings:\n"
    "- {text: O, measure: seconds, rising: [a, b]}\n";

static int parse(struct study *s, const char *text, struct err *err)
{
    return study_parse(s, text, strlen(text), "7.yaml", err);
}

static void test_file(void)
{
    AUTO(study_release) struct study s;
    struct err err;

    CHECK_INT(parse(&s, good, &err), 0);
    CHECK_STR(s.name, "7");
    CHECK_INT(s.n_variants, 5);
    CHECK_STR(s.variants[1].series, "S");
    CHECK(s.variants[1].x == 2);
    CHECK_INT(study_scale(&s, "small")->seeds, 3);
    CHECK(study_scale(&s, "large") == NULL);
    CHECK_INT(s.tables[0].n_variants, 5);
    CHECK_INT(s.tables[0].columns[0].measure.format, STUDY_PERCENT);
    CHECK_INT(s.tables[0].columns[0].measure.against, -1);
    CHECK(!s.tables[0].by_rank && s.tables[1].by_rank);
    CHECK(isnan(s.tables[0].columns[0].published[0]));
    CHECK(s.tables[0].columns[0].published[1] == 0.5);
    CHECK_INT(s.tables[0].columns[1].measure.against, 0);
    CHECK(!s.plots[0].over_epochs);
    CHECK_INT(s.orderings[0].n_variants, 2);
}

/* Presets, a variant at several points, and what only some scales run. */
static void test_points(void)
{
    AUTO(study_release) struct study s;
    const struct study_scale *small, *part;
    struct err err;

    CHECK_INT(parse(&s, good, &err), 0);
    small = study_scale(&s, "small");
    part = study_scale(&s, "part");
    CHECK_INT(study_variant(&s, "d"), -1);
    CHECK_INT(study_variant(&s, "d-2"), 3);
    CHECK_STR(s.variants[4].name, "d-4");
    CHECK(s.variants[4].x == 4 && s.variants[4].calibration == 2 && s.variants[2].calibrates);
    CHECK_INT(s.variants[0].calibration, -1);
    CHECK(study_runs(small, &s.variants[3]) && study_runs(small, &s.variants[1]));
    CHECK(!study_runs(part, &s.variants[3]) && study_runs(part, &s.variants[4]));
    CHECK(study_runs(part, &s.variants[1])); /* no point: its x says nothing */
    CHECK_INT(cJSON_GetObjectItem(study_preset(&s, small, "p"), "training.seed")->valueint, 3);
    CHECK_INT(cJSON_GetObjectItem(study_preset(&s, part, "p"), "training.seed")->valueint, 5);
    CHECK(study_preset(&s, part, "q") && !study_preset(&s, part, "r"));
    CHECK_INT(s.tables[1].n_variants, 4); /* all but c, which is in no series */
    CHECK_INT(s.tables[1].variants[2], 3);
    CHECK(study_shows(s.plots[0].series, "S") && study_shows(s.plots[1].series, "D"));
    CHECK(!study_shows(s.plots[1].series, "S"));
    CHECK(s.plots[0].beside.field == NULL);
    CHECK_STR(s.plots[1].beside.field, "z");
}

/* The good file with one text replaced. */
static void check_refused(const char *from, const char *to, const char *want)
{
    AUTO(study_release) struct study s;
    const char *at = strstr(good, from);
    AUTO(auto_free)
    char *text = xasprintf("%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    struct err err = {0};

    CHECK_INT(parse(&s, text, &err), -1);
    CHECK_CONTAINS(err.msg, want);
}

static void test_faults(void)
{
    check_refused("kind: Study", "kind: Job", "7.yaml:1: found another apiVersion or kind");
    check_refused("title: Seven\n", "", "7.yaml:1: title: found nothing; needed: a text");
    check_refused("\"7\"", "7", "7.yaml:3: name: found no text; needed: one");
    check_refused("\"7\"", "a/b", "7.yaml:3: name: needed: letters");
    check_refused("job: {model: {name: mlp}}", "job: mlp", "7.yaml:5: job: found no mapping");
    check_refused("{p: {training.seed: 3}", "{p: 3", "7.yaml:6: p: found no mapping");
    check_refused("seeds: 3", "seeds: 101", "7.yaml:8: seeds: needed: a number from 1 to 100");
    check_refused("[4, 8]", "[4, x]", "7.yaml:9: points: found something else; needed: a list of");
    check_refused("series: S, x: 1", "serie: S",
                  "7.yaml:11: found the key \"serie\"; allowed: name");
    check_refused("[p, q]", "[p, r]",
                  "7.yaml:11: use: found \"r\"; needed: a preset of the study or of scale small");
    check_refused("name: b", "name: a", "7.yaml:12: name: found \"a\"; needed: letters");
    check_refused("name: b", "name: ../b", "7.yaml:12: name: found \"../b\"");
    check_refused("calibration: c", "calibration: b",
                  "7.yaml:14: calibration: found \"b\"; needed: a variant before that calibrates");
    check_refused("[2, 4]", "[2, 2]", "7.yaml:14: name: found \"d-2\"; needed: letters");
    check_refused("percent", "percents", "7.yaml:18: format: found \"percents\"; allowed: number");
    check_refused("{b: 0.5}", "{e: 0.5}", "7.yaml:18: found \"e\"; needed: the name of a variant");
    check_refused("{b: 0.5}", "{b: x}", "7.yaml:18: published: found no number");
    check_refused("measure: phases.update, ", "", "7.yaml:19: measure: found nothing");
    check_refused("[D, S]", "[D, T]", "7.yaml:20: series: found \"T\"; needed: the series of");
    check_refused("by: rank", "by: pod", "7.yaml:20: by: found \"pod\"; allowed: variant, rank");
    check_refused("measure: z", "measured: z",
                  "7.yaml:23: found the key \"measured\"; allowed: title");
    check_refused("[a, b]", "[a]", "7.yaml:25: rising: found 1 entries; needed: a list of 2");
    check_refused("[a, b]", "[a, z]", "7.yaml:25: found \"z\"; needed: the name of a variant");
    check_refused(good, "", "7.yaml:1: ");
    check_refused(good, "[1]", "7.yaml:1: ");
}

static void add(struct history *h, const char *format, double value)
{
    AUTO(auto_free) char *line = xasprintf(format, value, value);
    enum event_type type;
    cJSON *event = event_parse(line, strlen(line), &type);

    CHECK(event);
    history_add(h, type, event);
}

/* Runs whose event done says so many seconds. */
static void fill(struct study_results *r, const double *a, const double *b)
{
    for (int seed = 0; seed < r->seeds; seed++) {
        add(study_run(r, 0, seed), "{\"event\":\"done\",\"seconds\":%g,\"list\":[1,%g,2]}",
            a[seed]);
        add(study_run(r, 1, seed), "{\"event\":\"done\",\"seconds\":%g,\"phases\":{\"x\":%g}}",
            b[seed]);
        add(study_run(r, 0, seed), "{\"event\":\"epoch\",\"loss\":9}", 0);
        add(study_run(r, 0, seed), "{\"event\":\"epoch\",\"loss\":%g}", a[seed]);
    }
}

static void check_rises(const double *a, const double *b, enum study_verdict want)
{
    AUTO(study_release) struct study s;
    AUTO(study_results_release) struct study_results r;
    struct err err;

    CHECK_INT(parse(&s, good, &err), 0);
    study_results_init(&r, &s, 3);
    fill(&r, a, b);
    CHECK_INT(study_judge(&r, &s.orderings[0]), want);
}

/* Run 1, 2 went on from a checkpoint: what is summed up is of its last part. */
static void test_part(struct history *h, const struct study_results *r)
{
    static const struct {
        const char *field;
        bool whole;
    } fields[] = {{"seconds", false},     {"perRank.update", false},
                  {"bytesTo.1.0", false}, {"perRank.peakBytes.0", true},
                  {"testAccuracy", true}, {"epoch.loss", true}};

    add(h, "{\"event\":\"start\",\"resumedStep\":7}", 0);
    add(h,
        "{\"event\":\"done\",\"seconds\":5.5,\"testAccuracy\":1,\"bytesTo\":[[0,1],[2,0]],"
        "\"perRank\":{\"update\":[3],\"peakBytes\":[4]}}",
        0);
    add(h, "{\"event\":\"epoch\",\"step\":9,\"loss\":3}", 0);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct study_measure m = {.field = fields[i].field, .against = -1};

        CHECK(isfinite(study_value(r, &m, 1, 2)) == fields[i].whole);
    }
}

static void test_results(void)
{
    static const double a[] = {1, 2, 3}, b[] = {3, 4, 5.5}, c[] = {1.5, 2, 2.9};
    AUTO(study_release) struct study s;
    AUTO(study_results_release) struct study_results r;
    struct study_measure m = {.field = "seconds", .against = -1};
    struct study_mean mean;
    struct err err;

    CHECK_INT(parse(&s, good, &err), 0);
    study_results_init(&r, &s, 3);
    fill(&r, a, b);
    CHECK(study_value(&r, &m, 1, 2) == 5.5);
    mean = study_mean_of(&r, &m, 0);
    CHECK(mean.mean == 2 && mean.n == 3);
    CHECK(fabs(mean.half - 4.303 / sqrt(3)) < 1e-12);
    CHECK_STR(study_format_mean(STUDY_SECONDS, mean).s, "2.00 s ± 2.48 s");
    CHECK_STR(study_format(STUDY_SECONDS, 0.01234).s, "12.3 ms");
    m.against = 0;
    CHECK(study_value(&r, &m, 1, 1) == 2);
    m = (struct study_measure){.field = "phases.x", .per = "seconds", .against = -1};
    CHECK(study_value(&r, &m, 1, 0) == 1);
    CHECK(isnan(study_value(&r, &m, 0, 0)));
    CHECK_STR(study_format_mean(STUDY_PERCENT, study_mean_of(&r, &m, 0)).s, "-");
    m = (struct study_measure){.field = "list", .against = -1};
    CHECK(study_value(&r, &m, 0, 2) == 3);
    m.field = "list.2";
    CHECK(study_value(&r, &m, 0, 2) == 2);
    m.field = "list.3";
    CHECK(isnan(study_value(&r, &m, 0, 2)));
    m.field = "epoch.loss";
    CHECK(study_value(&r, &m, 0, 2) == 3);
    add(study_run(&r, 1, 2), "{\"event\":\"start\",\"resumedStep\":0}", 0);
    m.field = "seconds";
    CHECK(study_value(&r, &m, 1, 2) == 5.5);
    test_part(study_run(&r, 1, 2), &r);
    mean = study_mean((const double[]){5}, 1);
    CHECK(mean.mean == 5 && isnan(mean.half));

    check_rises(a, b, STUDY_HELD); /* though the intervals of a and b overlap */
    check_rises(b, a, STUDY_NOT_HELD);
    check_rises(a, c, STUDY_UNDECIDED);
}

/* Rows by rank: servers after workers, what each sent, memory without what was there before. */
static void test_ranks(void)
{
    AUTO(study_release) struct study s;
    AUTO(study_results_release) struct study_results r;
    struct study_row rows[8];
    struct study_column column = {.measure = {.field = "perRank.sentBytes", .against = -1}};
    struct err err;

    CHECK_INT(parse(&s, good, &err), 0);
    study_results_init(&r, &s, 1);
    add(study_run(&r, 0, 0),
        "{\"event\":\"start\",\"ranks\":3,\"workers\":2,\"perRank\":{\"idle\":[1,2,4]}}", 0);
    CHECK_INT(study_rows(&r, &s.tables[1], rows, 8), 0); /* it has not ended */
    add(study_run(&r, 0, 0),
        "{\"event\":\"done\",\"perRank\":{\"peak\":[10,20,30]},"
        "\"bytesTo\":[[0,1,2],[10,0,20],[100,200,0]]}",
        0);
    study_add_traffic(study_run(&r, 0, 0));
    study_add_traffic(study_run(&r, 1, 0)); /* no run */
    CHECK_INT(study_rows(&r, &s.tables[0], rows, 8), 1);
    CHECK_STR(rows[0].label, "a");
    CHECK(study_cell(&r, &column, &rows[0]).mean == 300);
    CHECK_INT(study_rows(&r, &s.tables[1], rows, 2), 2);
    CHECK_INT(study_rows(&r, &s.tables[1], rows, 8), 3);
    CHECK_STR(rows[0].label, "a, worker 0");
    CHECK_STR(rows[1].label, "a, worker 1");
    CHECK_STR(rows[2].label, "a, server 0");
    CHECK(study_cell(&r, &column, &rows[0]).mean == 3);
    CHECK(study_cell(&r, &column, &rows[1]).mean == 30);
    column.measure.field = "perRank.receivedBytes";
    CHECK(study_cell(&r, &column, &rows[0]).mean == 110);
    CHECK(study_cell(&r, &column, &rows[2]).mean == 22);
    column.measure.field = "perRank.peak";
    column.measure.less = "start.perRank.idle";
    CHECK(study_cell(&r, &column, &rows[1]).mean == 18);
    CHECK(study_cell(&r, &column, &rows[2]).mean == 26);
    column.measure.less = "start.perRank.none";
    CHECK(isnan(study_cell(&r, &column, &rows[1]).mean));
}

int main(void)
{
    test_file();
    test_points();
    test_faults();
    test_results();
    test_ranks();
    return test_result();
}
