/* The worker's commands, each on a trainer that is ready. */
#ifndef PACELINE_COMMANDS_H
#define PACELINE_COMMANDS_H

#include "paceline/command_line.h"
#include "worker/train/telemetry/usage.h"
#include "worker/train/trainer.h"

struct worker_options {
    const char *spec, *out, *durable, *checkpoint;
    struct word_list inputs;
    bool resume, resume_if_any, mirror, time_transfer, layers, describe;
    int64_t limit, batch, steps, top;                  /* limit -1: all */
    int64_t workers, checkpoint_seconds, step_timeout; /* 0: not given */
    double idle[N_USAGE];                              /* when the process began */
};

typedef int worker_command_fn(struct trainer *t, const struct worker_options *o, struct err *err);
worker_command_fn worker_run, worker_evaluate, worker_bench, worker_calibrate;

/* What a command changes in the job before anything is made of it. */
void worker_adjust_job(struct job *job, const struct worker_options *o, const char *command);

#endif
