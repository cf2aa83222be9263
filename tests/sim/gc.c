/* The garbage collector: what an owner leaves behind goes, in the background or before it. */
#include "paceline/mem.h"
#include "tests/sim/value.h"
#include "tests/sim/world.h"

/* The TrainingJob that controls it, by namespace, name and UID; NULL: none does, or it is not
 * there. */
static struct store_object *owner_of(const struct sim_world *w, const char *ns, const cJSON *json)
{
    const char *uid = object_owner(json);
    const cJSON *ref;
    struct store_object *owner;

    cJSON_ArrayForEach(ref, val_get(json, "metadata", "ownerReferences", NULL))
    {
        if (!uid || !val_true(ref, "controller"))
            continue;
        owner = store_find(&w->api.store, KIND_JOB, ns, val_str(ref, "name"));
        return owner && strcmp(owner->uid, uid) == 0 &&
                       strcmp(val_str(ref, "kind"), "TrainingJob") == 0
                   ? owner
                   : NULL;
    }
    return NULL;
}

static bool has_dependents(struct sim_world *w, const struct store_object *job)
{
    const struct store *s = &w->api.store;

    for (int k = 0; k < N_KINDS; k++) {
        for (size_t i = 0; i < s->n[k]; i++) {
            if (owner_of(w, s->objects[k][i]->ns, s->objects[k][i]->v->json) == job)
                return true;
        }
    }
    return false;
}

/* A finalizer of the collector's own means something on an object that is being deleted only: a
 * tenant may write it into any. */
static bool goes_with(const struct store_object *owner, const char *finalizer)
{
    const cJSON *meta = val_get(owner->v->json, "metadata", NULL);

    return val_get(meta, "deletionTimestamp", NULL) &&
           val_has(val_get(meta, "finalizers", NULL), finalizer);
}

/* Owners in the foreground: their dependents go first. */
static bool owner_goes(const struct store_object *owner)
{
    return goes_with(owner, "foregroundDeletion");
}

static bool delete_one(struct sim_world *w)
{
    struct store *s = &w->api.store;

    for (int k = 0; k < N_KINDS; k++) {
        for (size_t i = 0; i < s->n[k]; i++) {
            struct store_object *o = s->objects[k][i], *owner;
            const char *uid = object_owner(o->v->json);

            if (!uid || val_get(o->v->json, "metadata", "deletionTimestamp", NULL))
                continue;
            owner = owner_of(w, o->ns, o->v->json);
            if (owner && !owner_goes(owner))
                continue;
            world_trace(w, "gc deletes %s %s", kinds[k].name, o->name);
            store_delete(s, o, -1, false);
            return true;
        }
    }
    return false;
}

static bool orphans(const struct store_object *owner) { return goes_with(owner, "orphan"); }

/* Owners that leave their dependents to nobody. */
static bool orphan_one(struct sim_world *w)
{
    struct store *s = &w->api.store;

    for (int k = 0; k < N_KINDS; k++) {
        for (size_t i = 0; i < s->n[k]; i++) {
            struct store_object *o = s->objects[k][i], *owner;
            cJSON *json;

            owner = owner_of(w, o->ns, o->v->json);
            if (!owner || !orphans(owner))
                continue;
            world_trace(w, "gc orphans %s %s", kinds[k].name, o->name);
            json = store_edit(o);
            cJSON_DeleteItemFromObject(val_get(json, "metadata", NULL), "ownerReferences");
            store_update(s, o, json);
            return true;
        }
    }
    return false;
}

static void on_collect(struct sim_world *w, int64_t id)
{
    struct store *s = &w->api.store;

    (void)id;
    w->gc_waits = false;
    if (orphan_one(w) || delete_one(w)) {
        w->gc_waits = true;
        world_after(w, random_range(&w->schedule, 1, 100), on_collect, 0);
        return;
    }
    for (size_t i = 0; i < s->n[KIND_JOB]; i++) {
        struct store_object *job = s->objects[KIND_JOB][i];

        if ((owner_goes(job) || orphans(job)) && !has_dependents(w, job)) {
            cJSON *json = store_edit(job);
            cJSON *finalizers = val_get(json, "metadata", "finalizers", NULL);

            val_drop(finalizers, orphans(job) ? "orphan" : "foregroundDeletion");
            store_update(s, job, json);
            return;
        }
    }
}

void gc_changed(struct sim_world *w, const struct store_object *o, const cJSON *prev,
                const cJSON *next)
{
    bool orphan = prev && !next && o->kind == KIND_JOB;
    const cJSON *finalizers = next ? val_get(next, "metadata", "finalizers", NULL) : NULL;
    bool foreground = val_has(finalizers, "foregroundDeletion") || val_has(finalizers, "orphan");
    const char *owner = object_owner(next ? next : prev);
    bool born_late = owner && !owner_of(w, o->ns, next ? next : prev);
    bool dependent_gone = owner && !next;

    if (w->gc_waits || !(orphan || foreground || born_late || dependent_gone))
        return;
    w->gc_waits = true;
    world_after(w, random_range(&w->schedule, 10, 3000), on_collect, 0);
}
