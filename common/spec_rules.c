#include "common/spec_rules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "paceline/mem.h"

#define MAX_RULES 128

static const struct rule_expr *conditions[MAX_RULES]; /* as spec_rule() counts */

const struct rule *spec_rule(size_t i)
{
    static const struct rule_list *const lists[] = {&training_rules, &strategy_rules,
                                                    &cluster_rules};

    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        if (i < lists[k]->n)
            return &lists[k]->items[i];
        i -= lists[k]->n;
    }
    return NULL;
}

bool rule_is_for(const struct rule *rule, bool model, bool mpi)
{
    switch (rule->job) {
    case RULE_BUILTIN:
        return model;
    case RULE_IMAGE:
        return !model;
    case RULE_MPI:
        return mpi;
    case RULE_ANY:
        break;
    }
    return true;
}

static void parse_conditions(void)
{
    static struct arena arena; /* lives as long as the program */
    const struct rule *rule;

    for (size_t i = 0; (rule = spec_rule(i)); i++) {
        if (i == MAX_RULES)
            abort();
        conditions[i] = rule_expr_parse(&arena, rule->holds, NULL);
    }
}

/* Writes text with the value of each [[EXPRESSION]]. */
static void write_found(const char *text, struct rule_facts *facts, struct buf *found)
{
    AUTO(arena_release) struct arena arena = {0};
    const char *open, *close;

    for (; (open = strstr(text, "[[")); text = close + strlen("]]")) {
        const struct rule_expr *e = rule_expr_parse(&arena, open + strlen("[["), &close);

        buf_add(found, text, (size_t)(open - text));
        buf_printf(found, "%.0f", rule_expr_number(e, facts));
    }
    buf_puts(found, text);
}

bool rule_is_broken(size_t i, struct rule_facts *facts, struct buf *found)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct rule *rule = spec_rule(i);

    pthread_once(&once, parse_conditions);
    if (rule_expr_number(conditions[i], facts) != 0)
        return false;
    if (rule->describe)
        rule->describe(facts->job, found);
    else
        write_found(rule->found, facts, found);
    return true;
}
