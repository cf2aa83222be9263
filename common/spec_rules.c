#include "common/spec_rules.h"

#include "paceline/mem.h"

bool has_replicas(const struct job *job, enum cluster_role role, struct buf *found)
{
    buf_printf(found, "%lld", (long long)job->replicas[role].replicas);
    return job->replicas[role].replicas > 0;
}

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
