/*
 * The controller's connections to the chiefs of built-in jobs: one per job whose worker 0 runs,
 * made again with back-off. What the agent says is kept as a report; each message that changes it
 * makes the job want a look.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_LINKS_H
#define PACELINE_OPERATOR_CONTROLLER_LINKS_H

#include "operator/reconcile/reconcile.h"

struct controller;

struct links *links_new(struct controller *c);
void links_free(struct links *all);

/* Before a look: connects, or leaves a pod that is worker 0 no more, and fills in what of the
 * observation comes from the agent; the report is the links' own. */
void links_observe(struct links *all, const char *key, struct observed *o);
/* The job is gone, or is none of ours to look at. */
void links_drop(struct links *all, const char *key);
/* All of them: somebody else leads. */
void links_drop_all(struct links *all);

/* Sends the job's agent what an action of a plan says. */
void links_launch(struct links *all, const char *key, const struct tj *tj, int64_t generation);
void links_stop(struct links *all, const char *key, int64_t generation);
void links_kill(struct links *all, const char *key, int64_t generation);

/* Reconnects that are due; -1: none is. */
void links_step(struct links *all);
int64_t links_next_ms(const struct links *all, int64_t mono_ms);

#endif
