/* The HTML report of a run: curves, confusion matrix, phases, machine, spec. */
#ifndef PACELINE_CLI_REPORT_H
#define PACELINE_CLI_REPORT_H

#include <time.h>

#include "cli/report/history.h"
#include "paceline/buf.h"
#include "paceline/err.h"

struct report {
    const char *dataset; /* its name, for the classes; may be NULL */
    const char *spec;    /* the effective spec as text */
    const char *started; /* when, as a person reads it */
    const struct history *history;
};

/* A time as a person reads it: "24 November 2026, 22:05", where they are. */
struct format_text report_when(time_t time);

/* The page as text. Parts that the history lacks are left out. */
void report_html(const struct report *r, struct buf *out);

/* Writes it to path, whole or not at all. */
MUST_CHECK int report_write(const struct report *r, const char *path, struct err *err);

#endif
