/* The folder of a run: job.yaml, the hostfile, Open MPI's session; the same path in every pod. */
#ifndef PACELINE_AGENT_MPI_FOLDER_H
#define PACELINE_AGENT_MPI_FOLDER_H

#include "paceline/json.h"

/* Makes the folder of a generation below scratch (made where it is not there), anew, with job.yaml
 * in it. Fails (ERR_IO); else the caller owns *folder, an absolute path where scratch is one. */
MUST_CHECK int mpi_folder_make(char **folder, const char *scratch, long long generation,
                               const cJSON *job, struct err *err);
/* Removes what an agent before this one has left below scratch: folders of generations. */
void mpi_folder_sweep(const char *scratch);
/* Removes it with all that is in it, as far as possible. */
void mpi_folder_remove(const char *folder);

#endif
