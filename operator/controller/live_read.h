/*
 * Where our view may lack what matters - creates without an answer, a pod that is nobody's any
 * more, an object that went though its job needs it - the job and then its pods, page by page, are
 * read from the API into the cache. A plan made without them could start a second pod of an index
 * under another name, or make objects of a job that is gone as fast as they are collected.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_LIVE_READ_H
#define PACELINE_OPERATOR_CONTROLLER_LIVE_READ_H

#include "operator/api/trainingjob.h"

struct controller;

/* At its end the key is done in the queue and wants another look; when all pods were read, the
 * job's state is no longer uncertain. */
void live_read_start(struct controller *c, const char *key, const struct tj *tj);

#endif
