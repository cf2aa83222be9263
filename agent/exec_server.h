/*
 * Open MPI's daemons that the agents of other pods start in this one (docs/reference/agent.md,
 * Exec): checks what is asked for, starts it with an environment of our own, sends its output, and
 * kills it with all that it has started when its connection ends or a higher generation comes.
 */
#ifndef PACELINE_AGENT_EXEC_SERVER_H
#define PACELINE_AGENT_EXEC_SERVER_H

#include "agent/pollset.h"
#include "agent/supervisor.h"
#include "paceline/json.h"
#include "wire/channel.h"

struct exec_server;

/* scratch: where each generation has its folder; foreign: as in mpirun_pod. All arguments outlive
 * the server. */
struct exec_server *exec_server_new(struct supervisor *supervisor, const char *pod,
                                    const char *scratch, bool foreign);
void exec_server_free(
    struct exec_server *r); /* before the supervisor, which ends what still runs */

/*
 * Takes a message of type "exec" that the fence has let through, and answers on c: "started",
 * later "log" and "exit"; or "refused". A daemon of an older generation is killed.
 */
void exec_server_start(struct exec_server *r, struct channel *c, const cJSON *message);
/* The connection has ended: its daemon is killed, and c is not used any more. */
void exec_server_end(struct exec_server *r, const struct channel *c);
/* Kills what generations below this one have started. */
void exec_server_fence(struct exec_server *r, long long generation);

/* Daemons' output, as part of the agent's loop. */
void exec_server_wait(const struct exec_server *r, struct pollset *w);
void exec_server_step(struct exec_server *r, const struct pollset *w);

#endif
