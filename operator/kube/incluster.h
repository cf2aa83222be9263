/* The credentials of the pod we run in. */
#ifndef PACELINE_OPERATOR_KUBE_INCLUSTER_H
#define PACELINE_OPERATOR_KUBE_INCLUSTER_H

#include "operator/kube/access.h"

/* True: KUBERNETES_SERVICE_HOST is set, so this should be a pod. */
bool incluster_offered(void);

/*
 * From KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the service account's folder (NULL:
 * where the kubelet mounts it). ERR_NOT_FOUND or ERR_INVALID with a sentence; *a is then empty.
 */
MUST_CHECK int incluster_load(struct kube_access *a, const char *folder, struct err *err);

#endif
