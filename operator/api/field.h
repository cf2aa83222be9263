/*
 * Fields of objects that came from outside: what is absent or of another type reads as absent.
 * Objects may be NULL or no objects at all.
 */
#ifndef PACELINE_OPERATOR_API_FIELD_H
#define PACELINE_OPERATOR_API_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "paceline/arena.h"

const cJSON *field_get(const cJSON *object, const char *key);
/* NULL where there is no string. Borrowed from the object. */
const char *field_string(const cJSON *object, const char *key);
/* The same, copied, and cut to at most max bytes at the end of a character. */
const char *field_text(const cJSON *object, const char *key, size_t max, struct arena *a);
/* The number of bytes of text to keep so that it has at most max and ends with a whole character.
 */
size_t text_cut(const char *text, size_t max);
/* Bytes that are no UTF-8 become '?': what the API server stores is then what we wrote. */
void text_mend(char *text);
bool field_is_true(const cJSON *object, const char *key);
/* Whole numbers; 0 where there is none, clamped into min..max. */
int64_t field_int(const cJSON *object, const char *key, int64_t min, int64_t max);
/* Any finite number, within what the CRD takes; 0 where there is none. */
double field_number(const cJSON *object, const char *key);
/* Milliseconds since 1970; 0 where there is no time. */
int64_t field_time(const cJSON *object, const char *key);

/* "0", "17": decimal, no sign, no leading zeros, at most max. False: it is something else. */
bool decimal_parse(int64_t *out, const char *text, int64_t max);

#endif
