/*
 * The controller's connections to the chiefs of built-in jobs: one per job whose worker 0 runs,
 * made again with back-off. What the agent says is kept as a report; each message that changes it
 * makes the job want a look.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_AGENT_CONNS_H
#define PACELINE_OPERATOR_CONTROLLER_AGENT_CONNS_H

#include "operator/reconcile/reconcile.h"

struct controller;

struct agent_conns *agent_conns_new(struct controller *c);
void agent_conns_free(struct agent_conns *all);

/* Before a look: connects, or leaves a pod that is worker 0 no more, and fills in what of the
 * observation comes from the agent; the report stays theirs. */
void agent_conns_observe(struct agent_conns *all, const char *key, struct observed *o);
/* The job is gone, or is none of ours to look at. */
void agent_conns_drop(struct agent_conns *all, const char *key);
/* All of them: somebody else leads. */
void agent_conns_drop_all(struct agent_conns *all);

/* Sends the job's agent what an action of a plan says. */
void agent_conns_launch(struct agent_conns *all, const char *key, const struct tj *tj,
                        int64_t generation);
void agent_conns_stop(struct agent_conns *all, const char *key, int64_t generation);
void agent_conns_kill(struct agent_conns *all, const char *key, int64_t generation);

/* Reconnects that are due; -1: none is. */
void agent_conns_step(struct agent_conns *all);
int64_t agent_conns_next_ms(const struct agent_conns *all, int64_t mono_ms);

#endif
