/*
 * A port that tells nothing. The agent accepts each connection and closes it at once. The job's
 * NetworkPolicy keeps the operator from this port, as it keeps strangers from Open MPI's. So an
 * operator that connects has found that nothing enforces the policy (docs/reference/agent.md).
 */
#ifndef PACELINE_AGENT_CANARY_H
#define PACELINE_AGENT_CANARY_H

#include "agent/pollset.h"
#include "paceline/err.h"

/* Open MPI's ports (agent/mpirun.h) are below and above. */
#define CANARY_PORT 7500

struct canary {
    int fd;          /* -1: it does not listen */
    int64_t next_ms; /* nothing is accepted before */
};

/*
 * Listens on the address of `listen`, as listener_parse reads it, at CANARY_PORT; at a port that
 * the kernel chooses where `listen` has port 0. Fails (ERR_INVALID, ERR_IO) with fd -1.
 */
MUST_CHECK int canary_open(struct canary *c, const char *listen, struct err *err);
void canary_release(struct canary *c);

/* 0: it does not listen. */
int canary_port(const struct canary *c);

/* A flood costs a bounded number of calls a second. It holds no memory and delays nobody. */
void canary_wait(const struct canary *c, struct pollset *w, int64_t now_ms);
void canary_step(struct canary *c, const struct pollset *w, int64_t now_ms);

#endif
