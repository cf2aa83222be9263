/* Shared by the files of the parser: the tree that is read, and the problems found in it. */
#ifndef PACELINE_SPEC_PARSE_H
#define PACELINE_SPEC_PARSE_H

#include "common/spec_table.h"
#include "paceline/yaml.h"

#define MAX_PROBLEMS 100

struct spec_problem {
    int order; /* by line, overrides last */
    size_t index;
    char *text;
};

struct parse {
    struct yaml_doc doc;
    const cJSON *root; /* doc.root, or the API's object */
    const char *file;  /* NULL: the API's object */
    bool from_api;     /* fields that are not in the table */
    const char *const *sets;
    struct job *job;
    const cJSON *nodes[SPEC_MAX_FIELDS]; /* what the file has, by index of the field */
    bool bad[SPEC_MAX_FIELDS];           /* already reported: rules that read it stay silent */
    struct spec_problem problems[MAX_PROBLEMS];
    size_t n_problems, n_left_out;
};

/* Notes a problem. line is above 0: of the file; -1 - i: of override i; 0: unknown. */
void spec_report(struct parse *p, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts override i, path=value, into the tree, as if the file had it. */
void spec_apply_set(struct parse *p, size_t i);

/* Puts the file's folder before the relative paths that come from the file. Paths from overrides
 * stay. */
void spec_place(struct parse *p, const char *file);

#endif
