/*
 * The model of a training that is done: what stands for it in the run folder, and
 * `paceline-agent model`, which takes it out of there (docs/reference/agent-programs.md has the
 * stream).
 */
#ifndef PACELINE_AGENT_MODEL_H
#define PACELINE_AGENT_MODEL_H

#include "agent/report.h"

/* Says in the run folder which of its files is the model of a run that is done, and of which job.
 * Fails when the engine named none, or the folder cannot be written. */
MUST_CHECK int model_keep(const char *state, const struct world *world,
                          const struct engine_report *report, struct err *err);
/* Somebody has it, and has said so. */
bool model_is_fetched(const char *state);

/* The program; returns its exit code. */
int agent_model(int argc, char **argv);

#endif
