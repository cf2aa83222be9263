/*
 * How the processes of a job find each other: addresses, ports, ranks, the hostfile (TF_CONFIG:
 * tf_config.h). All of it follows from the generation that status.world names, so every pod of a
 * generation agrees.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_CLUSTER_LAYOUT_H
#define PACELINE_OPERATOR_OBJECTS_CLUSTER_LAYOUT_H

#include "operator/api/trainingjob.h"
#include "paceline/buf.h"
#include "paceline/json.h"

#define TF_PORT 2222 /* as TFJob */
/* torchrun's own default, so programs that set no port agree with those that read MASTER_PORT. */
#define MASTER_PORT 29500
#define CONFIG_FOLDER "/etc/paceline" /* where containers see the ConfigMap */

/* Keys of the ConfigMap. */
#define KEY_SPEC "spec.json"
#define KEY_CLUSTER "cluster.json" /* TF_CONFIG's cluster, of jobs whose size is fixed */
#define KEY_SERVERS "ps.json"      /* its list of parameter servers, of Dynamic ones */
#define KEY_HOSTFILE "hostfile"

struct cluster_layout {
    const char *job, *namespace_; /* borrowed from the tj */
    int64_t generation;           /* at least 1, also before there is a world */
    int64_t replicas[N_CLUSTER_ROLES];
    int ports[N_CLUSTER_ROLES]; /* of TF_CONFIG */
    int slots[N_CLUSTER_ROLES]; /* the CPU limit, at least 1 */
    enum cluster_role master;   /* its first process has rank 0 */
    int master_port;
    bool launched, dynamic, list_evaluator;
    const char *domain; /* of the cluster, or NULL: resolvers know it */
};

/* tj->job must be there; domain: where the job names none. Ports and slots are those of templates
 * that say nothing of them. */
void cluster_layout_init(struct cluster_layout *l, const struct tj *tj, const char *domain);
/* Takes the ports and slots of a role from its template. */
void cluster_layout_read(struct cluster_layout *l, enum cluster_role role, const cJSON *template_);
/* The same for all roles but one (N_CLUSTER_ROLES: for all), whose templates it parses. A template
 * that cannot be read counts as if it said nothing. */
void cluster_layout_read_others(struct cluster_layout *l, const struct job *job,
                                enum cluster_role role);

int64_t cluster_layout_processes(const struct cluster_layout *l); /* of all roles */
int64_t
cluster_layout_world(const struct cluster_layout *l); /* chief and workers: those with a rank */
/* Added to an index, it gives the rank; -1: the role has no ranks. */
int64_t cluster_layout_first_rank(const struct cluster_layout *l, enum cluster_role role);

/* Whether there is a hostfile: not where sizes change beneath it. */
bool cluster_layout_has_hostfile(const struct cluster_layout *l);

/* "<host>.<job>.<namespace>.svc[.<domain>]", without a port. */
void cluster_layout_address(const struct cluster_layout *l, const char *host, struct buf *out);

/* before, the address, after: for each process of a role, with a separator between them. */
void cluster_layout_each(const struct cluster_layout *l, enum cluster_role role, const char *before,
                         const char *after, const char *between, struct buf *out);
void cluster_layout_hostfile(const struct cluster_layout *l,
                             struct buf *out); /* "host slots=2\n"... */

#endif
