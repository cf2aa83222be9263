/* The rules across fields, in lists by what they are about, and what these share. */
#ifndef PACELINE_SPEC_RULES_H
#define PACELINE_SPEC_RULES_H

#include "common/rule_expr.h"

struct rule_list {
    const struct rule *items;
    size_t n;
};
extern const struct rule_list training_rules, strategy_rules, cluster_rules;

/* Whether the job breaks the i-th of all rules, which applies to it; if so, appends what was found.
 */
bool rule_is_broken(size_t i, struct rule_facts *facts, struct buf *found);

/* Places that several rules read (rule_expr.h). */
#define WORKERS "{spec.replicas.worker.replicas}"
#define BATCH "{spec.training.batchSize}"
#define OPTIMIZER "spec.training.optimizer."
#define MOMENTUM "{spec.training.optimizer.momentum|0.9}" /* sgd's: the one with nesterov */

#endif
