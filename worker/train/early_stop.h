/*
 * spec.training.earlyStopping: ends a training that no longer improves. Pure. The rule is that of
 * Keras's EarlyStopping (keras/callbacks/early_stopping.py): a value is the new best if it is
 * better by more than minDelta, and after `patience` epochs in a row without a new best the
 * training ends.
 */
#ifndef PACELINE_EARLY_STOP_H
#define PACELINE_EARLY_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/spec.h"

/* The state of the rule; all zero at first. */
struct early_stop {
    double best;
    int64_t epoch; /* of the best value, from 1; 0: none yet */
    int64_t wait;  /* epochs since then */
};

/* Adds the value of an epoch (from 1) that has ended. NaN is never better. */
void early_stop_add(struct early_stop *e, const struct job_early_stop *rule, int64_t epoch,
                    double value);

/* Whether to stop after the epoch that was added last. */
bool early_stop_due(const struct early_stop *e, const struct job_early_stop *rule);

#endif
