/* The rules across fields, in lists by what they are about, and what these share. */
#ifndef PACELINE_SPEC_RULES_H
#define PACELINE_SPEC_RULES_H

#include "common/spec_table.h"

struct rule_list {
    const struct rule *items;
    size_t n;
};
extern const struct rule_list training_rules, strategy_rules, cluster_rules;

/* Writes how many replicas the role has. Whether there are any. */
bool has_replicas(const struct job *job, enum cluster_role role, struct buf *found);

/* What rules read, in CEL (spec_table.h). */
#define CEL_WORKERS "{spec.replicas.worker.replicas}"
#define CEL_BATCH "{spec.training.batchSize}"
#define CEL_OPTIMIZER "spec.training.optimizer."
#define CEL_MOMENTUM "{spec.training.optimizer.momentum|0.9}" /* sgd's: the one with nesterov */

#endif
