#include "worker/train/early_stop.h"

#include "paceline/losses.h"

static bool early_stop_is_better(const struct early_stop *e, const struct job_early_stop *rule,
                                 double value)
{
    if (e->epoch == 0)
        return value == value;
    return metric_defs[rule->monitor].larger ? value - rule->min_delta > e->best
                                             : value + rule->min_delta < e->best;
}

void early_stop_add(struct early_stop *e, const struct job_early_stop *rule, int64_t epoch,
                    double value)
{
    if (early_stop_is_better(e, rule, value))
        *e = (struct early_stop){.best = value, .epoch = epoch};
    else
        e->wait++;
}

bool early_stop_due(const struct early_stop *e, const struct job_early_stop *rule)
{
    return rule->patience > 0 && e->wait >= rule->patience;
}
