/* The objects of a job besides its pods, one maker per kind; owned.c has them in a table. */
#ifndef PACELINE_OPERATOR_OBJECTS_KINDS_H
#define PACELINE_OPERATOR_OBJECTS_KINDS_H

#include "operator/objects/cluster_layout.h"
#include "operator/objects/objects.h"

/* Makers fill in an object that has its metadata. They fail (ERR_INVALID) with a sentence where it
 * would be beyond what the API, or a process, can take. */
MUST_CHECK int service_fill(const struct objects_config *config, const struct tj *tj,
                            const struct cluster_layout *l, cJSON *object, struct err *err);
MUST_CHECK int secret_fill(const struct objects_config *config, const struct tj *tj,
                           const struct cluster_layout *l, cJSON *object, struct err *err);
MUST_CHECK int config_map_fill(const struct objects_config *config, const struct tj *tj,
                               const struct cluster_layout *l, cJSON *object, struct err *err);
MUST_CHECK int network_policy_fill(const struct objects_config *config, const struct tj *tj,
                                   const struct cluster_layout *l, cJSON *object, struct err *err);
MUST_CHECK int pod_group_fill(const struct objects_config *config, const struct tj *tj,
                              const struct cluster_layout *l, cJSON *object, struct err *err);

#endif
