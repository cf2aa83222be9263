#include "cli/report/report.h"

#include <math.h>
#include <string.h>

#include "cli/base/format.h"
#include "cli/report/classes.h"
#include "cli/report/metric_labels.h"
#include "cli/report/page.h"
#include "cli/report/report_times.h"
#include "paceline/file.h"
#include "paceline/mem.h"

#define MATRIX_MAX 20
#define ACCURACY_BELOW 0.2
#define LOSS_ABOVE 2.5

/* One field of every event of an array, as numbers. */
struct column {
    double *values;
    size_t n;
};

static struct column column_of(const cJSON *events, const char *field)
{
    size_t n = (size_t)cJSON_GetArraySize(events), i = 0;
    struct column c = {xcalloc(n + 1, sizeof *c.values), n};
    const cJSON *event;

    cJSON_ArrayForEach(event, events) c.values[i++] = event_number(event, field);
    return c;
}

static void column_release(struct column *c) { free(c->values); }

/* Progress is drawn over fractional epochs, epochs over their number. */
static struct column progress_x(const struct history *h)
{
    struct column steps = column_of(h->progress, "step");
    double per_epoch = event_number(h->start, "batchesPerEpoch");

    for (size_t i = 0; i < steps.n; i++)
        steps.values[i] /= per_epoch;
    return steps;
}

struct report_curve {
    const char *label, *field;
    int colour;
    bool of_progress;
};

#define CURVES_MAX 3

/* A plot of up to CURVES_MAX fields of the events. */
static void plot_curves(struct buf *out, const struct history *h, const char *title,
                        const struct report_curve *curves, size_t n, struct svg_plot plot)
{
    AUTO(column_release) struct column x_progress = progress_x(h);
    AUTO(column_release) struct column x_epochs = column_of(h->epochs, "epoch");
    struct column y[CURVES_MAX];
    struct svg_series series[CURVES_MAX];

    for (size_t i = 0; i < n; i++) {
        bool fine = curves[i].of_progress;

        y[i] = column_of(fine ? h->progress : h->epochs, curves[i].field);
        series[i] = (struct svg_series){
            .label = curves[i].label,
            .colour = curves[i].colour,
            .x = fine ? x_progress.values : x_epochs.values,
            .y = y[i].values,
            .n = y[i].n,
            .marks = !fine,
        };
    }
    plot.x_label = "epoch";
    plot.x_max = cJSON_GetArraySize(h->epochs);
    plot.series = series;
    plot.n_series = n;
    page_plot(out, title, &plot);
    for (size_t i = 0; i < n; i++)
        column_release(&y[i]);
}

/* 0 when there is none: fmax drops NAN. */
static double report_first_of(const cJSON *events, const char *field)
{
    return fmax(0, event_number(cJSON_GetArrayItem(events, 0), field));
}

static void curves(struct buf *out, const struct history *h)
{
    const struct metric_labels *terms = metric_labels_of(h->done);
    const struct report_curve quality[] = {{"train", terms->quality, 0, true},
                                           {"validation", terms->validation, 1, false},
                                           {"test", terms->test, 2, false}};
    static const struct report_curve loss[] = {{"train", "loss", 0, true},
                                               {"validation", "validationLoss", 1, false},
                                               {"test", "testLoss", 2, false}};
    static const struct report_curve rate[] = {{"learning rate", "learningRate", 3, false}};
    const struct report_curve speed[] = {{terms->unit, terms->rate, 3, true}};
    AUTO(auto_free) char *throughput = xasprintf("Throughput, %s per second", terms->things);
    struct svg_plot all = {0}, qualities = {.percent = true, .y_max = 1}, losses = {0};

    /* The first steps would flatten what follows: the axes start near the first epoch's test. */
    qualities.y_min = fmax(0, report_first_of(h->epochs, terms->test) - ACCURACY_BELOW);
    if (!terms->share)
        qualities =
            (struct svg_plot){.y_max = LOSS_ABOVE * report_first_of(h->epochs, terms->test)};
    losses.y_max = LOSS_ABOVE * report_first_of(h->epochs, "testLoss");
    buf_puts(out, "<section class=\"two\">");
    plot_curves(out, h, terms->title, quality, 3, qualities);
    plot_curves(out, h, "Loss", loss, 3, losses);
    plot_curves(out, h, throughput, speed, 1, all);
    plot_curves(out, h, "Learning rate", rate, 1, all);
    buf_puts(out, "</section>\n");
}

/* The metrics beside the main one. */
static struct format_text quality_note(const cJSON *done)
{
    const double r2 = event_number(done, "testR2"), f1 = event_number(done, "testF1");
    struct format_text note = {""};

    if (isfinite(r2))
        snprintf(note.s, sizeof note.s, "R2 %.16s, RMSE %.16s", format_loss(r2).s,
                 format_loss(event_number(done, "testRmse")).s);
    else if (isfinite(event_number(done, "top5")))
        snprintf(note.s, sizeof note.s, "%.12s in the top 5",
                 format_percent(event_number(done, "top5")).s);
    if (isfinite(f1))
        snprintf(note.s + strlen(note.s), sizeof note.s - strlen(note.s), "%sF1 %.12s",
                 *note.s ? ", " : "", format_percent(f1).s);
    return note;
}

static void tiles(struct buf *out, const struct history *h)
{
    const cJSON *done = h->done, *start = h->start;
    const struct metric_labels *terms = metric_labels_of(done);
    struct format_text note;

    page_tiles_begin(out);
    note = quality_note(done);
    page_tile(out, terms->test_title, terms->format(event_number(done, terms->test)).s, note.s);
    page_tile(out, "Test loss", format_loss(event_number(done, "testLoss")).s,
              event_text(start, "model"));
    page_tile(out, "Time", format_seconds(event_number(done, "seconds")).s,
              format_plural(event_number(done, "step"), "step").s);
    page_tile(out, terms->rates, format_rate(event_number(done, terms->rate)).s, "while training");
    note = format_plural(event_number(start, "threads"), "thread");
    snprintf(note.s + strlen(note.s), sizeof note.s - strlen(note.s), " each, %.24s",
             history_arithmetic(start).s);
    page_tile(out, "Ranks", format_count(event_number(start, "ranks")).s, note.s);
    page_tiles_end(out);
}

static const char *label_of(const void *arg, int i)
{
    const struct class_name *names = arg;

    return names[i].s;
}

static void confusion(struct buf *out, const struct report *r)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(r->history->done, "confusion"), *row;
    int n = cJSON_GetArraySize(rows), i = 0;
    AUTO(auto_free) double *counts = NULL;
    struct class_name names[MATRIX_MAX];

    if (n < 2 || n > MATRIX_MAX)
        return;
    counts = xcalloc((size_t)n * (size_t)n, sizeof *counts);
    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *cell;
        int c = 0;

        names[i] = class_name(r->history->done, r->dataset, i);
        cJSON_ArrayForEach(cell, row) if (c < n) counts[i * n + c++] = cell->valuedouble;
        i++;
    }
    buf_puts(out, "<figure class=\"card\"><div class=\"head\"><h2>Confusion on the test set</h2>"
                  "<div class=\"legend\"><span>rows: true class, columns: predicted</span></div>"
                  "</div>");
    svg_matrix(out, counts, n, label_of, names);
    buf_puts(out, "</figure>\n");
}

/* "148.2 MiB, 147.9 MiB": one value per rank. */
static void memory_fact(struct buf *out, const cJSON *done)
{
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(done, "perRank"), *item;
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(ranks, "peakBytes");
    struct buf text;

    buf_init(&text, 0);
    cJSON_ArrayForEach(item, all)
        buf_printf(&text, "%s%s", text.len ? ", " : "", format_bytes(item->valuedouble).s);
    page_fact(out, "peak memory per rank", text.data ? text.data : "");
    buf_release(&text);
}

/* A list of how often each value from 0 on occurred. */
static void histogram_fact(struct buf *out, const cJSON *done, const char *name, const char *unit)
{
    const cJSON *count, *counts = cJSON_GetObjectItem(done, name);
    double n = 0, sum = 0;
    int value = 0;
    char text[96];

    cJSON_ArrayForEach(count, counts)
    {
        n += count->valuedouble;
        sum += count->valuedouble * value++;
    }
    if (n == 0)
        return;
    snprintf(text, sizeof text, "mean %.2f, at most %d %s", sum / n, value - 1, unit);
    page_fact(out, name, text);
}

static void server_facts(struct buf *out, const cJSON *done)
{
    if (!cJSON_GetObjectItem(done, "applied"))
        return;
    page_fact(out, "gradients applied", format_count(event_number(done, "applied")).s);
    histogram_fact(out, done, "staleness", "updates");
    histogram_fact(out, done, "lead", "batches");
}

static void machine(struct buf *out, const struct report *r)
{
    const cJSON *start = r->history->start, *done = r->history->done;
    AUTO(auto_free) char *early = history_early_stop(r->history);
    const struct {
        const char *name;
        struct format_text value;
    } facts[] = {
        {"parameters", format_count(event_number(start, "params"))},
        {"lanes", format_count(event_number(start, "lanes"))},
        {"batch size", format_count(event_number(start, "batchSize"))},
        {"batches per epoch", format_count(event_number(start, "batchesPerEpoch"))},
        {"training samples", format_count(event_number(start, "trainSamples"))},
        {"validation samples", format_count(event_number(start, "validationSamples"))},
        {"test samples", format_count(event_number(start, "testSamples"))},
        {"first step after", format_seconds(event_number(r->history->first_step, "seconds"))},
        {"sent between ranks", format_bytes(event_number(done, "bytesSent"))},
    };

    buf_puts(out, "<section class=\"card\"><div class=\"head\"><h2>Machine and data</h2></div>"
                  "<table>");
    page_fact(out, "processor", event_text(start, "cpu"));
    page_fact(out, "instruction set", history_arithmetic(start).s);
    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        page_fact(out, facts[i].name, facts[i].value.s);
    page_fact(out, "stopped early", early ? early : "");
    page_fact(out, "strategy switched", history_switch(r->history).s);
    server_facts(out, done);
    memory_fact(out, done);
    page_fact(out, "checkpoint", event_text(done, "checkpoint"));
    buf_puts(out, "</table></section>\n");
}

struct format_text report_when(time_t time)
{
    struct format_text text = {""};
    struct tm tm;

    if (localtime_r(&time, &tm))
        strftime(text.s, sizeof text.s, "%e %B %Y, %H:%M", &tm);
    return text;
}

/* The progress of a run that is not done. */
static void add_progress(const struct history *h, struct buf *out)
{
    const cJSON *last = cJSON_GetArrayItem(h->progress, cJSON_GetArraySize(h->progress) - 1);

    if (!h->done)
        buf_printf(out, "; not done: step %s of %s",
                   format_count(last ? event_number(last, "step") : 0).s,
                   format_count(event_number(h->start, "steps")).s);
}

void report_html(const struct report *r, struct buf *out)
{
    const struct history *h = r->history;
    struct buf subtitle;

    buf_init(&subtitle, 0);
    buf_printf(&subtitle, "%s on %s, %s", event_text(h->start, "model"),
               r->dataset ? r->dataset : "its own data", r->started);
    if (event_true(h->start, "simulated"))
        buf_puts(&subtitle, "; simulated: " FORMAT_SIMULATED);
    add_progress(h, &subtitle);
    page_begin(out, "Paceline training report", event_text(h->start, "job"), subtitle.data);
    tiles(out, h);
    curves(out, h);
    report_times(out, h);
    buf_puts(out, "<section class=\"two\">");
    confusion(out, r);
    machine(out, r);
    buf_puts(out, "</section>\n<details class=\"card\" open><summary>Effective spec</summary>"
                  "<pre>");
    svg_text(out, r->spec);
    buf_puts(out, "</pre></details>\n");
    page_end(out);
    buf_release(&subtitle);
}

int report_write(const struct report *r, const char *path, struct err *err)
{
    struct buf page;
    int result;

    buf_init(&page, 0);
    report_html(r, &page);
    result = file_write_atomic(path, page.data, page.len, err);
    buf_release(&page);
    return result;
}
