/*
 * JSON: thin helpers over cJSON. Depth and size are bounded, duplicate keys are refused, numbers
 * are printed so that they read back to the same double.
 */
#ifndef PACELINE_JSON_H
#define PACELINE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "paceline/buf.h"
#include "paceline/err.h"

#define JSON_MAX_BYTES ((size_t)64 << 20)
#define JSON_MAX_DEPTH 64

/*
 * Parses one JSON value; name is used in messages. The caller owns *out (cJSON_Delete).
 * Fails (ERR_INVALID) on bad syntax, bytes after the value, duplicate keys, a "\u0000" in a
 * string, or more than JSON_MAX_BYTES or JSON_MAX_DEPTH.
 */
MUST_CHECK int json_parse(cJSON **out, const char *text, size_t len, const char *name,
                          struct err *err);

/*
 * The same for a value that another program has accepted: of a key that stands twice the last one
 * stays, and a number beyond the range of a double becomes null.
 */
MUST_CHECK int json_parse_lenient(cJSON **out, const char *text, size_t len, const char *name,
                                  struct err *err);

/* Overwrites every string of the tree before it is deleted, for trees with keys and tokens. NULL is
 * fine. */
void json_wipe(cJSON *tree);

/* Appends the value; NULL becomes null. indent: spaces per level, with one line per entry; 0: all
 * on one line. */
void json_print(const cJSON *value, int indent, struct buf *out);

/* Appends a number in the fewest of 15 to 17 digits that read back to the same double. */
void json_print_number(double number, struct buf *out);

/* Appends the string in quotes, escaped. */
void json_print_string(const char *s, struct buf *out);

void auto_json(cJSON **value);

#endif
