/* One TrainingJob on a cluster, to measure it: created, watched to its end, removed. */
#ifndef PACELINE_CLI_CLUSTER_RUN_H
#define PACELINE_CLI_CLUSTER_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cluster/kubectl.h"
#include "paceline/spec.h"

struct cluster_run {
    const struct kubectl *kubectl;
    bool keep;        /* leave the jobs there */
    int64_t patience; /* seconds that a job may not train before it is given up */
};

/*
 * Runs the job to its end; standard error shows how far it is. *samples_per_second is the engine's
 * own mean over all steps, the same figure that a run on one machine ends with. However this
 * returns, the job is gone again or the message says that it is not. Fails with one sentence:
 * ERR_CONFLICT when there is a job of that name, ERR_INTERRUPTED, why it did not start or failed.
 */
MUST_CHECK int cluster_run(const struct cluster_run *s, const struct job *job,
                           double *samples_per_second, struct err *err);

#endif
