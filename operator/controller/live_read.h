/*
 * Reads a job and then its pods, page by page, from the API into the cache. This is done when the
 * cache may lack something that matters: after creates without an answer, when a pod has lost its
 * owner, when an object is gone that its job needs. A plan that is made without such facts could
 * start a second pod of an index under another name, or create objects of a deleted job as fast as
 * they are collected.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_LIVE_READ_H
#define PACELINE_OPERATOR_CONTROLLER_LIVE_READ_H

#include "operator/api/trainingjob.h"

struct controller;

/* At the end of the read the key is done in the queue and is queued again. If all pods were read,
 * the job's state is no longer uncertain. */
void live_read_start(struct controller *c, const char *key, const struct tj *tj);

#endif
