/*
 * The events of a run so far, kept for the table and the report.
 * Trees are owned by the history; progress is thinned so that any run fits.
 */
#ifndef PACELINE_CLI_HISTORY_H
#define PACELINE_CLI_HISTORY_H

#include <cjson/cJSON.h>

#include "cli/base/format.h"
#include "paceline/events.h"

struct history {
    cJSON *start, *first_step, *done, *error, *evaluation, *calibration; /* the newest, or NULL */
    cJSON *checkpoint, *switched, *prediction, *skipped;                 /* the newest, or NULL */
    cJSON *progress, *epochs, *profiles;                                 /* arrays, in order */
};

void history_init(struct history *h);
void history_release(struct history *h); /* also fit for AUTO */

/* Takes the event over. A start that resumes at a step drops what lies after that step. */
void history_add(struct history *h, enum event_type type, cJSON *event);

/* Adds the events of an earlier part of the run, but not how that part ended; a missing file or a
 * bad line is skipped. */
void history_load(struct history *h, const char *path);

/* The same with how it ended. */
void history_read(struct history *h, const char *path);

/* "at epoch 7: no better for 3 epochs", the caller's; NULL where it was not stopped early. */
char *history_early_stop(const struct history *h);

/* "avx512", "avx512bf16, bf16": what a start event says of the arithmetic. */
struct format_text history_arithmetic(const cJSON *start);

/* When the run changed its strategy; "" where it had but one. */
struct format_text history_switch(const struct history *h);

#endif
