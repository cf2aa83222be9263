/* The metrics of losses.h, computed from sums. One function knows where each of them comes from. */
#ifndef PACELINE_METRICS_H
#define PACELINE_METRICS_H

#include <cjson/cJSON.h>

#include "worker/train/trainer.h"

/* NaN: there is none. The metric must fit the labels that were scored. */
double metric_value(enum metric metric, const struct evaluation *e);

/* Metrics of a training that still runs: scores of whole sets are not known. */
static inline struct evaluation evaluation_of(struct totals totals)
{
    return (struct evaluation){totals, no_scores};
}

/* Adds all finite metrics for labels of this kind to an event: as "loss" or, with the set "test",
 * as "testLoss". Without samples it adds none. */
void metrics_add(cJSON *event, const char *set, enum label_kind kind, const struct evaluation *e);

#endif
