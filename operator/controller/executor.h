/*
 * A plan under way: its requests, made one by one as the dispatcher has room, in any order, answers
 * into the cache. It ends when all are answered, or early: when the job changed meanwhile or when a
 * refusal makes the rest pointless. Whatever is left is planned again from what is then there.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_EXECUTOR_H
#define PACELINE_OPERATOR_CONTROLLER_EXECUTOR_H

#include "operator/controller/job_state.h"
#include "operator/reconcile/plan.h"

struct controller;

/* Takes the plan over; at its end the key is done in the queue and wants another look. */
void executor_start(struct controller *c, const char *key, const struct tj *tj, struct plan *plan);
/* Frees all executors; none of their requests may be. */
void executor_free_all(struct controller *c);

#endif
