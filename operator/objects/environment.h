/*
 * The environment of each container; docs/reference/pods.md has the table. Our variables come
 * before the template's own, so that these can use $(RANK). The template's own value wins, except
 * for TF_CONFIG and the variable it is made of, which come last.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_ENVIRONMENT_H
#define PACELINE_OPERATOR_OBJECTS_ENVIRONMENT_H

#include <cjson/cJSON.h>

#include "operator/objects/cluster_layout.h"
#include "operator/objects/tf_config.h"

/* Wires a container; index, host and rank are texts, which may be placeholders. The hostfile is
 * mounted from the volume `paceline-config`. */
void environment_apply(const struct cluster_layout *l, const struct tf_process *p, const char *rank,
                       cJSON *container);

/* The volume that environment_apply mounted, from the generation's ConfigMap. */
#define CONFIG_VOLUME "paceline-config"

#endif
