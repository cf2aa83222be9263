/*
 * Runs Open MPI's daemons for the agents of other pods (docs/reference/agent.md, Exec). It checks
 * the command line, starts the daemon with an environment of our own and sends its output. When the
 * connection ends or a higher generation comes, it kills the daemon and all that the daemon
 * started.
 */
#ifndef PACELINE_AGENT_EXEC_SERVER_H
#define PACELINE_AGENT_EXEC_SERVER_H

#include "agent/pollset.h"
#include "agent/supervisor.h"
#include "paceline/json.h"
#include "wire/channel.h"

struct exec_server;

/* scratch: the folder that has a folder for each generation. foreign: as in mpirun_pod. All
 * arguments must outlive the server. */
struct exec_server *exec_server_new(struct supervisor *supervisor, const char *pod,
                                    const char *scratch, bool foreign);
void exec_server_free(
    struct exec_server *r); /* call before supervisor_free, which ends what still runs */

/*
 * Handles a message of type "exec" that the fence has accepted. Answers on c: "started" and later
 * "log" and "exit", or "refused". Kills a daemon of an older generation.
 */
void exec_server_start(struct exec_server *r, struct channel *c, const cJSON *message);
/* Call when the connection has ended: kills its daemon; c is not used any more. */
void exec_server_end(struct exec_server *r, const struct channel *c);
/* Kills the daemons of generations below this one. */
void exec_server_fence(struct exec_server *r, long long generation);

/* Read the daemons' output as part of the agent's loop. */
void exec_server_wait(const struct exec_server *r, struct pollset *w);
void exec_server_step(struct exec_server *r, const struct pollset *w);

#endif
