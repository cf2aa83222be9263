/*
 * What every object of the Kubernetes API has, trimmed to what decisions read; resource versions,
 * times, labels and names.
 */
#ifndef PACELINE_OPERATOR_API_META_H
#define PACELINE_OPERATOR_API_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "paceline/arena.h"
#include "paceline/cluster.h"
#include "paceline/err.h"

#define GROUP "paceline.dev"
#define API_VERSION "paceline.dev/v1"
#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by" /* = MANAGED_BY on all that is ours */
#define MANAGED_BY "paceline-operator"
#define LABEL_JOB "paceline.dev/job-name"
#define LABEL_ROLE "paceline.dev/role"
#define LABEL_INDEX "paceline.dev/index"
#define LABEL_INCARNATION "paceline.dev/incarnation"
#define KEY_VOLUME "paceline-key" /* of a pod: the Secret with its job's key */
#define TRACKING_FINALIZER "paceline.dev/tracking"

#define RV_SIZE 40 /* a resourceVersion with its NUL; longer ones are refused */

struct meta {
    const char *namespace_, *name;
    const char *uid;
    char resource_version[RV_SIZE];
    const char *owner_uid;  /* of the TrainingJob, in the object's namespace, that controls it */
    const char *owner_name; /* both NULL: none does */
    int64_t created_ms;     /* wall clock, since 1970 */
    int64_t deletion_ms;    /* deletionTimestamp (the end of the grace period); 0: not deleting */
    int64_t deletion_grace_ms; /* deletionGracePeriodSeconds; 0 when absent */
    int64_t generation;
};

/*
 * Reads metadata of an object into m, strings into the arena. Fails (ERR_INVALID) where name, uid
 * or resourceVersion are missing or no strings, or are longer than the API allows.
 */
MUST_CHECK int meta_decode(struct meta *m, const cJSON *object, struct arena *a, struct err *err);

/*
 * Whether job is the TrainingJob that controls the object. UIDs alone prove nothing: anybody may
 * write any UID into an object of their own. A reference means an object in the namespace of the
 * one that has it.
 */
bool meta_controls(const struct meta *job, const struct meta *object);

/* Below, at or above 0 as a is older than, the same as or newer than b (decimal strings of any
 * length, KEP-5504). Empty is older than everything. */
int rv_compare(const char *a, const char *b);

/* RFC 3339 to milliseconds since 1970 (fractions allowed, UTC or offset); 0: not a time. */
int64_t time_decode(const char *text);
/* "2026-11-21T07:00:00Z" for whole seconds, with ".123" where there are milliseconds. */
#define TIME_SIZE 32
void time_encode(int64_t ms, char out[TIME_SIZE]);

/* "<job>-<role>-<index>-<incarnation>"; the host name is the same without the incarnation. */
#define NAME_SIZE 128
void pod_name(char out[NAME_SIZE], const char *job, enum cluster_role role, int index,
              int64_t incarnation);
void host_name(char out[NAME_SIZE], const char *job, enum cluster_role role, int index);

#endif
