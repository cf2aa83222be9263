/* Metadata of what a job owns: labels that find it, the reference that collects it. */
#ifndef PACELINE_OPERATOR_OBJECTS_OWNER_H
#define PACELINE_OPERATOR_OBJECTS_OWNER_H

#include "operator/api/trainingjob.h"

/*
 * A new object of this API version and kind with metadata: name, namespace, our labels and the
 * owner reference, and the job's own labels and annotations. The caller owns it (cJSON_Delete).
 */
cJSON *owner_object(const struct tj *tj, const char *api_version, const char *kind,
                    const char *name);

/* {LABEL_JOB: job}: what selects the job's pods. The caller owns it. */
cJSON *owner_selector(const struct tj *tj);

#endif
