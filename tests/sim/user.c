/* A user with a keyboard. */
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/sim/value.h"
#include "tests/sim/world.h"

static struct store_object *job_object(struct sim_world *w, const struct job_plan *plan)
{
    return store_find(&w->api.store, KIND_JOB, plan->ns, plan->name);
}

void user_create(struct sim_world *w, int64_t job)
{
    struct job_plan *plan = &w->jobs[job];
    cJSON *json, *meta, *labels;

    w->actor = ACTOR_USER;
    if (job_object(w, plan)) { /* the old one is still there: again later */
        if (!w->quiet)
            world_after(w, 2000, user_create, job);
        return;
    }
    json = cJSON_CreateObject();
    meta = cJSON_AddObjectToObject(json, "metadata");
    val_set_str(meta, "namespace", plan->ns);
    val_set_str(meta, "name", plan->name);
    labels = cJSON_AddObjectToObject(meta, "labels");
    val_set_str(labels, "team", "vision");
    cJSON_AddItemToObject(json, "spec", cJSON_Parse(plan->spec));
    world_trace(w, "user creates %s", plan->name);
    store_create(&w->api.store, KIND_JOB, json, NULL);
}

static void edit_label(struct sim_world *w, struct store_object *job)
{
    cJSON *json = store_edit(job);
    char value[24];

    snprintf(value, sizeof value, "v%lld", (long long)random_range(&w->user, 0, 99));
    val_set_str(val_object(val_object(json, "metadata"), "labels"), "team", value);
    store_update(&w->api.store, job, json);
}

static void scale(struct sim_world *w, struct store_object *job, const struct job_plan *plan)
{
    cJSON *json = store_edit(job);
    bool chief = val_int(json, "spec", "replicas", "chief", "replicas") > 0;
    bool servers = plan->servers && random_chance(&w->user, 400);
    const char *role = servers ? "ps" : "worker";
    int64_t n = random_range(&w->user, chief ? 0 : 1, servers ? 3 : 5);

    world_trace(w, "user scales %s of %s to %lld", role, job->name, (long long)n);
    val_set_int(val_get(json, "spec", "replicas", role, NULL), "replicas", n);
    store_update(&w->api.store, job, json);
}

static void suspend(struct sim_world *w, struct store_object *job, bool on)
{
    cJSON *json = store_edit(job);

    world_trace(w, "user %s %s", on ? "suspends" : "resumes", job->name);
    val_set(val_get(json, "spec", "runPolicy", NULL), "suspend", cJSON_CreateBool(on));
    store_update(&w->api.store, job, json);
}

static void edit_policy(struct sim_world *w, struct store_object *job)
{
    static const char *const clean[] = {"Running", "None", "All"};
    cJSON *json = store_edit(job), *policy = val_get(json, "spec", "runPolicy", NULL);

    switch (random_range(&w->user, 0, 3)) {
    case 0:
        val_set_int(policy, "backoffLimit", random_range(&w->user, 0, 6));
        break;
    case 1:
        val_set_int(policy, "activeDeadlineSeconds", random_range(&w->user, 5, 120));
        break;
    case 2:
        val_set_int(policy, "ttlSecondsAfterFinished", random_range(&w->user, 0, 60));
        break;
    default:
        val_set_str(policy, "cleanPodPolicy", clean[random_range(&w->user, 0, 2)]);
    }
    store_update(&w->api.store, job, json);
}

static struct store_object *any(struct sim_world *w, enum store_kind kind)
{
    size_t n = tenant_others(w, kind);

    return n ? w->api.store.objects[kind][random_next(&w->user) % n] : NULL;
}

static void delete_pod(struct sim_world *w, enum fault how)
{
    struct store_object *pod = any(w, KIND_POD);

    if (!pod)
        return;
    world_fault(w, how);
    world_trace(w, "user deletes pod %s", pod->name);
    if (how == FAULT_USER_POD) {
        store_delete(&w->api.store, pod, -1, false);
    } else if (store_delete(&w->api.store, pod, 0, false) && how == FAULT_USER_STRIP) {
        cJSON *json = store_edit(pod);
        struct sim_process *p = process_find(w, pod->uid);

        if (p)
            p->stripped = true;
        val_set(val_get(json, "metadata", NULL), "finalizers", NULL);
        store_update(&w->api.store, pod, json);
    }
}

static void delete_object(struct sim_world *w)
{
    static const enum store_kind of[] = {KIND_SERVICE,         KIND_CONFIG_MAP,
                                         KIND_NETWORK_POLICY,  KIND_VOLCANO_GROUP,
                                         KIND_SCHEDULER_GROUP, KIND_SECRET};
    struct store_object *o = any(w, of[random_next(&w->user) % ARRAY_LEN(of)]);

    if (!o)
        return;
    world_fault(w, FAULT_USER_OBJECT);
    w->unmapped = w->unmapped || o->kind == KIND_CONFIG_MAP;
    world_trace(w, "user deletes %s %s", kinds[o->kind].name, o->name);
    store_delete(&w->api.store, o, -1, false);
}

/* Objects that nobody owns any more. */
static void sweep(struct sim_world *w, int64_t id)
{
    struct store *s = &w->api.store;

    (void)id;
    w->actor = ACTOR_USER;
    for (int k = KIND_POD; k < N_KINDS; k++) {
        for (size_t i = 0; i < tenant_others(w, (enum store_kind)k); i++) {
            struct store_object *o = s->objects[k][i];
            const cJSON *meta = val_get(o->v->json, "metadata", NULL);

            if (k == KIND_LEASE || k == KIND_EVENT || object_owner(o->v->json) ||
                val_get(meta, "deletionTimestamp", NULL))
                continue;
            world_trace(w, "user deletes the orphaned %s %s", kinds[k].name, o->name);
            i -= !store_delete(s, o, -1, false);
        }
    }
}

/* Its pods and other objects stay: the garbage collector only unties them. */
static void orphan_job(struct sim_world *w, struct store_object *job)
{
    cJSON *json = store_edit(job);

    val_set(val_object(json, "metadata"), "finalizers", cJSON_Parse("[\"orphan\"]"));
    world_trace(w, "user deletes job %s and orphans its objects", job->name);
    store_update(&w->api.store, job, json);
    store_delete(&w->api.store, job, -1, false);
    world_after(w, random_range(&w->user, 1000, 60000), sweep, 0);
    world_after(w, 100000, sweep, 0); /* at last */
}

static void delete_job(struct sim_world *w, struct store_object *job, int64_t n, bool again)
{
    bool foreground = random_chance(&w->user, 300);

    if (!foreground && random_chance(&w->user, 150) &&
        !val_get(job->v->json, "metadata", "finalizers", NULL)) {
        orphan_job(w, job);
    } else {
        world_trace(w, "user deletes job %s%s", job->name, foreground ? " in the foreground" : "");
        store_delete(&w->api.store, job, -1, foreground);
    }
    if (again)
        world_after(w, random_range(&w->user, 0, 10000), user_create, n);
}

void user_churn(struct sim_world *w)
{
    int64_t n = random_range(&w->user, 0, w->n_jobs - 1);
    struct store_object *job = job_object(w, &w->jobs[n]);
    int64_t what = random_range(&w->user, 0, 9);

    w->actor = ACTOR_USER;
    if (!job) {
        world_fault(w, FAULT_USER_CREATE);
        user_create(w, n);
    } else if (what < 5) {
        world_fault(w, FAULT_USER_SCALE);
        scale(w, job, &w->jobs[n]);
    } else if (what < 8) {
        bool on = !val_true(job->v->json, "spec", "runPolicy", "suspend");

        world_fault(w, on ? FAULT_USER_SUSPEND : FAULT_USER_RESUME);
        suspend(w, job, on);
    } else {
        world_fault(w, FAULT_USER_DELETE);
        delete_job(w, job, n, true);
    }
}

void user_act(struct sim_world *w)
{
    enum fault what = (enum fault)random_range(&w->user, FAULT_USER_LABEL, FAULT_USER_OBJECT);
    int64_t n = random_range(&w->user, 0, w->n_jobs - 1);
    struct store_object *job = job_object(w, &w->jobs[n]);

    w->actor = ACTOR_USER;
    if (w->jobs[n].launched && random_chance(&w->user, 250)) /* what runs of the engine feel most */
        what = FAULT_USER_SCALE;
    if (what == FAULT_USER_OBJECT) {
        delete_object(w);
        return;
    }
    if (what >= FAULT_USER_POD) {
        delete_pod(w, what);
        return;
    }
    if (!job || (what == FAULT_USER_DELETE && random_chance(&w->user, 600)))
        return;
    world_fault(w, what);
    switch (what) {
    case FAULT_USER_LABEL:
        edit_label(w, job);
        break;
    case FAULT_USER_SCALE:
        scale(w, job, &w->jobs[n]);
        break;
    case FAULT_USER_SUSPEND:
    case FAULT_USER_RESUME:
        suspend(w, job, what == FAULT_USER_SUSPEND);
        break;
    case FAULT_USER_POLICY:
        edit_policy(w, job);
        break;
    default:
        delete_job(w, job, n, what == FAULT_USER_CREATE);
    }
}
