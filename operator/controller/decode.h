/* Objects of the API into the cache, and the keys that they touch into the queue. */
#ifndef PACELINE_OPERATOR_CONTROLLER_DECODE_H
#define PACELINE_OPERATOR_CONTROLLER_DECODE_H

#include <cjson/cJSON.h>

#include "operator/controller/informer.h"
#include "operator/core/cache.h"

/* An object that exists. One that cannot be read is logged and left out. */
bool decode_object(struct controller *c, enum resource resource, const cJSON *object,
                   enum cache_source source);
/* The same for an event of a watch, but a new spec of a known job without credit (budget.h) is left
 * for later. */
void decode_event(struct controller *c, enum resource resource, const cJSON *object);
/* A list or a watch shows an object of which only the metadata could be read: it is there. */
void decode_unread(struct controller *c, enum resource resource, const cJSON *object);
/* The last state of an object that is gone. */
void decode_deleted(struct controller *c, enum resource resource, const cJSON *object);
/* The API server says that there is no job of this UID any more; tj is freed. */
void decode_no_job(struct controller *c, const struct tj *tj);
/* Whether an answer shows an object that went with this very request: its grace period over,
 * nothing holding it any more. Such an answer has the version from before. */
bool decode_is_gone(const cJSON *object);
/* Copies the object's resourceVersion, if it has one that fits. */
void decode_version(const cJSON *object, char version[RV_SIZE]);
/* Any owned object: only whose it is. */
void decode_owned(struct controller *c, enum owned_kind kind, const cJSON *object,
                  enum cache_source source);

#endif
