/* Rules for the place and time at which pods may run: tolerations, spread, scheduler, gang. */
#ifndef PACELINE_OPERATOR_OBJECTS_SCHEDULING_H
#define PACELINE_OPERATOR_OBJECTS_SCHEDULING_H

#include "operator/api/trainingjob.h"
#include "operator/objects/cluster_layout.h"

/* Fills what the job and our defaults say into a pod's metadata and spec; the template wins but
 * for the marks of its gang. */
void scheduling_apply(const struct tj *tj, const struct cluster_layout *l, enum cluster_role role,
                      cJSON *meta, cJSON *spec);

/* "<job>-<generation>": of a PodGroup or of Kueue's group. A group's size is fixed while it lives,
 * so each generation has its own. */
void scheduling_group_name(char out[NAME_SIZE], const struct tj *tj, int64_t generation);

/* The number of pods that must be able to run before one does. */
int64_t scheduling_min_members(const struct tj *tj, const struct cluster_layout *l);

#endif
