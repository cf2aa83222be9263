/*
 * Common to pods with an agent in them: its key, the facts about its pod that it needs, and the
 * pods of spec.mpi, whose agent comes from our image into one that is not ours.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_AGENT_POD_H
#define PACELINE_OPERATOR_OBJECTS_AGENT_POD_H

#include "operator/objects/objects.h"

/* The job's key and, unless the template says something else, the agent's environment. */
void agent_pod_apply(const struct objects_config *config, const struct tj *tj, cJSON *spec,
                     cJSON *container);

/* A variable of the agent's that is a number, unless the template has it. */
void agent_pod_number(cJSON *container, const char *name, int64_t number);

/* Only where the template bounds this resource in no way: the API takes an absent request from the
 * limit, and refuses one above it. */
void agent_pod_request(cJSON *container, const char *resource, const char *quantity);

/* Makes the command of the first container what the agent starts, so many ranks in each pod, and
 * brings the agent. template_parse has checked the pod spec. */
void agent_pod_wrap(const struct objects_config *config, const struct tj *tj, int64_t ranks,
                    cJSON *spec);

#endif
