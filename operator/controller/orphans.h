/*
 * Pods whose job is gone. The garbage collector deletes them, but they carry our finalizer. It is
 * removed once the job is certainly gone: its deletion was seen, or the API server says so.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_ORPHANS_H
#define PACELINE_OPERATOR_CONTROLLER_ORPHANS_H

#include <stdbool.h>

#include "operator/api/pod.h"

struct controller;

struct orphans *orphans_new(void);
void orphans_free(struct orphans *o);

/* Whether a pod with our finalizer is an orphan: it has no owner (its job was deleted with
 * --cascade=orphan), or its job is certainly gone, or it is being deleted and its job is not known.
 */
bool orphans_is(const struct controller *c, const struct pod *pod);
/* Whether we remember that this job (by namespace, name and UID) is gone. A watch that lags may
 * still show it. */
bool orphans_knows_gone(const struct controller *c, const struct meta *job);
/* Called when the job's deletion was seen; queues the pods that it left. */
void orphans_job_gone(struct controller *c, const struct meta *job);
/* Queues the pod. Its key in the queue is ORPHAN_MARK and the UID. */
#define ORPHAN_MARK '!'
void orphans_touch(struct controller *c, const char *pod_uid);
/* Queues all orphans. */
void orphans_sweep(struct controller *c);
/* Handles a pod's key; ends with workqueue_done(key). */
void orphans_sync(struct controller *c, const char *key);

#endif
