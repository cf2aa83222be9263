/*
 * The language of the rules across fields: a part of CEL, which the CRD hands to the API server and
 * rule_expr.c evaluates on a job. Places stand in braces:
 *
 *   {PATH}      the value of a field, or its default where it is absent; {PATH|X}: or X
 *   {?PATH}     whether the field is there (one without a default)
 *   {#lanes}    the lanes that a batch is cut into; {#layers}: the layers of the job's network
 *
 * Of CEL it has || && ! ?: == != < <= > >= in + - * %, literals of texts, numbers, booleans and
 * lists, members, [index], has(), size(), double(), all(), exists_one(), isSorted(), startsWith().
 */
#ifndef PACELINE_RULE_EXPR_H
#define PACELINE_RULE_EXPR_H

#include "common/spec_table.h"
#include "paceline/arena.h"

/* What rules have read of a job; each field is read once. Begin with all but job zero. */
struct rule_facts {
    const struct job *job;
    cJSON *values[SPEC_MAX_FIELDS]; /* NULL: absent */
    bool known[SPEC_MAX_FIELDS];
};
void rule_facts_release(struct rule_facts *facts); /* also fit for AUTO */

/* Reads an expression; it lives as long as the arena. Aborts when the text is not one: the tables
 * are wrong. Sets *end to what follows; NULL: nothing may. */
struct rule_expr;
const struct rule_expr *rule_expr_parse(struct arena *arena, const char *text, const char **end);

/* The expression's value as a number: 1 and 0 for true and false. */
double rule_expr_number(const struct rule_expr *expr, struct rule_facts *facts);

#endif
