#include "operator/api/field.h"

#include <string.h>

#include "operator/api/meta.h"
#include "paceline/text.h"

const cJSON *field_get(const cJSON *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

const char *field_string(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(field_get(object, key));
}

size_t text_cut(const char *text, size_t max)
{
    size_t n = strlen(text);

    if (n > max)
        for (n = max; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    return n;
}

void text_mend(char *text)
{
    for (char *at = text, *end = text + strlen(text); at < end;) {
        size_t n = text_character(at, (size_t)(end - at));

        if (n == 0)
            *at = '?';
        at += n ? n : 1;
    }
}

const char *field_text(const cJSON *object, const char *key, size_t max, struct arena *a)
{
    const char *text = field_string(object, key);
    size_t n;
    char *copy;

    if (!text || !*text)
        return NULL;
    n = text_cut(text, max);
    copy = arena_alloc(a, n + 1);
    memcpy(copy, text, n);
    return copy;
}

bool field_is_true(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(field_get(object, key));
}

int64_t field_int(const cJSON *object, const char *key, int64_t min, int64_t max)
{
    const cJSON *item = field_get(object, key);
    double number = cJSON_IsNumber(item) ? item->valuedouble : 0;

    /* NaN, which no parser of ours lets through, fails both tests and ends as min. */
    if (number >= (double)max)
        return max;
    return number > (double)min ? (int64_t)number : min;
}

double field_number(const cJSON *object, const char *key)
{
    const cJSON *item = field_get(object, key);
    double number = cJSON_IsNumber(item) ? item->valuedouble : 0;

    return number > -1e300 && number < 1e300 ? number : 0;
}

int64_t field_time(const cJSON *object, const char *key)
{
    const char *text = field_string(object, key);

    return text ? time_decode(text) : 0;
}

bool decimal_parse(int64_t *out, const char *text, int64_t max)
{
    size_t digits = strspn(text, "0123456789");
    long long value;

    if (digits == 0 || digits > 18 || text[digits] || (digits > 1 && *text == '0'))
        return false;
    value = strtoll(text, NULL, 10);
    if (value > max)
        return false;
    *out = value;
    return true;
}
