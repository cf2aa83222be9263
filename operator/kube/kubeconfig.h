/* kubeconfig files, read as kubectl reads them. */
#ifndef PACELINE_OPERATOR_KUBE_KUBECONFIG_H
#define PACELINE_OPERATOR_KUBE_KUBECONFIG_H

#include "operator/kube/access.h"

/*
 * Reads one file, or with list set a colon-separated list as in $KUBECONFIG: files that are absent
 * are skipped, and of entries with one name the first counts. context NULL: the current one.
 *
 * Paths are relative to the file that has them. Fails with one sentence (ERR_NOT_FOUND: no file,
 * ERR_INVALID: wrong or not supported, ERR_IO) and *a empty. Nothing is run and no file besides
 * the kubeconfigs is read.
 */
MUST_CHECK int kubeconfig_load(struct kube_access *a, const char *files, bool list,
                               const char *context, struct err *err);

/* The same from one text; name stands for its path. */
MUST_CHECK int kubeconfig_parse(struct kube_access *a, const char *text, size_t len,
                                const char *name, const char *context, struct err *err);

#endif
