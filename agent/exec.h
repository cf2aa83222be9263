/*
 * `paceline-agent exec HOST COMMAND...`: what mpirun calls instead of ssh. It asks the agent of the
 * world's host with that address to start Open MPI's daemon, and ends as the daemon does.
 */
#ifndef PACELINE_AGENT_EXEC_H
#define PACELINE_AGENT_EXEC_H

#include "agent/world.h"

/* The environment variable that names the run's folder. */
#define EXEC_RUN "PACELINE_AGENT_RUN"

/* The prefixes of the lines in which it says why it ends, and which pod's agent is silent. */
#define EXEC_COMPLAINT "paceline-agent exec: "
#define EXEC_SILENT "paceline-agent silent: "

/* Runs the program and returns its exit code: the daemon's, or 255 if no daemon was started or its
 * end is unknown. */
int agent_exec(int argc, char **argv);

/* Writes what agent_exec needs into the run's folder. Fails as file_write_atomic does. */
MUST_CHECK int exec_write_context(const char *folder, const struct world *world, int port,
                                  const char *key, struct err *err);

#endif
