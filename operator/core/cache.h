/*
 * What the API server has, as far as we know: jobs by key, pods by UID with an index by owner,
 * and which other owned objects exist. Holds trimmed objects only.
 *
 * Reads see our own writes: the object in an answer goes in at once. The larger resourceVersion
 * wins. An answer that is older than what the watch has already shown, for an object that is not
 * here, is of an object deleted since, and is dropped - so no expectations are needed.
 */
#ifndef PACELINE_OPERATOR_CORE_CACHE_H
#define PACELINE_OPERATOR_CORE_CACHE_H

#include "operator/api/pod.h"
#include "operator/api/trainingjob.h"
#include "operator/reconcile/plan.h"

enum cache_source {
    CACHE_WATCH,  /* list or watch: also moves the kind's horizon to the object's version */
    CACHE_ANSWER, /* the answer to one of our writes or reads */
};

/* A small object of which only the existence counts. */
struct owned_ref {
    struct meta meta; /* strings in the same allocation */
    enum owned_kind kind;
};

struct cache *cache_new(void);
void cache_free(struct cache *c);

/* Take ownership. True: it was news (newer than what was here); else it was freed. */
bool cache_put_job(struct cache *c, struct tj *tj, enum cache_source source);
bool cache_put_pod(struct cache *c, struct pod *pod, enum cache_source source);
bool cache_put_owned(struct cache *c, struct owned_ref *ref, enum cache_source source);

/* A DELETED event, or 404 for exactly this UID; rv moves the horizon when not empty. */
void cache_delete_job(struct cache *c, const char *namespace_, const char *name, const char *uid,
                      const char *rv);
void cache_delete_pod(struct cache *c, const char *uid, const char *rv);
void cache_delete_owned(struct cache *c, enum owned_kind kind, const char *uid, const char *rv);

/*
 * A relist: between begin and end every object of the list is put; end drops those that were not
 * put and are older than the list's own version rv, calling gone for each (its namespace and the
 * job's name), and moves the horizon to rv. `kinds` as in cache_kind.
 */
enum cache_kind { CACHE_JOBS, CACHE_PODS, CACHE_OWNED, N_CACHE_KINDS = CACHE_OWNED + N_OWNED };
typedef void cache_gone_fn(void *arg, const char *namespace_, const char *job);
void cache_relist_begin(struct cache *c, int kind); /* CACHE_OWNED + an owned_kind for those */
void cache_relist_end(struct cache *c, int kind, const char *rv, cache_gone_fn *gone, void *arg);

const struct tj *cache_job(const struct cache *c, const char *namespace_, const char *name);
const struct pod *cache_pod(const struct cache *c, const char *uid);
/* Pods that the job (by UID) owns; the array is valid until the cache changes. */
const struct pod *const *cache_pods_of(const struct cache *c, const char *owner_uid, size_t *n);
/* Any object of this kind and name that the UID owns. */
const struct owned_ref *cache_owned(const struct cache *c, enum owned_kind kind,
                                    const char *owner_uid, const char *name);
/* The i-th object of kind that the UID owns; NULL past the end. */
const struct owned_ref *cache_owned_at(const struct cache *c, enum owned_kind kind,
                                       const char *owner_uid, size_t i);

typedef void cache_job_fn(void *arg, const struct tj *tj);
void cache_each_job(const struct cache *c, cache_job_fn *fn, void *arg);
typedef void cache_pod_fn(void *arg, const struct pod *pod);
void cache_each_pod(const struct cache *c, cache_pod_fn *fn, void *arg);
size_t cache_count(const struct cache *c, int kind);

#endif
