/* TrainingJobs on a cluster: what their status tells, in words. */
#ifndef PACELINE_CLI_CLUSTER_JOB_H
#define PACELINE_CLI_CLUSTER_JOB_H

#include <stdbool.h>

#include "cli/cluster/kubectl.h"

struct sentence {
    char s[400];
};

/* The value at "status.progress.step"; NULL: there is none. */
const cJSON *cluster_field(const cJSON *object, const char *path);
/* "" and NAN where there is none. */
const char *cluster_text(const cJSON *object, const char *path);
double cluster_number(const cJSON *object, const char *path);

/* The job; the caller owns *job. Fails as kubectl_json; also where the cluster knows no jobs. */
MUST_CHECK int cluster_job_get(const struct kubectl *k, const char *name, cJSON **job,
                               struct err *err);

/* The message of a condition that is `status`; NULL where it is not, or there is none. */
const char *cluster_job_says(const cJSON *job, const char *type, const char *status);

/* How far it is: "step 340, epoch 2 of 5, 4,412 samples/s, ETA 1:05"; before: what it waits for. */
struct sentence cluster_job_progress(const cJSON *job);
/* Whether its training runs now. */
bool cluster_job_trains(const cJSON *job);

/* The newest warning about one of its pods; "" where there is none, or it may not be read. */
struct sentence cluster_job_warning(const struct kubectl *k, const char *name);

#endif
