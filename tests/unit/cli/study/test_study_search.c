// LINK: cli/study/search.c cli/study/file.c cli/study/result.c cli/base/format.c
// LINK: cli/report/history.c
// LINK: common/events.c common/yaml.c common/json.c common/buf.c common/err.c common/mem.c
// LINK: common/text.c
/* A study's binary search on runs that are made up: what runs, what is found. */
#include "cli/study/search.h"

#include "paceline/mem.h"
#include "tests/test.h"

#define POINTS 7

static const char file[] =
    "apiVersion: paceline.dev/v1\n"
    "kind: Study\n"
    "metadata: {name: \"8\"}\n"
    "title: Eight\n"
    "job: {model: {name: mlp}}\n"
    "scales: [{name: all, seeds: 2}, {name: some, seeds: 2, points: [1, 2, 4]}]\n"
    "variants:\n"
    "- {name: best}\n"
    "- {name: at, series: switch, points: [1, 2, 3, 4, 5, 6, 7]}\n"
    "tables: [{title: T, columns: [{title: x, measure: x}]}]\n"
    "searches:\n"
    "- {title: S, series: switch, reference: best, within: 0.01, measure: testAccuracy}\n";

struct search_fixture {
    struct study study;
    struct study_results r;
    const struct study_search *search;
};

static void set_up(struct search_fixture *f)
{
    struct err err = {0};

    CHECK_INT(study_parse(&f->study, file, strlen(file), "8.yaml", &err), 0);
    CHECK_STR(err.msg, "");
    study_results_init(&f->r, &f->study, 2);
    f->search = f->study.searches;
}

static void tear_down(struct search_fixture *f)
{
    study_results_release(&f->r);
    study_release(&f->study);
}

static void end_run(struct search_fixture *f, int variant, int seed, double accuracy)
{
    AUTO(auto_free)
    char *line = xasprintf("{\"event\":\"done\",\"testAccuracy\":%.17g}", accuracy);
    enum event_type type;
    cJSON *event = event_parse(line, strlen(line), &type);

    history_add(study_run(&f->r, variant, seed), type, event);
}

/* Searches where at-`first` is the first good one; POINTS + 1: none is. Returns how many ran. */
static int search(const char *scale_name, int first, const char *want)
{
    struct search_fixture f;
    const struct study_scale *scale;
    struct study_found found;
    int n = 0;

    set_up(&f);
    scale = study_scale(&f.study, scale_name);
    for (int seed = 0; seed < 2; seed++)
        end_run(&f, 0, seed, 0.9);
    for (found = study_find(&f.r, f.search, scale); found.next >= 0 && n < 100; n++) {
        const bool good = f.study.variants[found.next].x >= first;

        /* Means decide: 0.89 is just good, and one seed alone would say something else. */
        end_run(&f, found.next, 0, 0.5);
        end_run(&f, found.next, 1, good ? 1.2801 : 1.2799);
        found = study_find(&f.r, f.search, scale);
    }
    CHECK_INT(found.n, n);
    CHECK(found.needed > 0.8899 && found.needed < 0.8901);
    CHECK_STR(found.variant < 0 ? "none" : f.study.variants[found.variant].name, want);
    for (size_t i = 0; i < found.n; i++)
        CHECK_INT(found.steps[i].good, f.study.variants[found.steps[i].variant].x >= first);
    tear_down(&f);
    return n;
}

static void test_searches(void)
{
    static const char *const want[] = {"at-1", "at-2", "at-3", "at-4",
                                       "at-5", "at-6", "at-7", "none"};
    static const char *const some[] = {"at-1", "at-2", "at-4", "at-4", "none"};

    for (int first = 1; first <= POINTS + 1; first++)
        CHECK_INT(search("all", first, want[first - 1]), 3);
    for (int first = 1; first <= 5; first++)
        CHECK(search("some", first, some[first - 1]) <= 2);
}

static void test_words(void)
{
    struct search_fixture f;
    struct study_found found;

    set_up(&f);
    CHECK(!study_is_searched(&f.study, 0) && study_is_searched(&f.study, 7));
    found = study_find(&f.r, f.search, f.study.scales);
    CHECK_STR(study_found_text(&f.r, f.search, &found).s, "best was not measured");
    CHECK_INT(found.next, -1); /* nothing is trained to be compared with nothing */
    end_run(&f, 0, 0, 0.9);
    found = study_find(&f.r, f.search, f.study.scales);
    CHECK_STR(study_found_text(&f.r, f.search, &found).s, "at-4 has not run");
    for (int v = 0; v <= POINTS; v++)
        end_run(&f, v, 0, v == 0 || v >= 6 ? 0.9 : 0.1);
    found = study_find(&f.r, f.search, f.study.scales);
    CHECK_INT(found.steps[0].variant, 4);
    CHECK_INT(found.steps[1].variant, 6);
    CHECK_INT(found.steps[2].variant, 5);
    CHECK_STR(study_found_text(&f.r, f.search, &found).s, "at-6, with at least 0.89");
    found = study_find(&f.r, f.search,
                       &(struct study_scale){.seeds = 1, .points = f.study.scales[1].points});
    CHECK_STR(study_found_text(&f.r, f.search, &found).s, "none is as good");
    tear_down(&f);
}

static void check_refused(const char *from, const char *to, const char *want)
{
    AUTO(study_release) struct study s;
    const char *at = strstr(file, from);
    AUTO(auto_free)
    char *text = xasprintf("%.*s%s%s", (int)(at - file), file, to, at + strlen(from));
    struct err err = {0};

    CHECK_INT(study_parse(&s, text, strlen(text), "8.yaml", &err), -1);
    CHECK_CONTAINS(err.msg, want);
}

int main(void)
{
    test_searches();
    test_words();
    check_refused("within: 0.01", "within: -1", "8.yaml:12: within: found no number; needed: one");
    check_refused("reference: best", "reference: b", "8.yaml:12: found \"b\"; needed: the name of");
    check_refused("{title: S, series: switch", "{title: S, series: s",
                  "8.yaml:12: series: found \"s\"; needed: the series of a variant");
    check_refused("[1, 2, 3, 4,", "[1, 2, 4, 3,",
                  "8.yaml:12: series: found x of at-3 out of order");
    return test_result();
}
