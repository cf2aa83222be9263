/* The agent's life: one thread, one loop around poll. docs/reference/agent.md says what it does. */
#ifndef PACELINE_AGENT_AGENT_H
#define PACELINE_AGENT_AGENT_H

#include <stdint.h>

#include "paceline/err.h"

struct agent_options {
    const char *listen; /* ADDRESS:PORT */
    const char *key;
    const char *state, *scratch, *output, *termination_log;
    const char *pod, *worker;
    const char *const *program; /* another MPI program, ended by NULL; NULL: the worker */
    int ranks;                  /* of the program, in each pod */
    int64_t grace_ms;           /* between SIGTERM and the kill of everything */
    int64_t keep_ms;            /* how long the model is kept after the training */
};

/* Serves until the training is over or SIGTERM comes. Returns the exit code, or -1 with err if it
 * cannot start. Leaves no process that it has started. */
MUST_CHECK int agent_serve(const struct agent_options *options, struct err *err);

#endif
