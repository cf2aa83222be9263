/*
 * YAML to a JSON tree that remembers lines. The scalars of YAML 1.2's core schema: only plain
 * (unquoted) scalars become true, false, null or numbers. Anchors and aliases are expanded.
 */
#ifndef PACELINE_YAML_H
#define PACELINE_YAML_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "paceline/err.h"

#define YAML_MAX_BYTES ((size_t)1 << 20)
#define YAML_MAX_NODES 10000 /* after aliases are expanded */
#define YAML_MAX_DEPTH 64
#define YAML_MAX_ANCHORS 100
#define YAML_MAX_BLANKS 1024 /* blanks and line breaks in a row */

struct yaml_mark {
    const cJSON *node;
    int line;
};

struct yaml_doc {
    cJSON *root; /* NULL for an empty document */
    struct yaml_mark *marks;
    size_t n_marks;
};

/*
 * Parses one document; name is used in messages ("name:line: ..."). Fails (ERR_INVALID) on bad
 * syntax, duplicate keys, keys that are no scalars, tags, a second document, and beyond the limits
 * above; YAML_MAX_BYTES also bounds the text of all values once aliases are expanded. Numbers that
 * are not finite (.inf, 1e999) become strings. The time is proportional to len. The caller owns
 * *doc (yaml_release), also after a failure.
 */
MUST_CHECK int yaml_parse(struct yaml_doc *doc, const char *text, size_t len, const char *name,
                          struct err *err);
void yaml_release(struct yaml_doc *doc); /* also fit for AUTO */

/* Notes the line of a node; the latest mark counts. */
void yaml_mark(struct yaml_doc *doc, const cJSON *node, int line);

/* The line of a node: of its key in a mapping, of its first character elsewhere; 0: unknown. */
int yaml_line(const struct yaml_doc *doc, const cJSON *node);

#endif
