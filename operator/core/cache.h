/*
 * The objects of the API server, as far as we know: jobs by name, pods by UID with an index by
 * owner (its namespace, name and UID), and which other owned objects exist. Holds trimmed objects
 * only.
 *
 * Reads see our own writes: the object in an answer goes in at once. Two rules replace the
 * expectations of other controllers:
 *
 * 1. Of two versions of an object the larger resourceVersion wins, whatever comes first.
 * 2. Each kind has a horizon, the version up to which its watch has shown everything. An answer
 *    at or below the horizon for an object that is not here is of an object deleted since, and is
 *    dropped. An answer above it goes in; should the object be deleted already, the watch has
 *    still to say so, with a version above the horizon, and will.
 *
 * For the second to hold, the watch must be in order and without gaps (it resumes at the last
 * version seen, or relists), and lists must be consistent reads (no resourceVersion parameter).
 * A list shows its objects by name, not by age, so only its end moves the horizon: an answer may
 * otherwise fall below it before the page with its object has come. Answers do not count as
 * listed; those above the list's version outlive it.
 *
 * Versions that cannot be compared (not decimal): the watch is believed, answers are dropped, and
 * a list is believed whole; writes are then seen when the watch shows them, at the price of a few
 * conflicts. A list below the horizon means that the server went back (etcd was restored from a
 * backup): it is believed whole as well, and the horizon goes back with it.
 */
#ifndef PACELINE_OPERATOR_CORE_CACHE_H
#define PACELINE_OPERATOR_CORE_CACHE_H

#include "operator/api/owned.h"
#include "operator/api/pod.h"
#include "operator/api/trainingjob.h"

enum cache_source {
    CACHE_WATCH,  /* list or watch; between lists it moves the kind's horizon */
    CACHE_ANSWER, /* the answer to one of our writes or reads */
};

/* A small object of which only the existence counts. */
struct owned_ref {
    struct meta meta; /* strings in the same allocation */
    enum owned_kind kind;
};

struct cache *cache_new(void);
void cache_free(struct cache *c);

/* Take ownership of the object. Return true if it was newer than the cached one; otherwise it is
 * freed. */
bool cache_put_job(struct cache *c, struct tj *tj, enum cache_source source);
bool cache_put_pod(struct cache *c, struct pod *pod, enum cache_source source);
bool cache_put_owned(struct cache *c, struct owned_ref *ref, enum cache_source source);

/* Call on a DELETED event, or on a 404 for exactly this UID. rv, if not empty, moves the horizon.
 */
void cache_delete_job(struct cache *c, const char *namespace_, const char *name, const char *uid,
                      const char *rv);
void cache_delete_pod(struct cache *c, const char *uid, const char *rv);
void cache_delete_owned(struct cache *c, enum owned_kind kind, const char *uid, const char *rv);

/*
 * A relist: between begin and end every object of the list is put (CACHE_WATCH), while no watch of
 * the kind runs; end drops those that were not put and are not newer than the list's own version
 * rv, and moves the horizon to rv. A list that broke off is begun again. gone is called for each
 * object that is dropped (its namespace and the job's name; not for one that has no owner) and
 * must not change the cache.
 */
enum cache_kind { CACHE_JOBS, CACHE_PODS, CACHE_OWNED, N_CACHE_KINDS = CACHE_OWNED + N_OWNED };
typedef void cache_gone_fn(void *arg, const char *namespace_, const char *job);
void cache_relist_begin(struct cache *c, int kind); /* CACHE_OWNED + an owned_kind for those */
void cache_relist_end(struct cache *c, int kind, const char *rv, cache_gone_fn *gone, void *arg);

const struct tj *cache_job(const struct cache *c, const char *namespace_, const char *name);
const struct pod *cache_pod(const struct cache *c, const char *uid);
/* Owned by a job, below: meta_controls holds, so namespace, name and UID fit. */

/* The job's pods, in no order; the array is valid until the cache changes. */
const struct pod *const *cache_pods_of(const struct cache *c, const struct meta *job, size_t *n);
/* Notes how long each of the job's pods has been seen to be deleted, with one deletionTimestamp;
 * mono_ms is above 0. */
void cache_watch_deletions(struct cache *c, const struct meta *job, int64_t mono_ms);
/* An object of this kind and name that the job owns, or NULL. */
const struct owned_ref *cache_owned(const struct cache *c, enum owned_kind kind,
                                    const struct meta *job, const char *name);
/* The i-th object of kind that the job owns; NULL past the end. */
const struct owned_ref *cache_owned_at(const struct cache *c, enum owned_kind kind,
                                       const struct meta *job, size_t i);

/* Each object once, in an order that follows from the history alone; fn must not change the cache.
 */
typedef void cache_job_fn(void *arg, const struct tj *tj);
void cache_each_job(const struct cache *c, cache_job_fn *fn, void *arg);
typedef void cache_pod_fn(void *arg, const struct pod *pod);
void cache_each_pod(const struct cache *c, cache_pod_fn *fn, void *arg);
size_t cache_count(const struct cache *c, int kind);

#endif
