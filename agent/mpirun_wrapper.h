/*
 * `paceline-agent mpirun ARGUMENT...`: runs mpirun for a program that is not ours. The engine's
 * last event proves that the engine finished. Another program sends no event, and mpirun's exit
 * code proves nothing, because mpirun of Open MPI 5 exits with 0 when it has lost a daemon. The
 * proof is in the other pods' daemons: each `paceline-agent exec` prints MPIRUN_WRAPPER_ENDED when
 * its daemon has ended with 0. mpirun does not wait for them, so the wrapper stays until they have
 * ended.
 */
#ifndef PACELINE_AGENT_MPIRUN_WRAPPER_H
#define PACELINE_AGENT_MPIRUN_WRAPPER_H

/* The prefix of the line in which `paceline-agent exec` says that a pod's daemon ended with 0. */
#define MPIRUN_WRAPPER_ENDED "paceline-agent ended: "

/* The time that daemons may take to end after mpirun. */
#define MPIRUN_WRAPPER_LINGER_MS 5000

/* argv[0] is "mpirun". Returns mpirun's exit code, or 128 + the signal that ended it. */
int mpirun_wrapper(char **argv);

#endif
