/* The agent's life: one thread, one loop around poll. docs/agent.md says what it does. */
#ifndef PACELINE_AGENT_AGENT_H
#define PACELINE_AGENT_AGENT_H

#include <stdint.h>

#include "paceline/err.h"

struct agent_options {
    const char *listen; /* ADDRESS:PORT */
    const char *key, *certificate;
    const char *state, *scratch, *termination_log;
    const char *pod, *worker;
    int64_t grace_ms; /* from SIGTERM until everything is killed */
};

/* Serves until the training is over or SIGTERM comes. Returns the exit code; -1 with err when it
 * cannot begin. No process that it has started is left. */
MUST_CHECK int agent_serve(const struct agent_options *options, struct err *err);

#endif
