/* Whose mpirun an image has: we know how Open MPI 4 and 5 are told to start their daemons. */
#ifndef PACELINE_AGENT_MPI_VERSION_H
#define PACELINE_AGENT_MPI_VERSION_H

#include "paceline/err.h"

/* Asks `mpirun --version`. Fails (ERR_INVALID) with a sentence that names what was found. */
MUST_CHECK int mpi_version_check(struct err *err);

/* The same for what it has printed. */
MUST_CHECK int mpi_version_parse(const char *text, struct err *err);

#endif
