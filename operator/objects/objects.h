/*
 * The objects of a job as JSON bodies for the API server. Pure: what they contain follows from the
 * job, its status and the operator's settings alone, so making one twice makes the same bytes.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_OBJECTS_H
#define PACELINE_OPERATOR_OBJECTS_OBJECTS_H

#include "operator/api/job_event.h"
#include "operator/api/owned.h"
#include "operator/api/trainingjob.h"
#include "paceline/buf.h"

struct objects_config {
    const char *operator_namespace;  /* NetworkPolicies let its pods in */
    const char *cluster_domain;      /* of jobs that name none; NULL: host names end with "svc" */
    const char *worker_image;        /* of built-in jobs; the agent of MPI jobs */
    const unsigned char *master_key; /* 32 bytes: jobs' keys are HKDF(master, job UID) */
};

/* The name of the owned object, but of a Secret: Service and NetworkPolicy "<job>", ConfigMap and
 * PodGroup "<job>-<generation>". */
void owned_name(char out[NAME_SIZE], const struct tj *tj, enum owned_kind kind, int64_t generation);
/* "<job>-key-<8 digits>". A name stands for one key: the digits follow from the job's UID and from
 * the master key. */
void secret_name(char out[NAME_SIZE], const struct objects_config *config, const struct tj *tj);
/* "/api/v1/namespaces/<ns>/services": where objects of the kind are created. ns NULL: all; tj
 * NULL: PodGroups are Volcano's. */
void owned_path(struct buf *out, const struct tj *tj, const char *ns, enum owned_kind kind);
/* Whether the job wants an object of this kind at all (PodGroup: only with a gang that has one). */
bool owned_wanted(const struct tj *tj, enum owned_kind kind);

/* Appends the object. Fails (ERR_INVALID) when it would be beyond the API's limits. */
MUST_CHECK int owned_body(const struct objects_config *config, const struct tj *tj,
                          enum owned_kind kind, struct buf *out, struct err *err);

/*
 * Whether the job's NetworkPolicy keeps the operator from this TCP port of its pods. False where
 * there is none and where it may open the port to anybody.
 */
bool network_policy_denies(const struct objects_config *config, const struct tj *tj, int port);

/*
 * Makes bodies of a role's pods; the role's template is parsed and merged once.
 * Fails (ERR_INVALID) naming the template's path when it cannot be a pod template.
 */
struct pod_maker *pod_maker_new(const struct objects_config *config, const struct tj *tj,
                                enum cluster_role role, struct err *err);
void pod_maker_free(struct pod_maker *m); /* NULL is fine */
void pod_maker_body(const struct pod_maker *m, int index, int64_t incarnation, struct buf *out);

/* TF_CONFIG of a process as the container sees it, for documents and tests. */
void tf_config_text(const struct objects_config *config, const struct tj *tj,
                    enum cluster_role role, int index, struct buf *out);

/* An event on the job; at_ms is when it happened, where the event does not say. */
void event_body(const struct tj *tj, const struct job_event *e, const char *component,
                int64_t at_ms, struct buf *out);
void event_name(char out[NAME_SIZE], const struct tj *tj, const struct job_event *e);

#endif
