/* Events as JSON lines; see events.h. */
#include "worker/train/telemetry/events.h"

#include <stdio.h>
#include <string.h>

#include "paceline/buf.h"
#include "paceline/clock.h"
#include "paceline/mem.h"
#include "paceline/text.h"
#include "worker/checkpoint/config.h"

cJSON *event_new(const char *name)
{
    cJSON *e = cJSON_CreateObject();
    cJSON_AddStringToObject(e, "event", name);
    return e;
}

/* JSON is UTF-8, but a path may have any bytes: one that is no character is printed as in a
 * message, \xe9. */
static void event_print(const char *json)
{
    size_t left = strlen(json);

    while (left) {
        const size_t n = text_character(json, left);

        if (n)
            fwrite(json, 1, n, stdout);
        else
            printf("\\\\x%02x", (unsigned char)*json);
        json += n ? n : 1;
        left -= n ? n : 1;
    }
    fputc('\n', stdout);
    fflush(stdout);
}

void event_send(cJSON *event)
{
    cJSON_AddStringToObject(event, "time", clock_rfc3339(clock_realtime_ns()).s);
    char *line = cJSON_PrintUnformatted(event);
    if (line)
        event_print(line);
    cJSON_free(line);
    cJSON_Delete(event);
}

void event_add_confusion(cJSON *event, const int64_t *counts, int n, struct config_names names)
{
    AUTO(buf_release) struct buf list;

    buf_init(&list, 0);
    if (!counts)
        return;
    config_print_names(names, CLASSES_BYTES_MAX, &list, NULL);
    if (list.len)
        cJSON_AddRawToObject(event, "classes", list.data);
    cJSON *rows = cJSON_AddArrayToObject(event, "confusion");
    for (int i = 0; i < n; i++) {
        cJSON *row = cJSON_CreateArray();
        for (int k = 0; k < n; k++)
            cJSON_AddItemToArray(row, cJSON_CreateNumber((double)counts[i * n + k]));
        cJSON_AddItemToArray(rows, row);
    }
}

void event_add_top5(cJSON *event, double share, int n)
{
    if (n > 5)
        cJSON_AddNumberToObject(event, "top5", share);
}

void event_stage(const char *stage)
{
    cJSON *e = event_new("stage");
    cJSON_AddStringToObject(e, "stage", stage);
    event_send(e);
}

void event_error(int code, const char *message)
{
    cJSON *e = event_new("error");
    cJSON_AddNumberToObject(e, "code", code);
    cJSON_AddStringToObject(e, "message", message);
    event_send(e);
}
