// LINK: cli/report/svg.c cli/base/format.c common/buf.c common/err.c common/text.c common/mem.c
#include "cli/report/svg.h"

#include "paceline/mem.h"
#include "tests/test.h"

static void test_text(void)
{
    AUTO(buf_release) struct buf b;

    buf_init(&b, 0);
    svg_text(&b, "a<b> & \"c\"");
    CHECK_STR(b.data, "a&lt;b&gt; &amp; &quot;c&quot;");
}

static void test_ticks(void)
{
    CHECK_NEAR(svg_tick_step(5, 6), 1, 1e-12);
    CHECK_NEAR(svg_tick_step(7, 6), 2, 1e-12);
    CHECK_NEAR(svg_tick_step(0.3, 6), 0.05, 1e-12);
    CHECK_NEAR(svg_tick_step(35000, 6), 10000, 1e-9);
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static const double x[] = {1, 2, 3, 4}, y[] = {0.5, NAN, 0.7, 0.9};

static void test_plot(void)
{
    const struct svg_series series = {"a & b", 2, x, y, 4, .marks = true};
    AUTO(buf_release) struct buf b;

    buf_init(&b, 0);
    svg_plot(&b, &(struct svg_plot){
                     .x_label = "epoch", .percent = true, .series = &series, .n_series = 1});
    CHECK_INT(count(b.data, "<circle"), 3); /* NAN is left out and breaks the line */
    CHECK_INT(count(b.data, "M"), 2 + count(b.data, "class=\"grid\"") + 1);
    CHECK_CONTAINS(b.data, "<title>a &amp; b, epoch 4: 90%</title>");
    CHECK_CONTAINS(b.data, ">0%<");
    CHECK(!strstr(b.data, "nan"));
}

/* A value outside the wanted range gets no mark. */
static void test_range(void)
{
    const struct svg_series series = {"s", 2, x, y, 4, .marks = true};
    AUTO(buf_release) struct buf b;

    buf_init(&b, 0);
    svg_plot(&b,
             &(struct svg_plot){
                 .x_label = "epoch", .y_min = 0.6, .y_max = 1, .series = &series, .n_series = 1});
    CHECK_INT(count(b.data, "<circle"), 2);
    CHECK_CONTAINS(b.data, ">0.6<");
    CHECK(!strstr(b.data, ">0.5<"));
}

/* Degenerate data draws without NaN or infinity. */
static void test_degenerate(void)
{
    static const double zero[] = {0}, some[] = {7}, infinite[] = {INFINITY};
    const struct {
        const double *x, *y;
        size_t n;
    } cases[] = {{zero, zero, 1}, {zero, some, 1}, {some, some, 1}, {some, infinite, 1}, {x, y, 0}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct svg_series series = {
            .label = "s", .x = cases[i].x, .y = cases[i].y, .n = cases[i].n};
        AUTO(buf_release) struct buf b;

        buf_init(&b, 0);
        svg_plot(&b, &(struct svg_plot){.x_label = "x", .series = &series, .n_series = 1});
        CHECK(!strstr(b.data, "nan") && !strstr(b.data, "inf"));
        CHECK_INT(strstr(b.data, "nothing was recorded") != NULL, i >= 3);
    }
}

static const char *label(const void *arg, int i) { return ((const char *const *)arg)[i]; }

static void test_matrix(void)
{
    static const char *const names[] = {"cat", "dog"};
    static const double counts[] = {9, 1, 0, 0};
    AUTO(buf_release) struct buf b;

    buf_init(&b, 0);
    svg_matrix(&b, counts, 2, label, names);
    CHECK_INT(count(b.data, "<rect"), 4);
    CHECK_CONTAINS(b.data, "cat taken for dog: 1<");
    CHECK_INT(count(b.data, "class=\"cell"), 2); /* zeros are not written */
    CHECK(!strstr(b.data, "nan"));
}

static void test_shares(void)
{
    static const double values[] = {1, 3, 0, NAN};
    AUTO(buf_release) struct buf b;

    buf_init(&b, 0);
    svg_shares(&b, values, 4, 8);
    CHECK_INT(count(b.data, "<rect"), 2);
    CHECK_CONTAINS(b.data, "class=\"fill s1\" x=\"117.5\"");
}

int main(void)
{
    test_text();
    test_ticks();
    test_plot();
    test_range();
    test_degenerate();
    test_matrix();
    test_shares();
    return test_result();
}
