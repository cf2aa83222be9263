/* One run among several of a command: trained to its end in a folder of its own, without a word. */
#ifndef PACELINE_CLI_TRIAL_H
#define PACELINE_CLI_TRIAL_H

#include "cli/session.h"
#include "paceline/spec.h"

/* What becomes of an earlier run in the folder. */
enum trial {
    TRIAL_OVERWRITE,
    TRIAL_ASIDE, /* moved aside where it has checkpoints */
    TRIAL_RESUME /* it goes on from its newest checkpoint; without one it begins */
};

/*
 * Trains the job in the folder `path`, which gets job.json and events.jsonl unless the engine
 * refuses the job: then the folder stays as it was. s->history has the run afterwards. Returns an
 * exit code; unless that is EXIT_OK, err says why.
 */
int trial_run(struct session *s, const struct job *job, const char *path, enum trial how,
              struct err *err);

#endif
