/*
 * What this process remembers of a job between two looks. Nothing here is needed for safety: after
 * a restart it is all zero, and the worst is a request made twice.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_MEMORY_H
#define PACELINE_OPERATOR_CONTROLLER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operator/reconcile/plan.h"

struct memory {
    char *key, *uid;
    struct memory *next; /* in its bucket */
    bool dry_run_ok[N_CLUSTER_ROLES];
    int64_t made[N_OWNED];            /* kinds that are not watched: for which generation, 0: not */
    int64_t made_mono_ms[N_OWNED];    /* and when, or when they were there */
    int64_t groups_gone;              /* PodGroups up to this generation are */
    char *invalid_template, *blocked; /* the API server's sentences, or NULL */
    int failures;                     /* plans in a row that did not go through */
    bool failed, status_failed;       /* the last one did not: back off at the next look */
    bool uncertain;                   /* our view may lack what matters (confirm.h) */
    bool reread;                      /* a conflict made us read, and no plan went through since */
    int64_t hold_mono_ms;             /* no actions before */
    int64_t status_hold_mono_ms;      /* no status before */
    int64_t status_written_mono_ms;
    int64_t dirty_mono_ms;              /* the first change not yet carried out; 0: none */
    char *events_pod, *events_sentence; /* of the pod whose events were read last: its UID, what
                                         * they say; or NULL */
    int64_t events_mono_ms;             /* and when */
    uint64_t *events;                   /* hashes of the keys of events that were sent */
    size_t n_events;
};

struct memories *memories_new(void);
void memories_free(struct memories *all);
/* The memory of the job with this UID; one of another UID under the key is forgotten first. */
struct memory *memories_of(struct memories *all, const char *key, const char *uid);
/* The memory under the key, or NULL. */
struct memory *memories_find(struct memories *all, const char *key);
void memories_drop(struct memories *all, const char *key);

/* True the first time for this event key. */
bool memory_event_new(struct memory *m, const char *event_key);
void memory_event_forget(struct memory *m, const char *event_key);

/* 64-bit FNV-1a. */
uint64_t hash_text(const char *text);

#endif
