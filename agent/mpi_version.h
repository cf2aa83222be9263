/* Checks which mpirun an image has: we know how to make Open MPI 4 and 5 start their daemons. */
#ifndef PACELINE_AGENT_MPI_VERSION_H
#define PACELINE_AGENT_MPI_VERSION_H

#include "paceline/err.h"

/* Runs `mpirun --version`. Fails (ERR_INVALID) with a sentence that names what was found. */
MUST_CHECK int mpi_version_check(struct err *err);

/* The same check for the text that mpirun printed. */
MUST_CHECK int mpi_version_parse(const char *text, struct err *err);

#endif
