/*
 * Open MPI's daemons that the agents of other pods start in this one (docs/reference/agent.md,
 * Exec): checks what is asked for, starts it with an environment of our own, sends its output, and
 * kills it with all that it has started when its connection ends or a higher generation comes.
 */
#ifndef PACELINE_AGENT_REMOTE_H
#define PACELINE_AGENT_REMOTE_H

#include "agent/procs.h"
#include "agent/waits.h"
#include "paceline/json.h"
#include "wire/channel.h"

struct remotes;

/* scratch: where each generation has its folder; foreign: as in mpirun_pod. All arguments outlive
 * the remotes. */
struct remotes *remotes_new(struct procs *procs, const char *pod, const char *scratch,
                            bool foreign);
void remotes_free(struct remotes *r); /* before the procs, which end what still runs */

/*
 * Takes a message of type "exec" that the fence has let through, and answers on c: "started",
 * later "log" and "exit"; or "refused". A daemon of an older generation is killed.
 */
void remotes_start(struct remotes *r, struct channel *c, const cJSON *message);
/* The connection has ended: its daemon is killed, and c is not used any more. */
void remotes_end(struct remotes *r, const struct channel *c);
/* Kills what generations below this one have started. */
void remotes_fence(struct remotes *r, long long generation);

/* Daemons' output, as part of the agent's loop. */
void remotes_wait(const struct remotes *r, struct waits *w);
void remotes_step(struct remotes *r, const struct waits *w);

#endif
