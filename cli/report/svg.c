#include "cli/report/svg.h"

#include <math.h>

#include "cli/base/format.h"

#define WIDTH 460.0
#define HEIGHT 250.0
#define LEFT 50.0
#define RIGHT 14.0
#define TOP 12.0
#define BOTTOM 38.0
#define CELL 42.0
#define CELL_LABELS 92.0

void svg_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '>':
            buf_puts(out, "&gt;");
            break;
        case '"':
            buf_puts(out, "&quot;");
            break;
        default:
            buf_add(out, text, 1);
        }
    }
}

double svg_tick_step(double span, int most)
{
    static const double steps[] = {1, 2, 5};
    double power = pow(10, floor(log10(span / most)));

    for (int i = 0; i < 3; i++)
        if (span / (steps[i] * power) <= most)
            return steps[i] * power;
    return 10 * power;
}

/* The data's range, widened to whole ticks. */
struct svg_axis {
    double min, max, step;
};

static void axis_include(struct svg_axis *a, double value)
{
    a->min = value < a->min ? value : a->min;
    a->max = value > a->max ? value : a->max;
}

static void axis_round(struct svg_axis *a, int most)
{
    if (a->max - a->min < 1e-12 * fmax(1, fabs(a->max))) {
        double pad = a->max == 0 ? 1 : fabs(a->max) / 2;

        a->min = a->min < 0 ? a->min - pad : fmax(0, a->min - pad);
        a->max += pad;
    }
    a->step = svg_tick_step(a->max - a->min, most);
    a->min = floor(a->min / a->step + 1e-9) * a->step;
    a->max = ceil(a->max / a->step - 1e-9) * a->step;
}

struct frame {
    struct svg_axis x, y;
};

static double place_x(const struct frame *f, double x)
{
    return LEFT + (x - f->x.min) / (f->x.max - f->x.min) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct frame *f, double y)
{
    return HEIGHT - BOTTOM - (y - f->y.min) / (f->y.max - f->y.min) * (HEIGHT - TOP - BOTTOM);
}

/* False when there is no point to draw. */
static bool frame_of(struct frame *f, const struct svg_plot *plot)
{
    *f = (struct frame){{INFINITY, -INFINITY, 1}, {INFINITY, -INFINITY, 1}};
    for (size_t s = 0; s < plot->n_series; s++) {
        const struct svg_series *series = &plot->series[s];

        for (size_t i = 0; i < series->n; i++) {
            if (!isfinite(series->x[i]) || !isfinite(series->y[i]))
                continue;
            axis_include(&f->x, series->x[i]);
            axis_include(&f->y, series->y[i]);
        }
    }
    if (f->x.min > f->x.max)
        return false;
    if (plot->y_min < plot->y_max)
        f->y = (struct svg_axis){plot->y_min, fmax(plot->y_min, fmin(f->y.max, plot->y_max)), 1};
    else
        axis_include(&f->y, 0);
    axis_include(&f->x, 0);
    f->x.max = fmax(fmax(f->x.max, plot->x_max), 1);
    axis_round(&f->y, 6);
    f->x.step = fmax(1, svg_tick_step(f->x.max, 8));
    return true;
}

static void tick_label(struct buf *out, const struct svg_plot *plot, double value)
{
    if (plot->percent)
        buf_printf(out, "%.4g%%", 100 * value);
    else
        svg_text(out, fabs(value) >= 1000 ? format_count(value).s : format_number(value).s);
}

static void axes(struct buf *out, const struct svg_plot *plot, const struct frame *f)
{
    int n = (int)lround((f->y.max - f->y.min) / f->y.step);

    for (int i = 0; i <= n; i++) {
        double value = f->y.min + i * f->y.step, y = place_y(f, value);

        buf_printf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>", i ? "grid" : "base", LEFT, y,
                   WIDTH - RIGHT);
        buf_printf(out, "<text class=\"tick end\" x=\"%.1f\" y=\"%.1f\">", LEFT - 8, y + 4);
        tick_label(out, plot, fabs(value) < f->y.step / 1e6 ? 0 : value);
        buf_puts(out, "</text>");
    }
    n = (int)((f->x.max - f->x.min) / f->x.step + 1e-9);
    for (int i = 0; i <= n; i++) {
        double value = f->x.min + i * f->x.step;

        buf_printf(out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                   place_x(f, value), HEIGHT - BOTTOM + 16, format_number(value).s);
    }
    buf_printf(out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">", (LEFT + WIDTH - RIGHT) / 2,
               HEIGHT - 5);
    svg_text(out, plot->x_label);
    buf_puts(out, "</text>");
}

static void line(struct buf *out, const struct svg_series *s, const struct frame *f)
{
    bool drawing = false;

    buf_printf(out, "<path class=\"line s%d%s%s\" d=\"", s->colour, s->dashed ? " dashed" : "",
               s->marks || s->dashed ? "" : " fine");
    for (size_t i = 0; i < s->n; i++) {
        bool finite = isfinite(s->x[i]) && isfinite(s->y[i]);

        if (finite)
            buf_printf(out, "%c%.1f %.1f", drawing ? 'L' : 'M', place_x(f, s->x[i]),
                       place_y(f, s->y[i]));
        drawing = finite;
    }
    buf_puts(out, "\"/>");
}

static void marks(struct buf *out, const struct svg_plot *plot, const struct svg_series *s,
                  const struct frame *f)
{
    for (size_t i = 0; i < s->n && s->marks; i++) {
        if (!isfinite(s->x[i]) || s->y[i] < f->y.min || s->y[i] > f->y.max || !isfinite(s->y[i]))
            continue;
        buf_printf(out, "<circle class=\"mark s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\"><title>",
                   s->colour, place_x(f, s->x[i]), place_y(f, s->y[i]));
        svg_text(out, s->label);
        buf_printf(out, ", %s %s: ", plot->x_label, format_number(s->x[i]).s);
        tick_label(out, plot, s->y[i]);
        buf_puts(out, "</title></circle>");
    }
}

void svg_plot(struct buf *out, const struct svg_plot *plot)
{
    struct frame f;

    buf_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">", WIDTH, HEIGHT);
    if (frame_of(&f, plot)) {
        axes(out, plot, &f);
        /* an inner drawing of the frame's size clips what lies outside it */
        buf_printf(out,
                   "<svg x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
                   "viewBox=\"%.0f %.0f %.0f %.0f\" class=\"inner\">",
                   LEFT, TOP - 2, WIDTH - LEFT, HEIGHT - TOP - BOTTOM + 4, LEFT, TOP - 2,
                   WIDTH - LEFT, HEIGHT - TOP - BOTTOM + 4);
        for (size_t s = 0; s < plot->n_series; s++)
            line(out, &plot->series[s], &f);
        buf_puts(out, "</svg>");
        for (size_t s = 0; s < plot->n_series; s++)
            marks(out, plot, &plot->series[s], &f);
    } else {
        buf_printf(out,
                   "<text class=\"tick mid\" x=\"%.0f\" y=\"%.0f\">nothing was recorded</text>",
                   WIDTH / 2, HEIGHT / 2);
    }
    buf_puts(out, "</svg>\n");
}

static void matrix_row(struct buf *out, const double *row, int n, int r, svg_label_fn *label,
                       const void *arg)
{
    double total = 0;

    for (int c = 0; c < n; c++)
        total += row[c];
    buf_printf(out, "<text class=\"tick end\" x=\"%.0f\" y=\"%.0f\">", CELL_LABELS - 8,
               r * CELL + CELL / 2 + 4);
    svg_text(out, label(arg, r));
    buf_puts(out, "</text>");
    for (int c = 0; c < n; c++) {
        double share = total > 0 ? row[c] / total : 0;

        buf_printf(out,
                   "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
                   "rx=\"3\" fill-opacity=\"%.3f\"><title>",
                   r == c ? "right" : "wrong", CELL_LABELS + c * CELL + 1, r * CELL + 1, CELL - 2,
                   CELL - 2, row[c] > 0 ? 0.06 + 0.94 * pow(share, r == c ? 1.0 : 0.6) : 0.03);
        svg_text(out, label(arg, r));
        buf_puts(out, " taken for ");
        svg_text(out, label(arg, c));
        buf_printf(out, ": %s</title></rect>", format_count(row[c]).s);
        if (row[c] > 0)
            buf_printf(out, "<text class=\"cell mid%s\" x=\"%.0f\" y=\"%.0f\">%.0f</text>",
                       share > 0.5 ? " on" : "", CELL_LABELS + (c + 0.5) * CELL,
                       r * CELL + CELL / 2 + 4, row[c]);
    }
}

void svg_matrix(struct buf *out, const double *counts, int n, svg_label_fn *label, const void *arg)
{
    double side = n * CELL;

    buf_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">", CELL_LABELS + side + 4,
               side + CELL_LABELS - 22);
    for (int r = 0; r < n; r++)
        matrix_row(out, counts + (size_t)r * (size_t)n, n, r, label, arg);
    for (int c = 0; c < n; c++) {
        double x = CELL_LABELS + (c + 0.5) * CELL + 4, y = side + 12;

        buf_printf(out, "<text class=\"tick end\" transform=\"translate(%.0f %.0f) rotate(-45)\">",
                   x, y);
        svg_text(out, label(arg, c));
        buf_puts(out, "</text>");
    }
    buf_puts(out, "</svg>\n");
}

void svg_shares(struct buf *out, const double *values, size_t n, double whole)
{
    const double width = 940, height = 26;
    double x = 0;

    buf_printf(out,
               "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" class=\"shares\" "
               "preserveAspectRatio=\"none\">",
               width, height);
    for (size_t i = 0; i < n && whole > 0; i++) {
        double part = values[i] > 0 ? values[i] / whole * width : 0;

        if (part > 0)
            buf_printf(out,
                       "<rect class=\"fill s%zu\" x=\"%.1f\" y=\"0\" width=\"%.1f\" "
                       "height=\"%.0f\"/>",
                       i, x, fmax(part - 1.5, 0.5), height);
        x += part;
    }
    buf_puts(out, "</svg>\n");
}
