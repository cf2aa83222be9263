/*
 * The cluster spec: TensorFlow's TF_CONFIG and Open MPI's hostfile, in and out. Both come from
 * outside, so sizes are bounded and every address is checked.
 */
#ifndef PACELINE_CLUSTER_H
#define PACELINE_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "paceline/buf.h"
#include "paceline/err.h"

#define CLUSTER_MAX_BYTES ((size_t)1 << 20)
#define CLUSTER_MAX_HOSTS 4096

enum cluster_role { ROLE_CHIEF, ROLE_WORKER, ROLE_PS, ROLE_EVALUATOR, N_CLUSTER_ROLES };
extern const char *const cluster_role_names[N_CLUSTER_ROLES];

/* The processes of a job by role, and which of them this one is. */
struct cluster {
    struct cluster_hosts {
        char **items; /* "host:port" */
        size_t n;
    } roles[N_CLUSTER_ROLES];
    enum cluster_role task_role;
    size_t task_index;
};

/*
 * Parses {"cluster": {ROLE: ["host:port", ...]}, "task": {"type": ROLE, "index": N}}. The task
 * must be one of the cluster; only an evaluator may be left out of it, as TensorFlow does. Fails
 * (ERR_INVALID) with *cluster empty; else the caller owns it (cluster_release).
 */
MUST_CHECK int cluster_parse(struct cluster *cluster, const char *text, size_t len,
                             struct err *err);
/* Appends the TF_CONFIG of the task; roles without hosts are left out. */
void cluster_encode(const struct cluster *cluster, struct buf *out);
void cluster_release(struct cluster *cluster); /* also fit for AUTO */
/* Adds a host at the end of a role. */
void cluster_add(struct cluster *cluster, enum cluster_role role, const char *address);

struct hostfile {
    struct host {
        char *name;
        int slots; /* 0: the line has none */
    } * hosts;
    size_t n;
};

/*
 * Parses lines of "name [slots=N] [max_slots=N]" and comments; name is that of the file, for
 * messages. Fails (ERR_INVALID) with *hostfile empty; else the caller owns it (hostfile_release).
 */
MUST_CHECK int hostfile_parse(struct hostfile *hostfile, const char *text, size_t len,
                              const char *name, struct err *err);
/* Appends one line per host. */
void hostfile_encode(const struct hostfile *hostfile, struct buf *out);
void hostfile_release(struct hostfile *hostfile); /* also fit for AUTO */
void hostfile_add(struct hostfile *hostfile, const char *name, int slots);

#endif
