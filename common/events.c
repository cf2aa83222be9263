#include "paceline/events.h"

#include <math.h>
#include <string.h>

#include "paceline/mem.h"

#define EXACT_INTEGERS 0x1p53

static const char *const type_names[] = {
    [EVENT_START] = "start",           [EVENT_FIRST_STEP] = "firstStep",
    [EVENT_PROGRESS] = "progress",     [EVENT_EPOCH] = "epoch",
    [EVENT_CHECKPOINT] = "checkpoint", [EVENT_DONE] = "done",
    [EVENT_ERROR] = "error",           [EVENT_EVALUATION] = "evaluation",
    [EVENT_PREDICTION] = "prediction", [EVENT_SKIPPED] = "skipped",
    [EVENT_STAGE] = "stage",           [EVENT_STOPPED] = "stopped",
    [EVENT_DURABLE] = "durable",       [EVENT_CALIBRATION] = "calibration",
    [EVENT_SWITCH] = "switch",         [EVENT_PROFILE] = "profile",
};

cJSON *event_parse(const char *line, size_t len, enum event_type *type)
{
    AUTO(auto_json) cJSON *json = cJSON_ParseWithLength(line, len);
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(json, "event");

    if (!cJSON_IsObject(json) || !cJSON_IsString(name))
        return NULL;
    *type = EVENT_UNKNOWN;
    for (size_t i = 1; i < ARRAY_LEN(type_names); i++)
        if (strcmp(name->valuestring, type_names[i]) == 0)
            *type = (enum event_type)i;
    return STEAL(json);
}

double event_number(const cJSON *event, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, field);

    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

int64_t event_integer(const cJSON *event, const char *field)
{
    double value = event_number(event, field);

    return fabs(value) < EXACT_INTEGERS ? (int64_t)value : -1;
}

bool event_true(const cJSON *event, const char *field)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(event, field));
}

const char *event_text(const cJSON *event, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, field);

    return cJSON_IsString(item) ? item->valuestring : "";
}

static void events_add_text(struct lines *l, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            l->data[l->len++] = bytes[i];
}

int lines_add(struct lines *l, const char *bytes, size_t n, line_fn *fn, void *arg, struct err *err)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t part = end ? (size_t)(end - bytes) : n;

        if (l->len + part > EVENT_LINE_MAX)
            return err_set(err, ERR_INVALID, "a line is longer than %d bytes", EVENT_LINE_MAX);
        events_add_text(l, bytes, part);
        if (!end)
            return 0;
        lines_end(l, fn, arg);
        bytes += part + 1;
        n -= part + 1;
    }
    return 0;
}

void lines_end(struct lines *l, line_fn *fn, void *arg)
{
    l->data[l->len] = '\0';
    if (l->len > 0)
        fn(arg, l->data, l->len);
    l->len = 0;
}
