/*
 * The work of etcd and the generic registry of a kube-apiserver: objects by kind, namespace and
 * name, one counter of resource versions, the history that watches read, generations, finalizers
 * and graceful deletion. Kubelets, controllers and users of the simulation change objects here
 * directly; the operator comes through apiserver.h.
 */
#ifndef PACELINE_TESTS_SIM_STORE_H
#define PACELINE_TESTS_SIM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

enum store_kind {
    KIND_JOB,
    KIND_POD,
    KIND_SERVICE,
    KIND_CONFIG_MAP,
    KIND_SECRET,
    KIND_NETWORK_POLICY,
    KIND_LEASE,
    KIND_EVENT,
    KIND_VOLCANO_GROUP,
    KIND_SCHEDULER_GROUP,
    N_KINDS
};
struct kind_info {
    const char *base, *plural, *name, *group; /* "/api/v1", "pods", "Pod", "" */
    bool returns_deleted; /* DELETE answers with the object, else with a Status */
    bool custom;          /* has a status subresource */
};
extern const struct kind_info kinds[N_KINDS];

/* One state of an object, without kind and apiVersion; shared by the object, history and lists. */
struct version {
    int refs;
    int64_t rv;
    cJSON *json;
    char *text; /* printed when first asked for */
};
const char *version_text(struct version *v);
struct version *version_ref(struct version *v);
void version_unref(struct version *v);

struct store_object {
    enum store_kind kind;
    char *ns, *name, *uid;
    struct version *v;
};
struct change { /* of the history of a kind */
    int64_t rv;
    struct version *old, *new; /* NULL: created; deleted. old of a deletion: the last state */
    struct version *last;      /* of a deletion: the last state with the deletion's version */
};

struct store {
    int64_t now_ms; /* wall clock of the server; whoever drives it sets it */
    int64_t rv;
    uint64_t uids;
    struct store_object **objects[N_KINDS]; /* by namespace and name */
    size_t n[N_KINDS], cap[N_KINDS];
    struct change *history[N_KINDS];
    size_t n_history[N_KINDS], cap_history[N_KINDS];
    struct version *dropped; /* the last deletion, as its answer shows it */
    int64_t oldest_rv;       /* watches from before are told 410 */
    /* Called after each change: prev NULL: created; next NULL: deleted. */
    void (*changed)(void *arg, const struct store_object *o, const cJSON *prev, const cJSON *next);
    void *arg;
};

void store_init(struct store *s, int64_t rv, uint64_t uids);
void store_release(struct store *s);

struct store_object *store_find(const struct store *s, enum store_kind kind, const char *ns,
                                const char *name);
struct store_object *store_find_uid(const struct store *s, enum store_kind kind, const char *uid);

/* Takes the tree over, fills its metadata; the name must be free. dry: not kept; free *out's tree.
 * Returns the object, or NULL when dry with the tree as it would be in *dry. */
struct store_object *store_create(struct store *s, enum store_kind kind, cJSON *json, cJSON **dry);

/* A copy of the object's tree to change; give it to store_update. */
cJSON *store_edit(const struct store_object *o);
/*
 * Makes the tree (taken over) the object's state, if it differs. The object goes when it is being
 * deleted, its grace period is 0 and its last finalizer went. False: it is gone.
 */
bool store_update(struct store *s, struct store_object *o, cJSON *json);

/* Grace in seconds, -1: the default. foreground adds the finalizer. False: the object is gone. */
bool store_delete(struct store *s, struct store_object *o, int64_t grace_s, bool foreground);

const char *object_owner(const cJSON *json); /* UID of the controlling owner; NULL: none */

#endif
