/*
 * The pod of the built-in engine. A template of the job is laid over it: what the template says
 * wins, field by field, and this fills what it leaves open. containers[0] of the template is the
 * trainer's.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_BUILTIN_H
#define PACELINE_OPERATOR_OBJECTS_BUILTIN_H

#include "operator/objects/objects.h"

/* Fills a pod spec that template_parse has checked; the ConfigMap's mount is not in it. first:
 * worker 0's, which alone has spec.output.volume, since most volumes can be on one node only. */
void builtin_apply(const struct objects_config *config, const struct tj *tj, bool first,
                   cJSON *spec);

#endif
