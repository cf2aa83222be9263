/*
 * The model of a finished training: its record in the run folder, and `paceline-agent model`, which
 * sends the model from there (docs/reference/agent-programs.md describes the stream).
 */
#ifndef PACELINE_AGENT_FINISHED_MODEL_H
#define PACELINE_AGENT_FINISHED_MODEL_H

#include "agent/report.h"

/* Records in the run folder which of its files is the model of a finished run, and of which job.
 * Fails if the engine named no model or the folder cannot be written. */
MUST_CHECK int finished_model_keep(const char *state, const struct world *world,
                                   const struct engine_report *report, struct err *err);
/* Whether a client has fetched the model and confirmed it. */
bool finished_model_is_fetched(const char *state);

/* Runs the program and returns its exit code. */
int agent_model(int argc, char **argv);

#endif
