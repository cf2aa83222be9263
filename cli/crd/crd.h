/*
 * The CustomResourceDefinition of the TrainingJob, made from the table of fields: its schema with
 * descriptions, bounds and defaults, and its rules in CEL.
 */
#ifndef PACELINE_CLI_CRD_H
#define PACELINE_CLI_CRD_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "common/spec_table.h"
#include "paceline/buf.h"

/* The whole object; the caller owns it. */
cJSON *crd_new(void);

/* The OpenAPI schema of a table of fields. */
cJSON *crd_schema_new(const struct field *fields, size_t n);
/* The schema of the field at path; NULL when there is none. */
cJSON *crd_schema_at(cJSON *schema, const char *path);

/* Adds x-kubernetes-validations for the rules, the choices and what may not change. */
void crd_add_rules(cJSON *schema);
/* Appends a rule's CEL with its {PATH}s written out, {{...}} as {...}; self is "self" or "oldSelf".
 */
void crd_cel(const char *text, const char *self, struct buf *out);

#endif
