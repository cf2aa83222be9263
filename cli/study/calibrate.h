/* A variant of a study that times instead of training. */
#ifndef PACELINE_CLI_STUDY_CALIBRATE_H
#define PACELINE_CLI_STUDY_CALIBRATE_H

#include "cli/report/history.h"
#include "cli/run/folder.h"
#include "paceline/err.h"
#include "paceline/spec.h"

/*
 * Times the gradient of a batch of the job and a transfer of all its parameters on this machine, in
 * the folder `path`, which gets job.json and events.jsonl with an event done of its own: seconds,
 * gradientSeconds, transferSeconds, bytes, transferToGradient. h gets that event. Returns an exit
 * code; unless that is EXIT_OK, err says why. Without keep a folder that is there is moved aside.
 */
int study_calibrate(struct history *h, const struct job *job, const char *path, bool keep,
                    struct err *err);

/* A run that is not the engine's: its job.json, and, when it has ended, events.jsonl of that alone.
 */
MUST_CHECK int study_write_job(const struct folder *folder, const struct job *job, struct err *err);
MUST_CHECK int study_write_done(const struct folder *folder, const cJSON *done, struct err *err);

#endif
