/*
 * A hostile tenant: every verb in a namespace of its own, and eyes for all others. It copies what
 * it sees, with owners, labels and finalizers, and changes its copies as it likes. Nothing of that
 * may touch anybody else's job.
 */
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/sim/value.h"
#include "tests/sim/world.h"

#define MOST_OBJECTS 24 /* of a kind; a quota */

bool tenant_owns(const struct store_object *o) { return strcmp(o->ns, TENANT_NS) == 0; }

size_t tenant_others(const struct sim_world *w, enum store_kind kind)
{
    const struct store *s = &w->api.store;
    size_t n = 0;

    while (n < s->n[kind] && !tenant_owns(s->objects[kind][n])) /* sorted, and its own are last */
        n++;
    return n;
}

/* One of its own objects, or of all others'. */
static struct store_object *tenant_pick(struct sim_world *w, enum store_kind kind, bool own)
{
    size_t others = tenant_others(w, kind), first = own ? others : 0;
    size_t n = own ? w->api.store.n[kind] - others : others;

    return n ? w->api.store.objects[kind][first + random_next(&w->tenant) % n] : NULL;
}

static enum store_kind tenant_kind(struct sim_world *w)
{
    static const enum store_kind of[] = {KIND_POD,
                                         KIND_POD,
                                         KIND_POD,
                                         KIND_JOB,
                                         KIND_NETWORK_POLICY,
                                         KIND_SERVICE,
                                         KIND_CONFIG_MAP,
                                         KIND_SECRET,
                                         KIND_EVENT,
                                         KIND_VOLCANO_GROUP,
                                         KIND_SCHEDULER_GROUP};

    return of[random_next(&w->tenant) % ARRAY_LEN(of)];
}

/* A reference to any job that there is, true or with one lie. */
static void tenant_claim(struct sim_world *w, cJSON *meta)
{
    struct store_object *job = tenant_pick(w, KIND_JOB, random_chance(&w->tenant, 250));
    cJSON *list = cJSON_CreateArray(), *ref = cJSON_CreateObject();

    cJSON_AddItemToArray(list, ref);
    val_set_str(ref, "apiVersion", random_chance(&w->tenant, 900) ? "paceline.dev/v1" : "batch/v1");
    val_set_str(ref, "kind", random_chance(&w->tenant, 900) ? "TrainingJob" : "ConfigMap");
    val_set_str(ref, "name", job && random_chance(&w->tenant, 900) ? job->name : "j9");
    val_set_str(ref, "uid", job && random_chance(&w->tenant, 900) ? job->uid : "none");
    val_set(ref, "controller", cJSON_CreateBool(random_chance(&w->tenant, 900)));
    val_set(meta, "ownerReferences", list);
}

/* Statements that no kubelet would make. */
static void tenant_lie(struct sim_world *w, struct store_object *o, const cJSON *like)
{
    static const char *const ends[] = {"Succeeded", "Failed", "Running"};
    const char *end = ends[random_range(&w->tenant, 0, 2)];
    cJSON *json = store_edit(o), *status;

    if (like)
        val_set(json, "status", cJSON_Duplicate(like, true));
    status = val_object(json, "status");
    if (o->kind == KIND_POD) {
        cJSON *list = cJSON_Parse("[{\"name\":\"tensorflow\",\"restartCount\":9,\"state\":{}}]");
        cJSON *state = val_get(list->child, "state", NULL);

        val_set_str(status, "phase", end);
        val_set_int(cJSON_AddObjectToObject(state, "terminated"), "exitCode", end[0] == 'F');
        val_set(status, "containerStatuses", list);
        val_set_str(val_object(json, "spec"), "nodeName", "node-0");
    }
    store_update(&w->api.store, o, json);
}

static void tenant_copy(struct sim_world *w, enum store_kind kind)
{
    struct store_object *from = tenant_pick(w, kind, false), *o;
    AUTO(auto_json) cJSON *status = NULL;
    cJSON *json, *meta;

    if (!from || w->api.store.n[kind] - tenant_others(w, kind) >= MOST_OBJECTS ||
        store_find(&w->api.store, kind, TENANT_NS, from->name))
        return;
    json = store_edit(from);
    meta = val_object(json, "metadata");
    val_set_str(meta, "namespace", TENANT_NS);
    if (random_chance(&w->tenant, 200))
        tenant_claim(w, meta);
    if (val_get(json, "status", NULL))
        status = cJSON_Duplicate(val_get(json, "status", NULL), true);
    world_trace(w, "tenant copies %s %s", kinds[kind].name, from->name);
    o = store_create(&w->api.store, kind, json, NULL);
    if ((kind == KIND_POD || kind == KIND_JOB) && random_chance(&w->tenant, 600))
        tenant_lie(w, o, status);
}

static void tenant_edit(struct sim_world *w, struct store_object *o)
{
    static const char *const finalizers[] = {"[]", "[\"paceline.dev/tracking\"]",
                                             "[\"evil.dev/x\"]"};
    const struct store_object *like = tenant_pick(w, o->kind, false);
    cJSON *json = store_edit(o), *meta = val_object(json, "metadata");

    world_trace(w, "tenant edits %s %s", kinds[o->kind].name, o->name);
    switch (random_range(&w->tenant, 0, 3)) {
    case 0:
        tenant_claim(w, meta);
        break;
    case 1:
        val_set(meta, "ownerReferences", NULL);
        break;
    case 2:
        val_set(meta, "finalizers", cJSON_Parse(finalizers[random_range(&w->tenant, 0, 2)]));
        break;
    default:
        val_set(meta, "labels",
                like ? cJSON_Duplicate(val_get(like->v->json, "metadata", "labels", NULL), true)
                     : NULL);
    }
    store_update(&w->api.store, o, json);
}

void tenant_act(struct sim_world *w)
{
    enum actor actor = w->actor;
    bool late = w->actor_late;
    enum store_kind kind = tenant_kind(w);
    struct store_object *own = tenant_pick(w, kind, true);
    int64_t what = random_range(&w->tenant, 0, 9);

    w->actor = ACTOR_USER;
    w->actor_late = false;
    if (!own || what < 5) {
        tenant_copy(w, kind);
    } else if (what < 7) {
        tenant_edit(w, own);
    } else if (what < 8 && (kind == KIND_POD || kind == KIND_JOB)) {
        const struct store_object *like = tenant_pick(w, kind, false);

        world_trace(w, "tenant lies about %s %s", kinds[kind].name, own->name);
        tenant_lie(w, own, like ? val_get(like->v->json, "status", NULL) : NULL);
    } else {
        world_trace(w, "tenant deletes %s %s", kinds[kind].name, own->name);
        store_delete(&w->api.store, own, random_chance(&w->tenant, 500) ? 0 : -1,
                     kind == KIND_JOB && random_chance(&w->tenant, 300));
    }
    w->actor = actor;
    w->actor_late = late;
}

void tenant_between(struct sim_world *w)
{
    if (!w->quiet && random_chance(&w->tenant, w->tenant_eager))
        tenant_act(w);
}

static void tenant_on_time(struct sim_world *w, int64_t id)
{
    (void)id;
    if (w->quiet)
        return;
    tenant_act(w);
    world_after(w, random_range(&w->tenant, 50, 10000), tenant_on_time, 0);
}

void tenant_start(struct sim_world *w)
{
    static const int eager[] = {0, 20, 100, 300};

    w->tenant_eager = eager[random_next(&w->tenant) % ARRAY_LEN(eager)];
    world_after(w, random_range(&w->tenant, 0, 10000), tenant_on_time, 0);
}
