/* A command of the engine that works on a checkpoint. */
#ifndef PACELINE_CLI_CHECKPOINT_RUN_H
#define PACELINE_CLI_CHECKPOINT_RUN_H

#include "cli/base/options.h"
#include "cli/run/session.h"

/*
 * Finds the checkpoint that o->operand names and its job, and runs the engine's command on them
 * with n more arguments. Prints every failure and returns the exit code. The caller frees *job,
 * which is NULL if no job could be loaded. needs_data: the job must say where its data are.
 */
int checkpoint_run(struct session *s, const struct options *o, const char *command, bool needs_data,
                   const char *const *besides, size_t n, struct job **job);

#endif
