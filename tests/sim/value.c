#include "tests/sim/value.h"

#include <stdarg.h>
#include <time.h>

#include "paceline/json.h"
#include "paceline/mem.h"

cJSON *val_get(const cJSON *tree, ...)
{
    va_list keys;
    const char *key;

    va_start(keys, tree);
    while (tree && (key = va_arg(keys, const char *)))
        tree = cJSON_GetObjectItemCaseSensitive(tree, key);
    va_end(keys);
    return (cJSON *)tree;
}

int64_t val_number(const cJSON *value)
{
    return cJSON_IsNumber(value) ? (int64_t)value->valuedouble : 0;
}

cJSON *val_object(cJSON *parent, const char *key)
{
    cJSON *child = cJSON_GetObjectItemCaseSensitive(parent, key);

    return cJSON_IsObject(child) ? child : cJSON_AddObjectToObject(parent, key);
}

void val_set(cJSON *object, const char *key, cJSON *value)
{
    if (!value)
        cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    else if (!cJSON_ReplaceItemInObjectCaseSensitive(object, key, value))
        cJSON_AddItemToObject(object, key, value);
}

void val_set_str(cJSON *object, const char *key, const char *value)
{
    val_set(object, key, value ? cJSON_CreateString(value) : NULL);
}

void val_set_int(cJSON *object, const char *key, int64_t value)
{
    val_set(object, key, cJSON_CreateNumber((double)value));
}

static int find(const cJSON *list, const char *text)
{
    const cJSON *item;
    int i = 0;

    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
            return i;
        i++;
    }
    return -1;
}

bool val_has(const cJSON *list, const char *text) { return find(list, text) >= 0; }

bool val_drop(cJSON *list, const char *text)
{
    int i = find(list, text);

    if (i >= 0)
        cJSON_DeleteItemFromArray(list, i);
    return i >= 0;
}

static void merge_value(cJSON *target, const cJSON *change)
{
    cJSON *old = cJSON_GetObjectItemCaseSensitive(target, change->string);

    if (cJSON_IsNull(change)) {
        cJSON_DeleteItemFromObjectCaseSensitive(target, change->string);
    } else if (!cJSON_IsObject(change)) {
        val_set(target, change->string, cJSON_Duplicate(change, true));
    } else {
        if (!cJSON_IsObject(old)) {
            val_set(target, change->string, cJSON_CreateObject());
            old = cJSON_GetObjectItemCaseSensitive(target, change->string);
        }
        val_merge(old, change);
    }
}

void val_merge(cJSON *target, const cJSON *patch) // NOLINT(misc-no-recursion)
{
    const cJSON *change;

    cJSON_ArrayForEach(change, patch) merge_value(target, change);
}

#define DELETE_FROM "$deleteFromPrimitiveList/"

static void merge_strategic_value(cJSON *target, const cJSON *change)
{
    cJSON *old = cJSON_GetObjectItemCaseSensitive(target, change->string);
    const cJSON *item;

    if (cJSON_IsArray(change) && cJSON_IsArray(old)) {
        cJSON_ArrayForEach(item, change)
        {
            if (!cJSON_IsString(item) || !val_has(old, item->valuestring))
                cJSON_AddItemToArray(old, cJSON_Duplicate(item, true));
        }
    } else if (cJSON_IsObject(change) && cJSON_IsObject(old)) {
        val_merge_strategic(old, change);
    } else {
        merge_value(target, change);
    }
}

void val_merge_strategic(cJSON *target, const cJSON *patch) // NOLINT(misc-no-recursion)
{
    const cJSON *change, *item;

    cJSON_ArrayForEach(change, patch)
    {
        if (strncmp(change->string, DELETE_FROM, sizeof DELETE_FROM - 1) != 0) {
            merge_strategic_value(target, change);
            continue;
        }
        const char *key = change->string + sizeof DELETE_FROM - 1;
        cJSON *list = cJSON_GetObjectItemCaseSensitive(target, key);

        cJSON_ArrayForEach(item, change)
        {
            if (list && cJSON_IsString(item))
                val_drop(list, item->valuestring);
        }
        if (list && !list->child)
            cJSON_DeleteItemFromObjectCaseSensitive(target, key);
    }
}

static cJSON *time_text(int64_t ms, const char *format, bool micro)
{
    time_t seconds = (time_t)(ms / 1000);
    char day[32], text[48];
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(day, sizeof day, format, &tm);
    if (micro)
        snprintf(text, sizeof text, "%s.%06dZ", day, (int)(ms % 1000) * 1000);
    else
        snprintf(text, sizeof text, "%sZ", day);
    return cJSON_CreateString(text);
}

cJSON *val_time(int64_t ms) { return time_text(ms, "%Y-%m-%dT%H:%M:%S", false); }

cJSON *val_micro_time(int64_t ms) { return time_text(ms, "%Y-%m-%dT%H:%M:%S", true); }

int64_t val_ms(const cJSON *time)
{
    const char *text = cJSON_GetStringValue(time), *rest;
    struct tm tm = {0};
    int64_t ms;

    if (!text || !(rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm)))
        return 0;
    ms = (int64_t)timegm(&tm) * 1000;
    if (*rest == '.')
        ms += (int64_t)(strtod(rest, NULL) * 1000 + 0.5);
    return ms;
}

char *val_print(const cJSON *value)
{
    struct buf text;

    if (!value)
        return xstrdup("none");
    buf_init(&text, 0);
    json_print(value, 0, &text);
    return text.data;
}
