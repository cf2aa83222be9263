/* The end of an installation: pods whose outcomes nobody will note any more are let go. */
#ifndef PACELINE_OPERATOR_RELEASE_H
#define PACELINE_OPERATOR_RELEASE_H

#include "operator/kube/client.h"
#include "paceline/err.h"

/*
 * Takes our finalizer off all pods of TrainingJobs in the namespace, NULL: in all, and waits until
 * that is done. It does not see objects that a running operator makes meanwhile. Fails when the API
 * server refuses or cannot be reached.
 */
MUST_CHECK int release_finalizers(struct kube_client *client, const char *namespace_,
                                  int64_t request_ms, struct err *err);

#endif
