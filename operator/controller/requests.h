/* The requests that the controller makes on single objects. */
#ifndef PACELINE_OPERATOR_CONTROLLER_REQUESTS_H
#define PACELINE_OPERATOR_CONTROLLER_REQUESTS_H

#include "operator/api/trainingjob.h"
#include "operator/controller/dispatcher.h"
#include "operator/objects/objects.h"

/* Appends text as it may stand in a query. */
void query_escape(struct buf *out, const char *text);

struct api_request request_list_events(const struct meta *pod); /* about the pod */
struct api_request request_get_job(const char *namespace_, const char *name);
struct api_request request_get_pod(const char *namespace_, const char *name);
/* Requests a page of the job's pods; the first if after is NULL. item gets each pod. */
struct api_request request_list_pods(const struct tj *tj, int limit, const char *after,
                                     void (*item)(void *arg, const cJSON *pod));
struct api_request request_get_owned(const struct tj *tj, enum owned_kind kind, const char *name);
struct api_request request_patch_status(const struct tj *tj, const struct tj_status *status);
/* Takes ownership of body. */
struct api_request request_create_pod(const char *namespace_, struct buf *body, bool dry_run);
struct api_request request_create_owned(const struct tj *tj, enum owned_kind kind,
                                        struct buf *body);
struct api_request request_create_event(const char *namespace_, struct buf *body);
struct api_request request_delete_pod(const struct meta *pod, bool force);
struct api_request request_delete_owned(const struct tj *tj, const struct meta *object,
                                        enum owned_kind kind);
struct api_request request_delete_job(const struct meta *job);
/* Takes our finalizer off a pod, whichever others it has; exactly: only off this very version. */
struct api_request request_release(const struct meta *pod, bool exactly);

#endif
