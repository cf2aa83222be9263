#include "tests/sim/store.h"

#include "paceline/mem.h"
#include "tests/sim/value.h"

const struct kind_info kinds[N_KINDS] = {
    [KIND_JOB] = {"/apis/paceline.dev/v1", "trainingjobs", "TrainingJob", "paceline.dev", false,
                  true},
    [KIND_POD] = {"/api/v1", "pods", "Pod", "", true, false},
    [KIND_SERVICE] = {"/api/v1", "services", "Service", "", true, false},
    [KIND_CONFIG_MAP] = {"/api/v1", "configmaps", "ConfigMap", "", false, false},
    [KIND_SECRET] = {"/api/v1", "secrets", "Secret", "", false, false},
    [KIND_NETWORK_POLICY] = {"/apis/networking.k8s.io/v1", "networkpolicies", "NetworkPolicy",
                             "networking.k8s.io", false, false},
    [KIND_LEASE] = {"/apis/coordination.k8s.io/v1", "leases", "Lease", "coordination.k8s.io", false,
                    false},
    [KIND_EVENT] = {"/api/v1", "events", "Event", "", false, false},
    [KIND_VOLCANO_GROUP] = {"/apis/scheduling.volcano.sh/v1beta1", "podgroups", "PodGroup",
                            "scheduling.volcano.sh", false, true},
    [KIND_SCHEDULER_GROUP] = {"/apis/scheduling.x-k8s.io/v1alpha1", "podgroups", "PodGroup",
                              "scheduling.x-k8s.io", false, true},
};

const char *version_text(struct version *v)
{
    if (!v->text)
        v->text = val_print(v->json);
    return v->text;
}

struct version *version_ref(struct version *v)
{
    v->refs++;
    return v;
}

void version_unref(struct version *v)
{
    if (!v || --v->refs > 0)
        return;
    cJSON_Delete(v->json);
    free(v->text);
    free(v);
}

/* Gives the tree the next resource version. */
static struct version *version_new(struct store *s, cJSON *json)
{
    struct version *v = xcalloc(1, sizeof *v);
    char rv[24];

    v->refs = 1;
    v->rv = ++s->rv;
    v->json = json;
    snprintf(rv, sizeof rv, "%lld", (long long)v->rv);
    val_set_str(val_object(json, "metadata"), "resourceVersion", rv);
    return v;
}

void store_init(struct store *s, int64_t rv, uint64_t uids)
{
    *s = (struct store){.rv = rv, .uids = uids};
}

static void object_free(struct store_object *o)
{
    version_unref(o->v);
    free(o->ns);
    free(o->name);
    free(o->uid);
    free(o);
}

void store_release(struct store *s)
{
    version_unref(s->dropped);
    for (int k = 0; k < N_KINDS; k++) {
        for (size_t i = 0; i < s->n[k]; i++)
            object_free(s->objects[k][i]);
        for (size_t i = 0; i < s->n_history[k]; i++) {
            version_unref(s->history[k][i].old);
            version_unref(s->history[k][i].new);
            version_unref(s->history[k][i].last);
        }
        free(s->objects[k]);
        free(s->history[k]);
    }
}

/* The index at which the name is, or belongs. */
static size_t place(const struct store *s, enum store_kind kind, const char *ns, const char *name,
                    bool *found)
{
    size_t low = 0, high = s->n[kind];

    *found = false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct store_object *o = s->objects[kind][middle];
        int order = strcmp(o->ns, ns);

        if (order == 0)
            order = strcmp(o->name, name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct store_object *store_find(const struct store *s, enum store_kind kind, const char *ns,
                                const char *name)
{
    bool found;
    size_t at = place(s, kind, ns, name, &found);

    return found ? s->objects[kind][at] : NULL;
}

struct store_object *store_find_uid(const struct store *s, enum store_kind kind, const char *uid)
{
    for (size_t i = 0; i < s->n[kind]; i++) {
        if (strcmp(s->objects[kind][i]->uid, uid) == 0)
            return s->objects[kind][i];
    }
    return NULL;
}

static void remember(struct store *s, enum store_kind kind, struct change change)
{
    if (s->n_history[kind] == s->cap_history[kind]) {
        s->cap_history[kind] = s->cap_history[kind] ? s->cap_history[kind] * 2 : 64;
        s->history[kind] =
            xrealloc(s->history[kind], s->cap_history[kind] * sizeof *s->history[kind]);
    }
    s->history[kind][s->n_history[kind]++] = change;
}

static void tell(struct store *s, const struct store_object *o, const cJSON *prev,
                 const cJSON *next)
{
    if (s->changed)
        s->changed(s->arg, o, prev, next);
}

static void insert(struct store *s, struct store_object *o)
{
    bool found;
    size_t at = place(s, o->kind, o->ns, o->name, &found);
    int k = o->kind;

    if (s->n[k] == s->cap[k]) {
        s->cap[k] = s->cap[k] ? s->cap[k] * 2 : 16;
        s->objects[k] = xrealloc(s->objects[k], s->cap[k] * sizeof(struct store_object *));
    }
    memmove(s->objects[k] + at + 1, s->objects[k] + at,
            (s->n[k] - at) * sizeof(struct store_object *));
    s->objects[k][at] = o;
    s->n[k]++;
}

static uint64_t scramble(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The fields that the server sets itself. */
static void fill(struct store *s, enum store_kind kind, cJSON *json)
{
    cJSON *meta = val_object(json, "metadata");
    uint64_t a = scramble(s->uids), b = scramble(s->uids + 1);
    char uid[40];

    s->uids += 2;
    snprintf(uid, sizeof uid, "%08x-%04x-4%03x-a%03x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff, (unsigned)(b >> 48) & 0xfff,
             (unsigned long long)(b & 0xffffffffffffu));
    val_set_str(meta, "uid", uid);
    val_set(meta, "creationTimestamp", val_time(s->now_ms));
    val_set(meta, "deletionTimestamp", NULL);
    val_set(meta, "deletionGracePeriodSeconds", NULL);
    val_set(meta, "generation", NULL);
    if (kinds[kind].custom || kind == KIND_NETWORK_POLICY || kind == KIND_POD)
        val_set_int(meta, "generation", 1);
    if (kinds[kind].custom)
        val_set(json, "status", NULL);
    if (kind == KIND_POD) {
        val_set(json, "status", cJSON_CreateObject());
        val_set_str(val_object(json, "status"), "phase", "Pending");
        if (!val_get(json, "spec", "terminationGracePeriodSeconds", NULL))
            val_set_int(val_object(json, "spec"), "terminationGracePeriodSeconds", 30);
    }
}

struct store_object *store_create(struct store *s, enum store_kind kind, cJSON *json, cJSON **dry)
{
    struct store_object *o;

    fill(s, kind, json);
    if (dry) {
        *dry = json;
        return NULL;
    }
    o = xcalloc(1, sizeof *o);
    o->kind = kind;
    o->ns = xstrdup(val_str(json, "metadata", "namespace"));
    o->name = xstrdup(val_str(json, "metadata", "name"));
    o->uid = xstrdup(val_str(json, "metadata", "uid"));
    o->v = version_new(s, json);
    insert(s, o);
    remember(s, kind, (struct change){.rv = o->v->rv, .new = version_ref(o->v)});
    tell(s, o, NULL, json);
    return o;
}

cJSON *store_edit(const struct store_object *o) { return cJSON_Duplicate(o->v->json, true); }

/* Takes the object out; json (owned) is what an answer shows. Watches see what was stored last. */
static void drop(struct store *s, struct store_object *o, cJSON *json)
{
    bool found;
    size_t at = place(s, o->kind, o->ns, o->name, &found);
    struct version *last = version_new(s, store_edit(o));
    int k = o->kind;

    version_unref(s->dropped);
    s->dropped = xcalloc(1, sizeof *s->dropped);
    *s->dropped = (struct version){.refs = 1, .rv = last->rv, .json = json};
    val_set_str(val_object(json, "metadata"), "resourceVersion",
                val_str(last->json, "metadata", "resourceVersion"));

    s->n[k]--;
    memmove(s->objects[k] + at, s->objects[k] + at + 1,
            (s->n[k] - at) * sizeof(struct store_object *));
    remember(s, o->kind, (struct change){.rv = last->rv, .old = version_ref(o->v), .last = last});
    tell(s, o, o->v->json, NULL);
    object_free(o);
}

static bool has_finalizers(const cJSON *json)
{
    const cJSON *list = val_get(json, "metadata", "finalizers", NULL);

    return list && list->child;
}

/* Generation counts changes of what is desired: of custom resources all but metadata and status. */
static bool desired_changed(enum store_kind kind, const cJSON *a, const cJSON *b)
{
    if (!kinds[kind].custom && kind != KIND_NETWORK_POLICY)
        return false;
    return !cJSON_Compare(val_get(a, "spec", NULL), val_get(b, "spec", NULL), true);
}

static bool same(const cJSON *a, const cJSON *b) { return cJSON_Compare(a, b, true); }

static void replace(struct store *s, struct store_object *o, cJSON *json)
{
    struct version *old = o->v;

    o->v = version_new(s, json);
    remember(s, o->kind, (struct change){.rv = o->v->rv, .old = old, .new = version_ref(o->v)});
    tell(s, o, old->json, json);
}

bool store_update(struct store *s, struct store_object *o, cJSON *json)
{
    cJSON *meta = val_object(json, "metadata");

    val_set_str(meta, "resourceVersion", val_str(o->v->json, "metadata", "resourceVersion"));
    if (same(o->v->json, json)) {
        cJSON_Delete(json);
        return true;
    }
    if (desired_changed(o->kind, o->v->json, json))
        val_set_int(meta, "generation", val_int(meta, "generation") + 1);
    if (val_get(meta, "deletionTimestamp", NULL) && !has_finalizers(json) &&
        val_int(meta, "deletionGracePeriodSeconds") == 0) {
        drop(s, o, json);
        return false;
    }
    replace(s, o, json);
    return true;
}

static void mark(struct store *s, cJSON *json, int64_t grace_s)
{
    cJSON *meta = val_object(json, "metadata");

    val_set(meta, "deletionTimestamp", val_time(s->now_ms + grace_s * 1000));
    val_set_int(meta, "deletionGracePeriodSeconds", grace_s);
    if (val_get(meta, "generation", NULL))
        val_set_int(meta, "generation", val_int(meta, "generation") + 1);
}

/* Only ever shorter. */
static void shorten(cJSON *json, int64_t grace_s)
{
    cJSON *meta = val_object(json, "metadata");
    int64_t asked = val_ms(val_get(meta, "deletionTimestamp", NULL)) -
                    val_int(meta, "deletionGracePeriodSeconds") * 1000;

    val_set(meta, "deletionTimestamp", val_time(asked + grace_s * 1000));
    val_set_int(meta, "deletionGracePeriodSeconds", grace_s);
}

static int64_t pod_grace(const cJSON *json, int64_t grace_s)
{
    const char *phase = val_str(json, "status", "phase");

    if (!val_get(json, "spec", "nodeName", NULL) ||
        (phase && (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0)))
        return 0;
    return grace_s >= 0 ? grace_s : val_int(json, "spec", "terminationGracePeriodSeconds");
}

bool store_delete(struct store *s, struct store_object *o, int64_t grace_s, bool foreground)
{
    cJSON *json = store_edit(o), *meta = val_object(json, "metadata");
    bool deleting = val_get(meta, "deletionTimestamp", NULL);
    int64_t grace = o->kind == KIND_POD ? pod_grace(json, grace_s) : 0;

    if (foreground) {
        cJSON *list = val_get(meta, "finalizers", NULL);

        if (!list)
            list = cJSON_AddArrayToObject(meta, "finalizers");
        if (!val_has(list, "foregroundDeletion"))
            cJSON_AddItemToArray(list, cJSON_CreateString("foregroundDeletion"));
    }
    if (!deleting && (o->kind == KIND_POD || has_finalizers(json)))
        mark(s, json, grace);
    else if (o->kind == KIND_POD && (grace_s >= 0 || grace == 0) &&
             grace < val_int(meta, "deletionGracePeriodSeconds"))
        shorten(json, grace);
    if (!has_finalizers(json) && val_int(meta, "deletionGracePeriodSeconds") == 0) {
        drop(s, o, json);
        return false;
    }
    return store_update(s, o, json);
}

const char *object_owner(const cJSON *json)
{
    const cJSON *ref;

    cJSON_ArrayForEach(ref, val_get(json, "metadata", "ownerReferences", NULL))
    {
        if (val_true(ref, "controller"))
            return val_str(ref, "uid");
    }
    return NULL;
}
