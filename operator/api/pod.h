/* A pod of a TrainingJob as the cache keeps it: one allocation, a few hundred bytes. */
#ifndef PACELINE_OPERATOR_API_POD_H
#define PACELINE_OPERATOR_API_POD_H

#include "operator/api/meta.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

struct pod {
    struct meta meta;
    enum cluster_role role;
    int index;
    int64_t incarnation;
    enum pod_phase phase;
    bool ready;     /* condition Ready */
    bool probed;    /* a container has a readiness probe, so that Ready says something */
    bool scheduled; /* has a node */
    bool begun;     /* a container of it runs or has run */
    bool tracked;   /* carries our finalizer */
    bool disrupted; /* reason Evicted, Preempting, NodeLost, ... or condition DisruptionTarget */
    bool has_exit_code; /* a trainer container terminated */
    int exit_code;      /* of the main container (see objects.h), else of the first that failed */
    int64_t restart_count; /* by the kubelet, over all containers */
    int64_t finished_ms;   /* terminated.finishedAt of the main container; 0: unknown */
    int64_t started_ms;    /* status.startTime */
    /* Kept by the cache from version to version, on a clock that does not jump: since when and how
     * long we have watched it being deleted (cache_watch_deletions). */
    int64_t deleting_since_ms, deleting_for_ms;
    bool ended_unasked;  /* likewise: an earlier version had finished and was not being deleted */
    const char *reason;  /* why it failed or waits: "OOMKilled", "ImagePullBackOff", ...; or NULL */
    const char *message; /* in the server's words; or NULL */
    const char *ip, *node; /* or NULL */
    const char *key;       /* the Secret that it mounts as KEY_VOLUME; or NULL */
};

/*
 * A pod from the API's JSON. Fails (ERR_INVALID) when it is not one of ours: labels missing or not
 * what LABEL_* say, numbers out of range, bad metadata. The caller frees *out with free().
 */
MUST_CHECK int pod_decode(struct pod **out, const cJSON *object, struct err *err);

bool pod_finished(const struct pod *p);         /* Succeeded or Failed */
bool pod_is_up(const struct pod *p);            /* runs, and is Ready where a probe says so */
bool pod_is_unschedulable(const struct pod *p); /* the scheduler has looked, and found no node */
bool pod_is_owned(const struct pod *p);         /* a controller is named, by UID and name */

#endif
