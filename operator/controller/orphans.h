/*
 * Pods whose job is gone. The garbage collector deletes them, but they carry our finalizer: it is
 * taken off once the job's absence is sure (its deletion was seen, or the API server says so).
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_ORPHANS_H
#define PACELINE_OPERATOR_CONTROLLER_ORPHANS_H

#include <stdbool.h>

#include "operator/api/pod.h"

struct controller;

struct orphans *orphans_new(void);
void orphans_free(struct orphans *o);

/* A pod with our finalizer that nobody owns (its job was deleted with --cascade=orphan), or whose
 * job is surely gone, or which is being deleted while the job that it names is not known. */
bool orphans_is(const struct controller *c, const struct pod *pod);
/* Whether this job (by namespace, name and UID) is surely gone, as far as we remember: a watch that
 * lags may still show it. */
bool orphans_knows_gone(const struct controller *c, const struct meta *job);
/* The job was seen to be deleted; looks at the pods it left. */
void orphans_job_gone(struct controller *c, const struct meta *job);
/* The pod wants a look; its key in the queue is ORPHAN_MARK and the UID. */
#define ORPHAN_MARK '!'
void orphans_touch(struct controller *c, const char *pod_uid);
/* All of them. */
void orphans_sweep(struct controller *c);
/* The look itself; ends with workqueue_done(key). */
void orphans_sync(struct controller *c, const char *key);

#endif
