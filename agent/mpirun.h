/*
 * Makes mpirun of Open MPI 4.1 and 5.0 work over agents: its command line, its hostfile, and the
 * environment of mpirun, its daemons and the ranks. Nothing here makes a system call.
 */
#ifndef PACELINE_AGENT_MPIRUN_H
#define PACELINE_AGENT_MPIRUN_H

#include <stdbool.h>

#include "agent/world.h"
#include "paceline/buf.h"
#include "paceline/env.h"

/*
 * Every port that Open MPI listens on between pods. A daemon of Open MPI 4 opens all ports of its
 * ranges, except those that an ended daemon has left in TIME_WAIT.
 */
#define MPIRUN_DAEMON_PORTS "7421-7452"
#define MPIRUN_DAEMON_PORTS_V6 "7453-7484"
#define MPIRUN_RANK_PORT_FIRST "7521"
#define MPIRUN_RANK_PORT_COUNT "479"

/* Values that differ between the pods of a world. */
struct mpirun_pod {
    const char *agent;     /* this program; no white space */
    const char *interface; /* the one with the pod's address */
    const char *folder;    /* the run's, with a short absolute path */
    bool foreign;          /* the ranks run the image's own program, not our engine */
};

/*
 * Fills in an empty environment. It copies PATH, LD_LIBRARY_PATH and PACELINE_* from `ours`, or all
 * of `ours` for a foreign program, and adds what Open MPI needs here. Settings that are a matter of
 * taste are not overwritten.
 */
void mpirun_environment(struct env *e, const struct mpirun_pod *pod, char *const *ours);

/* Whether mpirun passes this MCA parameter on to its daemons because mpirun_environment set
 * it. Each daemon then has its own value. */
bool mpirun_sets(const char *parameter);

/* Fails (ERR_INVALID), naming a pod without an IPv4 address, which Open MPI could not reach. */
MUST_CHECK int mpirun_check(const struct world *world, struct err *err);

/* Appends the hostfile: the first `slots` ranks run on line 1, and so on. */
void mpirun_hostfile(const struct world *world, int slots, struct buf *out);

struct mpirun_command {
    const char **argv; /* ended by NULL */
    char ranks[24];
};

/* program: what each rank runs, ended by NULL. wrapper: the agent that starts mpirun
 * (agent/mpirun_wrapper.h), or NULL. The strings stay the caller's. */
void mpirun_command(struct mpirun_command *c, const char *wrapper, const char *hostfile,
                    size_t n_ranks, const char *const *program);
void mpirun_command_release(struct mpirun_command *c); /* also fit for AUTO */

#endif
