#include "cli/report/history.h"

#include <stdio.h>

#include "paceline/mem.h"

#define PROGRESS_MAX 4096

void history_init(struct history *h)
{
    *h = (struct history){0};
    h->progress = cJSON_CreateArray();
    h->epochs = cJSON_CreateArray();
    h->profiles = cJSON_CreateArray();
}

void history_release(struct history *h)
{
    cJSON *const all[] = {h->start,       h->first_step, h->done,     h->error,  h->evaluation,
                          h->calibration, h->checkpoint, h->progress, h->epochs, h->prediction,
                          h->skipped,     h->switched,   h->profiles};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        cJSON_Delete(all[i]);
    *h = (struct history){0};
}

static void history_replace(cJSON **slot, cJSON *event)
{
    cJSON_Delete(*slot);
    *slot = event;
}

/* Keeps every second element. */
static void thin(cJSON *array)
{
    cJSON *item = array->child;

    while (item && item->next) {
        cJSON_Delete(cJSON_DetachItemViaPointer(array, item->next));
        item = item->next;
    }
}

static void drop_after(cJSON *array, int64_t step)
{
    cJSON *item = array->child;

    while (item) {
        cJSON *next = item->next;

        if (event_integer(item, "step") > step)
            cJSON_Delete(cJSON_DetachItemViaPointer(array, item));
        item = next;
    }
}

static void history_begin(struct history *h, cJSON *start)
{
    int64_t step = event_integer(start, "resumedStep");

    history_replace(&h->start, start);
    drop_after(h->progress, step);
    drop_after(h->epochs, step);
    drop_after(h->profiles, step);
}

void history_add(struct history *h, enum event_type type, cJSON *event)
{
    switch (type) {
    case EVENT_UNKNOWN:
    case EVENT_STAGE:
    case EVENT_STOPPED:
    case EVENT_DURABLE:
        cJSON_Delete(event);
        break;
    case EVENT_START:
        history_begin(h, event);
        break;
    case EVENT_FIRST_STEP:
        history_replace(&h->first_step, event);
        break;
    case EVENT_PROGRESS:
        cJSON_AddItemToArray(h->progress, event);
        if (cJSON_GetArraySize(h->progress) > PROGRESS_MAX)
            thin(h->progress);
        break;
    case EVENT_EPOCH:
        cJSON_AddItemToArray(h->epochs, event);
        break;
    case EVENT_CHECKPOINT:
        history_replace(&h->checkpoint, event);
        break;
    case EVENT_SWITCH:
        history_replace(&h->switched, event);
        break;
    case EVENT_DONE:
        history_replace(&h->done, event);
        break;
    case EVENT_ERROR:
        history_replace(&h->error, event);
        break;
    case EVENT_EVALUATION:
        history_replace(&h->evaluation, event);
        break;
    case EVENT_CALIBRATION:
        history_replace(&h->calibration, event);
        break;
    case EVENT_PROFILE:
        cJSON_AddItemToArray(h->profiles, event);
        break;
    case EVENT_SKIPPED:
        history_replace(&h->skipped, event);
        break;
    case EVENT_PREDICTION:
        history_replace(&h->prediction, event);
        break;
    }
}

static void add_any(void *arg, const char *line, size_t len)
{
    enum event_type type;
    cJSON *event = event_parse(line, len, &type);

    if (event)
        history_add(arg, type, event);
}

static void add_unfinished(void *arg, const char *line, size_t len)
{
    enum event_type type;
    cJSON *event = event_parse(line, len, &type);

    if (event && type != EVENT_DONE && type != EVENT_ERROR)
        history_add(arg, type, event);
    else
        cJSON_Delete(event);
}

static void read_lines(struct history *h, const char *path, line_fn *add)
{
    AUTO(auto_fclose) FILE *f = fopen(path, "re");
    AUTO(auto_free) struct lines *lines = xcalloc(1, sizeof *lines);
    char bytes[4096];
    size_t n;
    struct err err;

    while (f && (n = fread(bytes, 1, sizeof bytes, f)) > 0)
        if (lines_add(lines, bytes, n, add, h, &err) < 0)
            return;
    lines_end(lines, add, h);
}

void history_load(struct history *h, const char *path) { read_lines(h, path, add_unfinished); }

void history_read(struct history *h, const char *path) { read_lines(h, path, add_any); }

char *history_early_stop(const struct history *h)
{
    const cJSON *s = cJSON_GetObjectItemCaseSensitive(h->done, "stoppedEarly");

    if (!s)
        return NULL;
    return xasprintf("at epoch %s: no better for %s", format_count(event_number(s, "epoch")).s,
                     format_plural(event_number(s, "patience"), "epoch").s);
}

struct format_text history_arithmetic(const cJSON *start)
{
    const char *precision = event_text(start, "precision");
    const bool fp32 = !*precision || strcmp(precision, "fp32") == 0;
    struct format_text text;

    snprintf(text.s, sizeof text.s, "%.24s%s%.16s", event_text(start, "isa"), fp32 ? "" : ", ",
             fp32 ? "" : precision);
    return text;
}

struct format_text history_switch(const struct history *h)
{
    const cJSON *s = cJSON_GetObjectItemCaseSensitive(h->done, "switch");
    struct format_text text = {""};

    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(s, "fired")))
        snprintf(text.s, sizeof text.s, "after epoch %lld (%.16s)",
                 (long long)event_integer(s, "epoch"), event_text(s, "reason"));
    else if (s)
        snprintf(text.s, sizeof text.s, "never");
    return text;
}
