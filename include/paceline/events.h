/*
 * The worker's events: one JSON object per line on its standard output (docs/reference/events.md
 * lists them). Lines are bounded; a line that is no event is the caller's to report, an unknown
 * event is not.
 */
#ifndef PACELINE_EVENTS_H
#define PACELINE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/json.h"

#define EVENT_LINE_MAX (64 * 1024)

enum event_type {
    EVENT_UNKNOWN,
    EVENT_START,
    EVENT_FIRST_STEP,
    EVENT_PROGRESS,
    EVENT_EPOCH,
    EVENT_CHECKPOINT,
    EVENT_DONE,
    EVENT_ERROR,
    EVENT_EVALUATION,
    EVENT_PREDICTION,
    EVENT_SKIPPED,
    EVENT_STAGE,
    EVENT_STOPPED,
    EVENT_DURABLE,
    EVENT_CALIBRATION,
    EVENT_SWITCH,
    EVENT_PROFILE,
};

/* The event on a line of len bytes, owned by the caller; NULL when the line is no JSON object
 * with a string "event". */
cJSON *event_parse(const char *line, size_t len, enum event_type *type);

/* A field of an event: NAN, -1 or "" when it is absent, null or of another type. */
double event_number(const cJSON *event, const char *field);
int64_t event_integer(const cJSON *event, const char *field);
const char *event_text(const cJSON *event, const char *field);
bool event_true(const cJSON *event, const char *field); /* whether it is there and true */

/* Cuts a stream of bytes into lines; zeroed is empty. */
struct lines {
    char data[EVENT_LINE_MAX + 1];
    size_t len;
};

/* Called with one line, NUL-terminated, without its end. */
typedef void line_fn(void *arg, const char *line, size_t len);

/* Adds bytes and calls fn for each line that is complete, unless it is empty. Bytes of 0 are left
 * out: mpirun of Open MPI 5 puts them after its own paragraphs, also into the output of ranks.
 * Fails (ERR_INVALID) when a line is longer than EVENT_LINE_MAX. */
MUST_CHECK int lines_add(struct lines *l, const char *bytes, size_t n, line_fn *fn, void *arg,
                         struct err *err);

/* Hands over what is left at the end of the stream, if anything. */
void lines_end(struct lines *l, line_fn *fn, void *arg);

#endif
