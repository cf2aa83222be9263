/*
 * One run of the engine, in the pod that is the world's chief: starts the worker, or mpirun if
 * there are several hosts, reads rank 0's events, and ends it. Or one run of another MPI program:
 * mpirun always starts it, it sends no events, and its output becomes the pod's.
 */
#ifndef PACELINE_AGENT_RUN_H
#define PACELINE_AGENT_RUN_H

#include "agent/pollset.h"
#include "agent/report.h"
#include "agent/supervisor.h"
#include "agent/world.h"

struct run_config {
    struct supervisor *supervisor;
    const char *scratch, *state, *output, *worker, *key;
    const char *const *program; /* another MPI program, ended by NULL; NULL: the worker */
    int ranks;                  /* of the program, in each pod */
    int port;                   /* of every agent of the world */
    int64_t grace_ms;
    void (*on_change)(void *arg); /* phase or stage */
    void (*on_event)(void *arg, const cJSON *event);
    void *arg;
};

struct engine_run;

/* Starts a run and takes ownership of the world. If that fails the run is over at once and its
 * report says why. The config must outlive the run. */
struct engine_run *run_start(const struct run_config *config, struct world *world);
/* Call when the run is over, or after supervisor_free. NULL is fine. */
void run_free(struct engine_run *r);

const struct engine_report *run_report(const struct engine_run *r);
const struct world *run_world(const struct engine_run *r);

/* Asks all ranks to stop after the same step; the ranks of another program get SIGUSR1. Kills them
 * if they have not ended within the grace period. */
void run_stop(struct engine_run *r, int64_t now_ms);
/* Kills the run now. why: a static string for the report. */
void run_kill(struct engine_run *r, const char *why);

void run_wait(const struct engine_run *r, struct pollset *w);
void run_step(struct engine_run *r, const struct pollset *w, int64_t now_ms);

#endif
