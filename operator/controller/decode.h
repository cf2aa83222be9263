/* Puts objects of the API into the cache, and the keys of the jobs that they concern into the
 * queue. */
#ifndef PACELINE_OPERATOR_CONTROLLER_DECODE_H
#define PACELINE_OPERATOR_CONTROLLER_DECODE_H

#include <cjson/cJSON.h>

#include "operator/controller/informer.h"
#include "operator/core/cache.h"

/* Takes an object that exists. One that cannot be read is logged and left out. */
bool decode_object(struct controller *c, enum resource resource, const cJSON *object,
                   enum cache_source source);
/* The same for an event of a watch, but a new spec of a known job without credit (budget.h) is left
 * for later. */
void decode_event(struct controller *c, enum resource resource, const cJSON *object);
/* Notes that an object exists of which a list or a watch gave only the metadata. */
void decode_unread(struct controller *c, enum resource resource, const cJSON *object);
/* Takes the last state of an object that is gone. */
void decode_deleted(struct controller *c, enum resource resource, const cJSON *object);
/* Called when the API server says that there is no job with this UID any more; frees tj. */
void decode_no_job(struct controller *c, const struct tj *tj);
/* Whether an answer shows an object that this very request removed: its grace period is over and no
 * finalizer holds it. Such an answer has the version from before the request. */
bool decode_is_gone(const cJSON *object);
/* Copies the object's resourceVersion, if it has one that fits. */
void decode_version(const cJSON *object, char version[RV_SIZE]);
/* Takes an owned object of any kind; only its identity and its owner are kept. */
void decode_owned(struct controller *c, enum owned_kind kind, const cJSON *object,
                  enum cache_source source);

#endif
