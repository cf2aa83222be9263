/* The result of a sieve, worked out once more on a tree of the whole text. */
#ifndef PACELINE_TESTS_UNIT_SIEVE_CHECK_H
#define PACELINE_TESTS_UNIT_SIEVE_CHECK_H

#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/sieve.h"

/* The result of one text. */
struct sieved {
    struct buf items; /* each with a newline after it; one that was cut begins with "cut " */
    struct buf rest;
    enum sieve_result result;
    bool complete;
    int n, stop_at;
};

static inline bool sieved_item(void *arg, const char *text, size_t len, bool cut)
{
    struct sieved *seen = arg;

    if (text[len] != '\0')
        abort();
    buf_puts(&seen->items, cut ? "cut " : "");
    buf_add(&seen->items, text, len);
    buf_puts(&seen->items, "\n");
    return ++seen->n != seen->stop_at;
}

static inline void sieved_release(struct sieved *seen)
{
    buf_release(&seen->items);
    buf_release(&seen->rest);
}

/* Feeds the text in pieces of step bytes; the caller releases *seen. */
static inline void sieve_text_to(struct sieved *seen, const struct sieve_field *fields, bool stream,
                                 const char *text, size_t len, size_t step, sieve_fn *fn, void *arg)
{
    AUTO(sieve_release) struct sieve s;

    buf_init(&seen->items, 0);
    buf_init(&seen->rest, 0);
    seen->result = SIEVE_OK;
    sieve_init(&s, fields, stream);
    for (size_t at = 0; at < len && seen->result == SIEVE_OK; at += step)
        seen->result = sieve_feed(&s, text + at, step < len - at ? step : len - at, fn, arg);
    seen->complete = seen->result == SIEVE_OK && sieve_complete(&s);
    buf_add(&seen->rest, s.rest.data, s.rest.len);
}

/* The same, with the items in *seen. */
static inline void sieve_text(struct sieved *seen, const struct sieve_field *fields, bool stream,
                              const char *text, size_t len, size_t step)
{
    sieve_text_to(seen, fields, stream, text, len, step, sieved_item, seen);
}

static inline bool is_only(const cJSON *item, const char *only)
{
    return cJSON_IsString(item) && strcmp(item->valuestring, only) == 0;
}

static inline cJSON *expected(const cJSON *value, const struct sieve_field *rule, int depth);

static inline void expect_list(cJSON *out, const cJSON *list, const struct sieve_field *rule,
                               int depth)
{
    const cJSON *item;
    bool other = false;

    cJSON_ArrayForEach(item, list)
    {
        bool scalar = !cJSON_IsObject(item) && !cJSON_IsArray(item);

        if (rule->when && cJSON_IsObject(item) &&
            !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, rule->when)))
            continue;
        if (rule->only && scalar && !is_only(item, rule->only)) {
            if (!other)
                cJSON_AddItemToArray(out, cJSON_CreateNull());
            other = true;
            continue;
        }
        cJSON_AddItemToArray(out, expected(item, rule, depth));
    }
}

/* A tree of what is to be kept of value, if nothing is beyond the bounds but its depth. */
static inline cJSON *expected(const cJSON *value, const struct sieve_field *rule, int depth)
{
    const struct sieve_field *field;
    const cJSON *item;
    cJSON *out;

    if (rule->rule == SIEVE_WHOLE || (!cJSON_IsObject(value) && !cJSON_IsArray(value)))
        return cJSON_Duplicate(value, true);
    if (depth == SIEVE_DEPTH)
        return cJSON_CreateNull();
    out = cJSON_IsArray(value) ? cJSON_CreateArray() : cJSON_CreateObject();
    if (cJSON_IsArray(value)) {
        if (rule->rule != SIEVE_ITEMS)
            expect_list(out, value, rule, depth + 1);
        return out;
    }
    cJSON_ArrayForEach(item, value)
    {
        for (field = rule->fields; field && field->name; field++)
            if (strcmp(field->name, item->string) == 0)
                cJSON_AddItemToObject(out, field->name, expected(item, field, depth + 1));
    }
    return out;
}

#endif
