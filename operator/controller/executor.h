/*
 * Carries out a plan. Its requests are made one by one as the dispatcher has room; the answers come
 * in any order and go into the cache. It ends when all requests are answered, or early: when the
 * job changes, or when a refusal makes the rest pointless. The next reconcile plans whatever is
 * left.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_EXECUTOR_H
#define PACELINE_OPERATOR_CONTROLLER_EXECUTOR_H

#include "operator/controller/job_state.h"
#include "operator/reconcile/plan.h"

struct controller;

/* Takes ownership of the plan. At its end the key is done in the queue and is queued again. */
void executor_start(struct controller *c, const char *key, const struct tj *tj, struct plan *plan);
/* Frees all executors; no request of theirs may be under way. */
void executor_free_all(struct controller *c);

#endif
