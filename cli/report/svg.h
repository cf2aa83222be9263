/*
 * Drawings for the reports: SVG as text, styled by the page's classes (s0, s1, ... are the colours
 * of the series), so that one drawing fits light and dark. Pure.
 */
#ifndef PACELINE_CLI_SVG_H
#define PACELINE_CLI_SVG_H

#include <stdbool.h>
#include <stddef.h>

#include "paceline/buf.h"

/* Text with & < > " escaped, for HTML and SVG alike. */
void svg_text(struct buf *out, const char *text);

struct svg_series {
    const char *label;
    int colour;          /* class s<colour> */
    const double *x, *y; /* a point that is not finite is left out */
    size_t n;
    bool marks;  /* a dot with its value on every point */
    bool dashed; /* a reference, not a measurement */
};

struct svg_plot {
    const char *x_label;
    bool percent;        /* y is a share */
    double y_min, y_max; /* the y axis starts here and ends here at most; equal: all data and 0 */
    double x_max;        /* the x axis reaches at least this */
    const struct svg_series *series;
    size_t n_series;
};

/* A line plot with axes and grid. Nothing to draw gives a plot that says so. */
void svg_plot(struct buf *out, const struct svg_plot *plot);

/* n x n counts, row by row; colour by share of its row. label(arg, i) names row and column i. */
typedef const char *svg_label_fn(const void *arg, int i);
void svg_matrix(struct buf *out, const double *counts, int n, svg_label_fn *label, const void *arg);

/* Shares of a whole as one bar, in the series' colours. */
void svg_shares(struct buf *out, const double *values, size_t n, double whole);

/* The first tick step of 1, 2, 5 times a power of ten that gives at most `most` steps. */
double svg_tick_step(double span, int most);

#endif
