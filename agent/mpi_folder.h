/* The folder of a run: job.yaml, the hostfile, Open MPI's session; the same path in every pod. */
#ifndef PACELINE_AGENT_MPI_FOLDER_H
#define PACELINE_AGENT_MPI_FOLDER_H

#include "paceline/json.h"

/* Creates an empty folder for a generation below scratch, which is created if missing, and writes
 * job.yaml into it. Fails with ERR_IO. The caller owns *folder, an absolute path if scratch is one.
 */
MUST_CHECK int mpi_folder_make(char **folder, const char *scratch, long long generation,
                               const cJSON *job, struct err *err);
/* Removes the folders of generations that an earlier agent left below scratch. */
void mpi_folder_sweep(const char *scratch);
/* Removes the folder and its contents, as far as possible. */
void mpi_folder_remove(const char *folder);

#endif
