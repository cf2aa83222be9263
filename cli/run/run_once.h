/* One run among several of a command: trained to its end in a folder of its own, without a word. */
#ifndef PACELINE_CLI_RUN_ONCE_H
#define PACELINE_CLI_RUN_ONCE_H

#include "cli/run/session.h"
#include "paceline/spec.h"

/* The treatment of an earlier run in the folder. */
enum run_once {
    RUN_ONCE_OVERWRITE,
    RUN_ONCE_ASIDE, /* moved aside where it has checkpoints */
    RUN_ONCE_RESUME /* it goes on from its newest checkpoint; without one it begins */
};

/*
 * Trains the job in the folder `path`, which gets job.json and events.jsonl unless the engine
 * refuses the job: then the folder stays as it was. s->history has the run afterwards. Returns an
 * exit code; unless that is EXIT_OK, err says why.
 */
int run_once(struct session *s, const struct job *job, const char *path, enum run_once how,
             struct err *err);

#endif
