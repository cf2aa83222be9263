/* What rank 0 tells the launcher: one JSON object per line on standard output (docs/cli.md). */
#ifndef PACELINE_EVENTS_H
#define PACELINE_EVENTS_H

#include <cjson/cJSON.h>
#include <stdint.h>

/* A new event of that name; fill it with cJSON_Add*, then events_send, which frees it. */
cJSON *event_new(const char *name);
void event_send(cJSON *event);

/* Counts as rows [label][predicted], and the macro averages of precision, recall and F1; left out
 * beyond CONFUSION_MAX classes, for a line is bounded.
 */
#define CONFUSION_MAX 100
void event_add_confusion(cJSON *event, const int64_t *counts, int n);

/* {"event":"stage"}: what is waited for before training. */
void event_stage(const char *stage);

/* {"event":"error"}: code is the exit code. */
void event_error(int code, const char *message);

#endif
