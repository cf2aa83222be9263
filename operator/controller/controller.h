/*
 * The controller: informers fill the cache, changed keys go through the queue to reconcile, plans
 * become requests. It owns no clock and no socket: whoever drives it (operator/main.c, tests/sim)
 * gives the time and a kube_ops.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_CONTROLLER_H
#define PACELINE_OPERATOR_CONTROLLER_CONTROLLER_H

#include <stdbool.h>

#include "operator/agents/agent_ops.h"
#include "operator/kube/kube.h"
#include "operator/web/snapshot.h"

struct moment {
    int64_t wall_ms; /* since 1970; compared with the API's times; may jump */
    int64_t mono_ms; /* a clock that runs while the machine sleeps and never jumps */
};

struct controller_config {
    const char *identity;           /* of this process, unique: the Lease's holder */
    const char *namespace_;         /* watch this one; NULL: all */
    const char *operator_namespace; /* where the Lease is */
    const char *lease_name;
    const char *operator_version;
    bool elect; /* false: lead at once, without a Lease */
    int64_t lease_ms, renew_ms,
        retry_ms;             /* the Lease's duration; the renew deadline; the time between tries */
    int max_writes;           /* requests under way at once */
    int page;                 /* objects per page of a list */
    double per_second, burst; /* rate limit of writes; 0: none */
    int64_t request_ms;       /* time-out of one request */
    const unsigned char *master_key; /* 32 bytes; jobs' keys are derived from it */
    const char *cluster_domain;      /* NULL: none */
    const char *worker_image;
    uint64_t seed;                  /* of jitter */
    int64_t (*cpu_us)(void);        /* CPU time of this thread; NULL: no budgets of time */
    const struct agent_ops *agents; /* NULL: no connections to agents */
    void *transport;                /* theirs */
    bool in_cluster;                /* the operator is a pod that jobs' NetworkPolicies name */
};

struct controller *controller_new(const struct controller_config *config,
                                  const struct kube_ops *ops, void *kube, struct moment now);
void controller_free(struct controller *c); /* cancels what is under way */

/* Does all that is due. Call after callbacks and when controller_next_ms has passed. */
void controller_step(struct controller *c, struct moment now);
/* Milliseconds after which controller_step must be called even if nothing happens; never negative.
 */
int64_t controller_next_ms(const struct controller *c, struct moment now);

/*
 * Begins a graceful end: sends nothing more, waits for the requests under way, then gives the Lease
 * back. The next leader derives the remaining work from the observed state, as after a crash.
 */
void controller_stop(struct controller *c, struct moment now);
bool controller_stopped(const struct controller *c);

bool controller_leads(const struct controller *c);
bool controller_synced(const struct controller *c); /* all informers have listed once */
/* The API budget and state as numbers; see snapshot.h. */
void controller_snapshot(const struct controller *c, struct moment now, struct snapshot *out);

#endif
