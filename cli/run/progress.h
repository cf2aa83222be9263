/*
 * A run as it is shown while it runs: on a terminal one line that is redrawn in place, else plain
 * lines. Reads events, knows nothing of how they come.
 */
#ifndef PACELINE_CLI_PROGRESS_H
#define PACELINE_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/report/history.h"

struct progress {
    FILE *out;
    bool live; /* redraw in place */
    bool utf8; /* block characters */
    bool colour;
    bool drawn;   /* a bar is on the screen now */
    bool trained; /* a step was made, so there is a throughput */
    double epochs, steps, batches_per_epoch, steps_per_epoch; /* of the start event */
    int64_t quarter;        /* plain: the last quarter of an epoch shown */
    int64_t quiet_until_ms; /* plain: no line before */
};

/* Live when out is a terminal that can move its cursor (TERM is not "dumb"); colour unless
 * NO_COLOR is set. */
void progress_init(struct progress *p, FILE *out);

/* Shows one event; fit for struct session (arg is the progress). */
void progress_show(void *arg, enum event_type type, const cJSON *event);

/* Shows a line of text: in place of the one before on a terminal, else as one more line. */
void progress_note(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Removes the bar, so that something else can be printed. */
void progress_end(struct progress *p);

/* The bar of a share of the work, in `cells` characters; text is at least 3 * cells + 1 bytes. */
void progress_bar(char *text, size_t size, int cells, double share, bool utf8);

/* The table after a run that succeeded. */
void progress_summary(const struct progress *p, const struct history *h, const char *report);

#endif
