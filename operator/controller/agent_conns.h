/*
 * The controller's connections to the agents of launched jobs' worker 0: one per job whose worker 0
 * runs. A lost connection is made again with back-off. The agent's messages are kept as a report;
 * each message that changes the report queues the job.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_AGENT_CONNS_H
#define PACELINE_OPERATOR_CONTROLLER_AGENT_CONNS_H

#include "operator/reconcile/reconcile.h"

struct controller;

struct agent_conns *agent_conns_new(struct controller *c);
void agent_conns_free(struct agent_conns *all);

/* Called before a job is reconciled. Connects, or drops the connection to a pod that is no longer
 * worker 0, and fills in the agent's part of the observation. The report stays owned by `all`. */
void agent_conns_observe(struct agent_conns *all, const char *key, struct observed *o);
/* Drops the connection of a job that is gone or not ours. */
void agent_conns_drop(struct agent_conns *all, const char *key);
/* Drops all connections, because another operator leads. */
void agent_conns_drop_all(struct agent_conns *all);

/* Send the job's agent the action of a plan. */
void agent_conns_launch(struct agent_conns *all, const char *key, const struct tj *tj,
                        int64_t generation);
void agent_conns_stop(struct agent_conns *all, const char *key, int64_t generation);
void agent_conns_kill(struct agent_conns *all, const char *key, int64_t generation);

/* Makes the connections that are due. agent_conns_next_ms: milliseconds until the next one is; -1:
 * none. */
void agent_conns_step(struct agent_conns *all);
int64_t agent_conns_next_ms(const struct agent_conns *all, int64_t mono_ms);

#endif
