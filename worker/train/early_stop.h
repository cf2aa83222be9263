/*
 * spec.training.earlyStopping: after which epoch the training ends, since it no longer becomes
 * better. Pure. The rule is that of Keras's EarlyStopping (keras/callbacks/early_stopping.py): the
 * best value changes when a new one is better by more than minDelta, and after `patience` epochs in
 * a row without that the training ends.
 */
#ifndef PACELINE_EARLY_STOP_H
#define PACELINE_EARLY_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/spec.h"

/* What the rule remembers; zeroed: nothing yet. */
struct early_stop {
    double best;
    int64_t epoch; /* from 1, of the best; 0: there is none */
    int64_t wait;  /* epochs since then */
};

/* The value of the epoch that has ended (from 1). One that is not a number is no better. */
void early_stop_add(struct early_stop *e, const struct job_early_stop *rule, int64_t epoch,
                    double value);

/* Whether to stop after the epoch that was added last. */
bool early_stop_due(const struct early_stop *e, const struct job_early_stop *rule);

#endif
