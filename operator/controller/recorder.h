/* Events: one per key and job, sent after everything else, tried a few times. */
#ifndef PACELINE_OPERATOR_CONTROLLER_RECORDER_H
#define PACELINE_OPERATOR_CONTROLLER_RECORDER_H

#include "operator/controller/job_state.h"
#include "operator/objects/objects.h"

struct controller;

struct recorder {
    struct controller *c;
    int n_waiting; /* bounded: beyond it events are left out until the queue is shorter */
};

void recorder_init(struct recorder *r, struct controller *c);
/* Sends those of the plan's events that this process has not sent. */
void recorder_take(struct recorder *r, const struct tj *tj, struct job_state *m,
                   const struct plan *plan);

#endif
