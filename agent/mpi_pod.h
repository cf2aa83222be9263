/* The facts about its pod that Open MPI needs. */
#ifndef PACELINE_AGENT_MPI_POD_H
#define PACELINE_AGENT_MPI_POD_H

#include <net/if.h>

#include "agent/mpirun.h"
#include "paceline/err.h"

struct mpi_pod {
    struct mpirun_pod names; /* its strings point to the members below and to the caller's folder */
    char agent[4096], interface[IF_NAMESIZE];
};

/* address: the pod's own; foreign: as in mpirun_pod. Fails (ERR_NOT_FOUND) when no interface holds
 * it, (ERR_INVALID) when it is not IPv4. */
MUST_CHECK int mpi_pod_init(struct mpi_pod *pod, const char *address, const char *folder,
                            bool foreign, struct err *err);

#endif
