/*
 * One run of the engine, in the pod that is the world's chief: starts the worker, or mpirun where
 * there are several hosts, reads rank 0's events, and ends it. Or one run of another MPI program,
 * which mpirun always starts and which tells of nothing; its output is the pod's.
 */
#ifndef PACELINE_AGENT_RUN_H
#define PACELINE_AGENT_RUN_H

#include "agent/pollset.h"
#include "agent/report.h"
#include "agent/supervisor.h"
#include "agent/world.h"

struct run_config {
    struct supervisor *supervisor;
    const char *scratch, *state, *output, *worker, *key, *certificate;
    const char *const *program; /* another MPI program, ended by NULL; NULL: the worker */
    int ranks;                  /* of the program, in each pod */
    int port;                   /* of every agent of the world */
    int64_t grace_ms;
    void (*on_change)(void *arg); /* phase or stage */
    void (*on_event)(void *arg, const cJSON *event);
    void *arg;
};

struct engine_run;

/* Begins and takes the world over. Where that fails the run is over at once and its report says
 * why. The config outlives the run. */
struct engine_run *run_start(const struct run_config *config, struct world *world);
/* Once it is over, or when the supervisor is gone. NULL is fine. */
void run_free(struct engine_run *r);

const struct engine_report *run_report(const struct engine_run *r);
const struct world *run_world(const struct engine_run *r);

/* All ranks stop after the same step; another program's get SIGUSR1. They are killed when they have
 * not ended within the grace. */
void run_stop(struct engine_run *r, int64_t now_ms);
/* Now. why: static, for the report. */
void run_kill(struct engine_run *r, const char *why);

void run_wait(const struct engine_run *r, struct pollset *w);
void run_step(struct engine_run *r, const struct pollset *w, int64_t now_ms);

#endif
