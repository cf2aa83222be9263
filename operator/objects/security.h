/*
 * Pod security defaults (DESIGN section 4; Pod Security's level "restricted"), each given only
 * where the template is silent about that very field. To turn one off, say it in the template:
 *
 *   automountServiceAccountToken: true                     spec
 *   securityContext: {runAsNonRoot: false}                 spec, or a container
 *   securityContext: {seccompProfile: {type: Unconfined}}  spec, or a container
 *   securityContext: {readOnlyRootFilesystem: false}       a container
 *   securityContext: {allowPrivilegeEscalation: true}      a container
 *   securityContext: {capabilities: {drop: []}}            a container
 *
 * Saying runAsUser: 0 says runAsNonRoot: false too. Containers whose root became read-only by
 * default get an empty /tmp of their own, without which few programs start.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_SECURITY_H
#define PACELINE_OPERATOR_OBJECTS_SECURITY_H

#include <cjson/cJSON.h>

/* Fills the defaults into a pod spec that template_parse has checked. */
void security_defaults(cJSON *spec);

#endif
