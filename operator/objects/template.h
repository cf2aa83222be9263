/* The user's pod template of a role: read, checked as far as we edit it, looked into. */
#ifndef PACELINE_OPERATOR_OBJECTS_TEMPLATE_H
#define PACELINE_OPERATOR_OBJECTS_TEMPLATE_H

#include "paceline/json.h"
#include "paceline/spec.h"

/*
 * Parses the role's template; a built-in job may have none, which gives an empty one. The parts
 * that we edit have the types that the API wants (or are null), and spec.containers is a list, so
 * an edit need not check them; the API server judges all else. Fails (ERR_INVALID) with the path of
 * what is wrong. The caller owns *out (cJSON_Delete).
 */
MUST_CHECK int template_parse(cJSON **out, const struct job *job, enum cluster_role role,
                              struct err *err);

/* The container that decides: the one named tensorflow, pytorch or trainer, else the first; NULL
 * without containers or template. */
const cJSON *template_main_container(const cJSON *template_);

/* The number of the first container port that has one of the names (NULL ends them); 0: none. */
int template_port(const cJSON *template_, const char *const *names);

#endif
