/*
 * `paceline-agent mpirun ARGUMENT...`: mpirun for a program that is not ours. The engine's last
 * event proves that it came to its end; of another program nothing says so, for mpirun of Open MPI
 * 5 exits with 0 when it has lost a daemon. What says so are the other pods' daemons: each
 * `paceline-agent exec` prints MPIRUN_WRAPPER_ENDED when its daemon has ended with 0. mpirun does
 * not wait for them, so this stays until they have heard it.
 */
#ifndef PACELINE_AGENT_MPIRUN_WRAPPER_H
#define PACELINE_AGENT_MPIRUN_WRAPPER_H

/* How the line begins with which `paceline-agent exec` says that a pod's daemon has ended well. */
#define MPIRUN_WRAPPER_ENDED "paceline-agent ended: "

/* How long daemons may take to end when mpirun has. */
#define MPIRUN_WRAPPER_LINGER_MS 5000

/* argv[0] is "mpirun". Returns mpirun's exit code, 128 + signal when one ended it. */
int mpirun_wrapper(char **argv);

#endif
