/* Paths into JSON objects, and the two kinds of patches that the API server takes. */
#ifndef PACELINE_TESTS_SIM_VALUE_H
#define PACELINE_TESTS_SIM_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

/* The value under the keys (the list ends with NULL); NULL when a key is absent. */
cJSON *val_get(const cJSON *tree, ...) __attribute__((sentinel));
/* The same as a string (NULL: absent), a number (0: absent), or true. */
#define val_str(...) cJSON_GetStringValue(val_get(__VA_ARGS__, NULL))
#define val_int(...) val_number(val_get(__VA_ARGS__, NULL))
#define val_true(...) cJSON_IsTrue(val_get(__VA_ARGS__, NULL))
int64_t val_number(const cJSON *value);

/* Object under key, made when absent. */
cJSON *val_object(cJSON *parent, const char *key);
/* Sets key to the value (owned by the tree from now on; NULL removes the key). */
void val_set(cJSON *object, const char *key, cJSON *value);
void val_set_str(cJSON *object, const char *key, const char *value); /* NULL removes */
void val_set_int(cJSON *object, const char *key, int64_t value);

/* Whether a list of strings has the text; removes it. */
bool val_has(const cJSON *list, const char *text);
bool val_drop(cJSON *list, const char *text);

/* RFC 7386. */
void val_merge(cJSON *target, const cJSON *patch);
/* Of the strategic merge patch: objects merge, lists of strings join, and the directive
 * $deleteFromPrimitiveList/<key>. */
void val_merge_strategic(cJSON *target, const cJSON *patch);

/* Seconds since 1970 as the API writes times; with micro seconds for Leases. */
cJSON *val_time(int64_t ms);
cJSON *val_micro_time(int64_t ms);
/* Back to milliseconds; 0: absent. */
int64_t val_ms(const cJSON *time);

/* The value on one line; free() it. */
char *val_print(const cJSON *value);

#endif
