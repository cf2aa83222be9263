/* What rank 0 tells the launcher: one JSON object per line on standard output (docs/cli.md). */
#ifndef PACELINE_EVENTS_H
#define PACELINE_EVENTS_H

#include <cjson/cJSON.h>

/* A new event of that name; fill it with cJSON_Add*, then events_send, which frees it. */
cJSON *event_new(const char *name);
void event_send(cJSON *event);

/* {"event":"error"}: code is the exit code. */
void event_error(int code, const char *message);

#endif
