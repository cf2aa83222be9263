/* Inside operator/kube: the fields of a kubeconfig, with sentences that say where they stand. */
#ifndef PACELINE_OPERATOR_KUBE_KUBECONFIG_READ_H
#define PACELINE_OPERATOR_KUBE_KUBECONFIG_READ_H

#include <stdbool.h>

#include "operator/kube/access.h"
#include "paceline/yaml.h"

struct kubeconfig_file {
    char *path;
    struct yaml_doc doc;
};

/* An entry of clusters, users or contexts: what its name stands for. */
struct kubeconfig_entry {
    const struct kubeconfig_file *file;
    const cJSON *body; /* a mapping, or NULL when the entry has none */
    const char *kind;  /* "cluster" */
    const char *name;
};

/* "FILE:LINE: cluster "x": " and what follows, as ERR_INVALID; node NULL: without a line. */
int entry_fail(const struct kubeconfig_entry *e, const cJSON *node, struct err *err,
               const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* A field of object that is text; *out is NULL when it is absent, null or "". Borrowed. */
MUST_CHECK int entry_text(const struct kubeconfig_entry *e, const cJSON *object, const char *field,
                          const char **out, struct err *err);
MUST_CHECK int entry_bool(const struct kubeconfig_entry *e, const cJSON *object, const char *field,
                          bool *out, struct err *err);
/* A field that is a list; *out is NULL when it is absent or null. */
MUST_CHECK int entry_list(const struct kubeconfig_entry *e, const cJSON *object, const char *field,
                          const cJSON **out, struct err *err);

/* FIELD-data, in base64, or else the file FIELD; data wins, as in kubectl. */
MUST_CHECK int entry_material(const struct kubeconfig_entry *e, const char *field,
                              struct material *out, struct err *err);

/* path, relative to the folder of the file; the caller frees it. */
char *entry_path(const struct kubeconfig_entry *e, const char *path);

/* The fields of a user into *a. cluster: for exec plugins that ask for it. */
MUST_CHECK int kubeconfig_user(struct kube_access *a, const struct kubeconfig_entry *user,
                               const struct kubeconfig_entry *cluster, struct err *err);

#endif
