/*
 * A plan under way: its requests, made one by one as the outbox has room, in any order, answers
 * into the cache. It ends when all are answered, or early: when the job changed meanwhile or when a
 * refusal makes the rest pointless. Whatever is left is planned again from what is then there.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_RUN_H
#define PACELINE_OPERATOR_CONTROLLER_RUN_H

#include "operator/controller/memory.h"
#include "operator/reconcile/plan.h"

struct controller;

/* Takes the plan over; at its end the key is done in the queue and wants another look. */
void run_start(struct controller *c, const char *key, const struct tj *tj, struct plan *plan);
/* Frees all runs under way; none of their requests may be. */
void run_free_all(struct controller *c);

#endif
