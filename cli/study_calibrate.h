/* A variant of a study that times instead of training. */
#ifndef PACELINE_CLI_STUDY_CALIBRATE_H
#define PACELINE_CLI_STUDY_CALIBRATE_H

#include "cli/folder.h"
#include "cli/history.h"
#include "paceline/err.h"
#include "paceline/spec.h"

/*
 * Times the gradient of a batch of the job and a transfer of all its parameters on this machine, in
 * the folder `path`, which gets job.json and events.jsonl with an event done of its own: seconds,
 * gradientSeconds, transferSeconds, bytes, transferToGradient. h gets that event. Returns an exit
 * code; unless that is EXIT_OK, err says why.
 */
int study_calibrate(struct history *h, const struct job *job, const char *path, struct err *err);

/* job.json and events.jsonl, of the event done alone, of what is not a run of the engine. */
MUST_CHECK int study_write_run(const struct folder *folder, const struct job *job,
                               const cJSON *done, struct err *err);

#endif
