/* A JSON tree as YAML, in block style; what is short and has only scalars is on one line. */
#ifndef PACELINE_CLI_YAML_TEXT_H
#define PACELINE_CLI_YAML_TEXT_H

#include <cjson/cJSON.h>

#include "paceline/buf.h"

/* Appends the object; it reads back to the same tree. */
void yaml_text(const cJSON *object, struct buf *out);

/* Appends the string, in quotes where a reader of YAML may take the bare word for something else.
 */
void yaml_text_string(const char *s, struct buf *out);

#endif
