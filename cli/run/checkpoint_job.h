/* The job of a checkpoint. */
#ifndef PACELINE_CLI_CHECKPOINT_JOB_H
#define PACELINE_CLI_CHECKPOINT_JOB_H

#include "cli/base/cli.h"

/*
 * Loads the job to use a checkpoint with, and applies sets. If spec is not NULL, that file is the
 * job. Otherwise the checkpoint's own record is the job, and job.json beside it, if there is one,
 * says where the data are; without needs_data it may be missing. Only older engines wrote
 * checkpoints without a record: for these, job.json is the job. Otherwise as cli_load_job;
 * EXIT_DATA if the checkpoint cannot be read.
 */
struct job *cli_checkpoint_job(const char *checkpoint, const char *spec,
                               const struct word_list *sets, bool needs_data, int *exit_code);

#endif
