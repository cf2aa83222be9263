#include "cli/study/page.h"

#include <math.h>
#include <string.h>

#include "cli/report/page.h"
#include "cli/study/search.h"
#include "paceline/mem.h"

#define COLOURS 8
#define SERIES_MAX STUDY_VARIANTS_MAX

struct machine_line study_machine(const struct study_results *r)
{
    struct machine_line line = {""};

    for (size_t v = 0; v < r->study->n_variants && !*line.s; v++)
        if (study_run(r, (int)v, 0)->start)
            snprintf(line.s, sizeof line.s, "%.120s, %.24s",
                     event_text(study_run(r, (int)v, 0)->start, "cpu"),
                     history_arithmetic(study_run(r, (int)v, 0)->start).s);
    return line;
}

bool study_simulated(const struct study_results *r)
{
    for (size_t v = 0; v < r->study->n_variants; v++)
        if (event_true(study_run(r, (int)v, 0)->done, "simulated"))
            return true;
    return false;
}

/* --- tables --- */

static void study_page_cell(struct buf *out, const char *text)
{
    buf_puts(out, "<td>");
    svg_text(out, text);
    buf_puts(out, "</td>");
}

static void table_html(const struct study_results *r, const struct study_table *t, struct buf *out)
{
    AUTO(auto_free) struct study_row *rows = xcalloc(STUDY_ROWS_MAX, sizeof *rows);
    const size_t n = study_rows(r, t, rows, STUDY_ROWS_MAX);

    buf_puts(out, "<section class=\"card\"><div class=\"head\"><h2>");
    svg_text(out, t->title);
    buf_puts(out, "</h2></div><table class=\"num\"><tr><th></th>");
    for (size_t c = 0; c < t->n_columns; c++) {
        buf_puts(out, "<th>");
        svg_text(out, t->columns[c].title);
        buf_puts(out, t->columns[c].published ? "</th><th>published</th>" : "</th>");
    }
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, "</tr><tr>");
        study_page_cell(out, rows[i].label);
        for (size_t c = 0; c < t->n_columns; c++) {
            const struct study_column *column = &t->columns[c];

            study_page_cell(out, study_cell_text(r, column, &rows[i]).s);
            if (column->published)
                study_page_cell(
                    out,
                    study_format(column->measure.format, column->published[rows[i].variant]).s);
        }
    }
    buf_puts(out, "</tr></table></section>\n");
}

/* --- plots --- */

/* A curve of its own memory. */
struct study_curve {
    double *x, *y;
    size_t n;
};

static void point(struct study_curve *c, double x, double y)
{
    c->x[c->n] = x;
    c->y[c->n++] = y;
}

static struct study_curve curve_new(size_t room)
{
    return (struct study_curve){xcalloc(room + 1, sizeof(double)),
                                xcalloc(room + 1, sizeof(double)), 0};
}

static int epochs_of(const struct study_results *r, int variant)
{
    return cJSON_GetArraySize(study_run(r, variant, 0)->epochs);
}

/* The mean over seeds of a field of the epochs. */
static struct study_curve epochs_curve(const struct study_results *r, const char *field,
                                       int variant)
{
    const int n = epochs_of(r, variant);
    struct study_curve c = curve_new((size_t)n);
    double values[STUDY_SEEDS_MAX];

    for (int e = 0; e < n; e++) {
        for (int seed = 0; seed < r->seeds; seed++)
            values[seed] =
                event_number(cJSON_GetArrayItem(study_run(r, variant, seed)->epochs, e), field);
        point(&c, e + 1, study_mean(values, r->seeds).mean);
    }
    return c;
}

/* Where the strategy of its first seed changed: one dot on the curve. */
static struct study_curve switch_mark(const struct study_results *r, const struct study_curve *of,
                                      int variant)
{
    const cJSON *s = cJSON_GetObjectItem(study_run(r, variant, 0)->done, "switch");
    const double epoch = event_true(s, "fired") ? event_number(s, "epoch") : NAN;
    struct study_curve c = curve_new(1);

    for (size_t i = 0; i < of->n; i++)
        if (of->x[i] == epoch)
            point(&c, epoch, of->y[i]);
    return c;
}

/* The points of variants of one series. */
static struct study_curve series_curve(const struct study_results *r, const struct study_measure *m,
                                       const char *series)
{
    const struct study *s = r->study;
    struct study_curve c = curve_new(s->n_variants);

    for (size_t v = 0; v < s->n_variants; v++)
        if (s->variants[v].series && strcmp(s->variants[v].series, series) == 0)
            point(&c, s->variants[v].x, study_mean_of(r, m, (int)v).mean);
    return c;
}

/* Whether the variant is the first of a series that the plot shows. */
static bool is_first_of_series(const struct study *s, const struct study_plot *p, size_t v)
{
    if (!s->variants[v].series || !study_shows(p->series, s->variants[v].series))
        return false;
    for (size_t i = 0; i < v; i++)
        if (s->variants[i].series && strcmp(s->variants[i].series, s->variants[v].series) == 0)
            return false;
    return true;
}

struct drawing {
    struct svg_series series[2 * SERIES_MAX];
    struct study_curve curves[2 * SERIES_MAX];
    char *labels[2 * SERIES_MAX];
    size_t n;
};

static struct svg_series *study_page_draw(struct drawing *d, struct study_curve c,
                                          const char *label, int colour, bool marks)
{
    d->curves[d->n] = c;
    d->labels[d->n] = xstrdup(label);
    d->series[d->n] = (struct svg_series){.label = d->labels[d->n],
                                          .colour = colour % COLOURS,
                                          .x = c.x,
                                          .y = c.y,
                                          .n = c.n,
                                          .marks = marks};
    return &d->series[d->n++];
}

static void draw_series(struct drawing *d, const struct study_results *r,
                        const struct study_plot *p, const char *series, int colour)
{
    AUTO(auto_free) char *label = NULL;

    study_page_draw(d, series_curve(r, &p->measure, series), series, colour, true);
    if (!p->beside.field)
        return;
    label = xasprintf("%s, %s", series, p->beside_title);
    study_page_draw(d, series_curve(r, &p->beside, series), label, colour, false)->dashed = true;
}

static void plot_html(const struct study_results *r, const struct study_plot *p, struct buf *out)
{
    AUTO(auto_free) struct drawing *d = xcalloc(1, sizeof *d);
    const struct study *s = r->study;
    int colour = 0;

    for (size_t v = 0; v < s->n_variants; v++) {
        if (p->over_epochs) {
            struct study_curve c = epochs_curve(r, p->measure.field, (int)v);

            study_page_draw(d, c, s->variants[v].name, (int)v, false);
            study_page_draw(d, switch_mark(r, &c, (int)v), "switch", (int)v, true);
        } else if (is_first_of_series(s, p, v)) {
            draw_series(d, r, p, s->variants[v].series, colour++);
        }
    }
    page_plot(out, p->title,
              &(struct svg_plot){.x_label = p->x_label,
                                 .percent = p->measure.format == STUDY_PERCENT,
                                 .series = d->series,
                                 .n_series = d->n});
    for (size_t i = 0; i < d->n; i++) {
        free(d->curves[i].x);
        free(d->curves[i].y);
        free(d->labels[i]);
    }
}

/* --- orderings --- */

static void ordering_html(const struct study_results *r, const struct study_ordering *o,
                          struct buf *out)
{
    buf_puts(out, "<tr>");
    study_page_cell(out, o->text);
    buf_puts(out, "<td>");
    for (size_t i = 0; i < o->n_variants; i++) {
        const int v = o->variants[i];

        if (i > 0)
            buf_printf(out, " %s ",
                       study_rises(r, &o->measure, o->variants[i - 1], v) == STUDY_HELD ? "&lt;"
                                                                                        : "?");
        svg_text(out, r->study->variants[v].name);
        buf_puts(out, " ");
        svg_text(out, study_format_mean(o->measure.format, study_mean_of(r, &o->measure, v)).s);
    }
    buf_puts(out, "</td>");
    study_page_cell(out, study_verdict_text(study_judge(r, o)));
    buf_puts(out, "</tr>");
}

static void orderings_html(const struct study_results *r, struct buf *out)
{
    const struct study *s = r->study;

    if (!s->n_orderings)
        return;
    buf_puts(out, "<section class=\"card\"><div class=\"head\"><h2>What should come out</h2>"
                  "<div class=\"legend\"><span>held: the 95% interval of the differences, seed by "
                  "seed, is above 0</span></div></div><table>");
    for (size_t i = 0; i < s->n_orderings; i++)
        ordering_html(r, &s->orderings[i], out);
    buf_puts(out, "</table></section>\n");
}

/* --- searches --- */

static void search_html(const struct study_results *r, const struct study_search *s,
                        const struct study_scale *scale, struct buf *out)
{
    const struct study_found f = study_find(r, s, scale);

    buf_puts(out, "<section class=\"card\"><div class=\"head\"><h2>");
    svg_text(out, s->title);
    buf_puts(out, "</h2><div class=\"legend\"><span>found: ");
    svg_text(out, study_found_text(r, s, &f).s);
    buf_puts(out,
             "</span></div></div><table class=\"num\"><tr><th>in this order</th><th>measured</th>"
             "<th>needed</th><th></th>");
    for (size_t i = 0; i < f.n; i++) {
        buf_puts(out, "</tr><tr>");
        study_page_cell(out, r->study->variants[f.steps[i].variant].name);
        study_page_cell(out, study_format_mean(s->measure.format, f.steps[i].mean).s);
        study_page_cell(out, study_format(s->measure.format, f.needed).s);
        study_page_cell(out, f.steps[i].good ? "good: earlier" : "not good: later");
    }
    buf_puts(out, "</tr></table></section>\n");
}

/* --- the page --- */

static void paragraph(struct buf *out, const char *text)
{
    if (!*text)
        return;
    buf_puts(out, "<p>");
    svg_text(out, text);
    buf_puts(out, "</p>");
}

void study_html(const struct study_results *r, const struct study_scale *scale, struct buf *out)
{
    const struct study *s = r->study;
    struct buf subtitle;

    buf_init(&subtitle, 0);
    buf_printf(&subtitle, "scale %s, %s of each variant, on %s%s", scale->name,
               format_plural(r->seeds, "seed").s, study_machine(r).s,
               study_simulated(r) ? "; simulated: " FORMAT_SIMULATED : "");
    page_begin(out, "Paceline study report", s->title, subtitle.data);
    buf_release(&subtitle);
    buf_puts(out, "<section class=\"card\">");
    paragraph(out, s->source);
    paragraph(out, s->about);
    paragraph(out, scale->note);
    buf_puts(out, "</section>\n");
    for (size_t i = 0; i < s->n_tables; i++)
        table_html(r, &s->tables[i], out);
    buf_puts(out, "<section class=\"two\">");
    for (size_t i = 0; i < s->n_plots; i++)
        plot_html(r, &s->plots[i], out);
    buf_puts(out, "</section>\n");
    orderings_html(r, out);
    for (size_t i = 0; i < s->n_searches; i++)
        search_html(r, &s->searches[i], scale, out);
    page_end(out);
}
