/* The profile of an epoch as an event: by layer, and by the operators that study 000 names. */
#ifndef PACELINE_OPERATORS_H
#define PACELINE_OPERATORS_H

#include "worker/train/measure.h"

#define OPERATORS_LAYERS_MAX 300 /* that an event tells of: a line is bounded */

/* Whether training.profile names the epoch that t is in. */
bool operators_wanted(const struct trainer *t);
/* Sends {"event":"profile"} of the epoch with this number, from 1, which ends; its phases are `to`
 * less `from`. */
void operators_send(const struct trainer *t, int64_t epoch, const struct measured *from,
                    const struct measured *to);

#endif
