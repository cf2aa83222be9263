/* The metrics of losses.h of what was added up: one function that knows where each is. */
#ifndef PACELINE_METRICS_H
#define PACELINE_METRICS_H

#include <cjson/cJSON.h>

#include "worker/train/trainer.h"

/* NaN: there is none. The metric must fit the labels that were scored. */
double metric_value(enum metric metric, const struct evaluation *e);

/* Of a training that still runs: its scores are not known. */
static inline struct evaluation evaluation_of(struct totals totals)
{
    return (struct evaluation){totals, no_scores};
}

/* Adds all metrics that labels of this kind have, and that are finite, to an event: as "loss" or,
 * with the set "test", as "testLoss". Without samples it adds none. */
void metrics_add(cJSON *event, const char *set, enum label_kind kind, const struct evaluation *e);

#endif
