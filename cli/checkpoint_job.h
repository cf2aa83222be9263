/* The job of a checkpoint. */
#ifndef PACELINE_CLI_CHECKPOINT_JOB_H
#define PACELINE_CLI_CHECKPOINT_JOB_H

#include "cli/cli.h"

/*
 * The job that a checkpoint is evaluated with, sets applied. With spec (not NULL) that file. Else
 * what the checkpoint says of its job; job.json beside it, if it is there, says where the data are,
 * and without needs_data nobody needs to.
 * Of a checkpoint that says nothing, which only older engines wrote, job.json beside it is the job.
 * Otherwise as cli_load_job; EXIT_DATA where the checkpoint cannot be read.
 */
struct job *cli_checkpoint_job(const char *checkpoint, const char *spec,
                               const struct cli_sets *sets, bool needs_data, int *exit_code);

#endif
