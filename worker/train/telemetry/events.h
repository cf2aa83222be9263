/* What rank 0 tells the launcher: one JSON object per line on standard output
 * (docs/reference/events.md). */
#ifndef PACELINE_EVENTS_H
#define PACELINE_EVENTS_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "worker/checkpoint/config.h"

/* A new event of that name; fill it with cJSON_Add*, then event_send, which adds the time and frees
 * it. */
cJSON *event_new(const char *name);
void event_send(cJSON *event);

/*
 * Adds counts as n rows [label][predicted], and the names, which may be fewer: a model may have
 * more outputs than the data have classes. counts may be NULL. Names beyond CLASSES_BYTES_MAX bytes
 * are left out, because a line is bounded.
 */
#define CLASSES_BYTES_MAX 8192
void event_add_confusion(cJSON *event, const int64_t *counts, int n, struct config_names names);

/* Adds the share of samples whose label is among the 5 likeliest of n classes. With 5 classes or
 * fewer it would always be 1, so it is left out. */
void event_add_top5(cJSON *event, double share, int n);

/* {"event":"stage"}: what is waited for before training. */
void event_stage(const char *stage);

/* {"event":"error"}: code is the exit code. */
void event_error(int code, const char *message);

#endif
