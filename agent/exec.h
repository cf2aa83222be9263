/*
 * `paceline-agent exec HOST COMMAND...`: what mpirun calls instead of ssh. It asks the agent of the
 * world's host with that address to start Open MPI's daemon, and ends as the daemon does.
 */
#ifndef PACELINE_AGENT_EXEC_H
#define PACELINE_AGENT_EXEC_H

#include "agent/world.h"

/* The environment variable that names the run's folder. */
#define EXEC_RUN "PACELINE_AGENT_RUN"

/* How the lines begin with which it says why it ends, and whose agent said nothing. */
#define EXEC_COMPLAINT "paceline-agent exec: "
#define EXEC_SILENT "paceline-agent silent: "

/* The program: returns its exit code; 255 when there is no daemon or nobody knows how it ended. */
int agent_exec(int argc, char **argv);

/* Writes what agent_exec needs into the run's folder. Fails as file_write_atomic does. */
MUST_CHECK int exec_write_context(const char *folder, const struct world *world, int port,
                                  const char *key, const char *certificate, struct err *err);

#endif
