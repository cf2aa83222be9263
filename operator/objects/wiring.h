/*
 * The means by which the processes of a job find each other: addresses, TF_CONFIG, ranks, the
 * hostfile. All of it follows from the generation that status.world names, so every pod of a
 * generation agrees.
 */
#ifndef PACELINE_OPERATOR_OBJECTS_WIRING_H
#define PACELINE_OPERATOR_OBJECTS_WIRING_H

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

struct wiring {
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
void wiring_init(struct wiring *w, const struct tj *tj, const char *domain);
/* Takes the ports and slots of a role from its template. */
void wiring_read(struct wiring *w, enum cluster_role role, const cJSON *template_);
/* The same for all roles but one (N_CLUSTER_ROLES: for all), whose templates it parses. A template
 * that cannot be read counts as if it said nothing. */
void wiring_read_others(struct wiring *w, const struct job *job, enum cluster_role role);

int64_t wiring_processes(const struct wiring *w); /* of all roles */
int64_t wiring_world(const struct wiring *w);     /* chief and workers: those with a rank */
/* Added to an index, it gives the rank; -1: the role has no ranks. */
int64_t wiring_first_rank(const struct wiring *w, enum cluster_role role);

/*
 * Whether processes get TF_CONFIG. TFJob gives a job of one process none, so that plain
 * TensorFlow programs run alone; a Dynamic job of one may grow and has it.
 */
bool wiring_has_tf_config(const struct wiring *w);
/* Whether there is a hostfile: not where sizes change beneath it. */
bool wiring_has_hostfile(const struct wiring *w);

/* "<host>.<job>.<namespace>.svc[.<domain>]", without a port. */
void wiring_address(const struct wiring *w, const char *host, struct buf *out);

/* A process by texts, which may also be placeholders: its index and its host name. */
struct tf_process {
    enum cluster_role role;
    const char *index, *host;
};

/*
 * TF_CONFIG of a process. With `by_name` the cluster (of a Dynamic job: the servers) stands there
 * as $(PACELINE_CLUSTER), $(PACELINE_PS), which the kubelet expands, so that 1,000 pods do not
 * carry 50 KB each.
 */
void wiring_tf_config(const struct wiring *w, const struct tf_process *p, bool by_name,
                      struct buf *out);
void wiring_cluster(const struct wiring *w, struct buf *out);  /* {"chief":[...],...} */
void wiring_servers(const struct wiring *w, struct buf *out);  /* ["host:port",...] */
void wiring_hostfile(const struct wiring *w, struct buf *out); /* "host slots=2\n"... */

#endif
