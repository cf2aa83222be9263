/* The profile of an epoch as an event: by layer, and by the operators that study 000 names. */
#ifndef PACELINE_PROFILE_EVENT_H
#define PACELINE_PROFILE_EVENT_H

#include "worker/train/loop/measure.h"

#define PROFILE_EVENT_LAYERS_MAX 300 /* that an event tells of: a line is bounded */

/* Whether training.profile names the epoch that t is in. */
bool profile_event_wanted(const struct trainer *t);
/* Sends {"event":"profile"} of the epoch with this number, from 1, which ends; its phases are `to`
 * less `from`. */
void profile_event_send(const struct trainer *t, int64_t epoch, const struct measured *from,
                        const struct measured *to);

#endif
