/* A self-contained HTML page: style inside, no scripts, no links, light and dark. Pure. */
#ifndef PACELINE_CLI_PAGE_H
#define PACELINE_CLI_PAGE_H

#include <stddef.h>

#include "cli/report/svg.h"
#include "paceline/buf.h"

/* The head of the page up to the first section; kicker: the small line above the title. */
void page_begin(struct buf *out, const char *kicker, const char *title, const char *subtitle);
void page_end(struct buf *out);

/* Numbers at a glance: tiles_begin, tile..., tiles_end. note may be "". */
void page_tiles_begin(struct buf *out);
void page_tile(struct buf *out, const char *name, const char *value, const char *note);
void page_tiles_end(struct buf *out);

/* A figure with a title, a legend of the series that have points, and the plot. */
void page_plot(struct buf *out, const char *title, const struct svg_plot *plot);

/* The plot as an SVG file of its own, with a legend below it. */
void page_drawing(struct buf *out, const struct svg_plot *plot);

/* One entry of a legend. */
void page_legend(struct buf *out, int colour, const char *label, const char *value);

/* A row of a two-column table, left out when value is "" or "-". */
void page_fact(struct buf *out, const char *name, const char *value);

#endif
