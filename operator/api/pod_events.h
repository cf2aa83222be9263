/* The events about a pod: only there does the kubelet report failures before a container starts. */
#ifndef PACELINE_OPERATOR_API_POD_EVENTS_H
#define PACELINE_OPERATOR_API_POD_EVENTS_H

#include <cjson/cJSON.h>

#include "paceline/arena.h"

/*
 * "FailedMount: MountVolume.SetUp failed for ...": the newest of an EventList, of one second a
 * warning first; that it was scheduled is none. NULL: nothing is told. In the arena.
 */
const char *pod_events_newest(const cJSON *list, struct arena *a);

#endif
