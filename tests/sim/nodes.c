/* Nodes that fall silent, and what the control plane does about their pods. */
#include "paceline/mem.h"
#include "tests/sim/value.h"
#include "tests/sim/world.h"

#define NOT_READY_MS 40000 /* the node lifecycle controller's patience */

static void taint(struct sim_world *w, struct store_object *pod, const char *reason)
{
    cJSON *json = store_edit(pod);

    pod_set_condition(w, val_object(json, "status"), "DisruptionTarget", true, reason);
    store_update(&w->api.store, pod, json);
    store_delete(&w->api.store, pod, -1, false);
}

static int64_t toleration_s(const cJSON *pod)
{
    const cJSON *t;

    cJSON_ArrayForEach(t, val_get(pod, "spec", "tolerations", NULL))
    {
        const char *key = val_str(t, "key");

        if (key && strcmp(key, "node.kubernetes.io/unreachable") == 0)
            return val_get(t, "tolerationSeconds", NULL) ? val_int(t, "tolerationSeconds") : -1;
    }
    return 300;
}

static struct store_object *pod_of(struct sim_world *w, const struct sim_process *p)
{
    struct store_object *o = store_find(&w->api.store, KIND_POD, p->ns, p->name);

    return o && strcmp(o->uid, p->uid) == 0 ? o : NULL;
}

/* Events of a node carry the epoch of its outage. */
static bool still_down(const struct sim_world *w, int64_t id)
{
    const struct node *n = &w->nodes[id % N_NODES];

    return n->down && n->epoch == id / N_NODES;
}

/* Its job goes or is gone, we have let it go, and no kubelet will: an administrator has to. */
static bool abandoned(struct sim_world *w, const struct store_object *pod)
{
    const char *owner = object_owner(pod->v->json);
    const struct store_object *job = owner ? store_find_uid(&w->api.store, KIND_JOB, owner) : NULL;

    return val_get(pod->v->json, "metadata", "deletionTimestamp", NULL) &&
           !val_has(val_get(pod->v->json, "metadata", "finalizers", NULL),
                    "paceline.dev/tracking") &&
           (!job || val_get(job->v->json, "metadata", "deletionTimestamp", NULL));
}

/* Each second: the taint manager deletes those whose toleration ends. */
static void on_taint(struct sim_world *w, int64_t id)
{
    if (!still_down(w, id))
        return;
    for (size_t i = 0; i < w->n_processes; i++) {
        struct sim_process *p = &w->processes[i];
        struct store_object *pod = p->node == id % N_NODES ? pod_of(w, p) : NULL;
        int64_t tolerates;

        if (pod && w->nodes[p->node].forever && abandoned(w, pod)) {
            store_delete(&w->api.store, pod, 0, false);
            continue;
        }
        if (!pod || p->asked_ms)
            continue;
        tolerates = toleration_s(pod->v->json);
        if (tolerates < 0 ||
            w->now_ms < w->nodes[p->node].since_ms + NOT_READY_MS + tolerates * 1000)
            continue;
        w->actor = ACTOR_EVICTION;
        taint(w, pod, "DeletionByTaintManager");
    }
    world_after(w, 1000, on_taint, id);
}

static void on_not_ready(struct sim_world *w, int64_t id)
{
    if (!still_down(w, id))
        return;
    world_trace(w, "node %d is not ready", (int)(id % N_NODES));
    for (size_t i = 0; i < w->n_processes; i++) {
        struct sim_process *p = &w->processes[i];
        struct store_object *pod = p->node == id % N_NODES ? pod_of(w, p) : NULL;

        if (pod) {
            cJSON *json = store_edit(pod);

            pod_set_condition(w, val_object(json, "status"), "Ready", false, "NodeNotReady");
            store_update(&w->api.store, pod, json);
        }
    }
    on_taint(w, id);
}

void node_return(struct sim_world *w, int64_t id)
{
    int node = (int)(id % N_NODES);

    if (!still_down(w, id) || w->nodes[node].forever)
        return;
    world_trace(w, "node %d is back", node);
    w->nodes[node].down = false;
    kubelet_node_back(w, node);
}

void node_lose(struct sim_world *w, int node, bool dead, int64_t for_ms)
{
    struct node *n = &w->nodes[node];
    int64_t id;

    if (n->down)
        return;
    n->down = true;
    n->dead = dead;
    n->since_ms = w->now_ms;
    id = node + ++n->epoch * N_NODES;
    for (size_t i = 0; i < w->n_processes; i++) {
        struct sim_process *p = &w->processes[i];

        if (p->node != node)
            continue;
        p->lost_ms = w->now_ms;
        if (p->running)
            p->orphan = true;
        if (dead && p->running) {
            p->running = false;
            p->epoch++;
            p->ended_ms = w->now_ms;
        }
    }
    world_after(w, NOT_READY_MS, on_not_ready, id);
    world_after(w, for_ms, node_return, id);
}

void pod_evict(struct sim_world *w, struct store_object *pod)
{
    w->actor = ACTOR_EVICTION;
    taint(w, pod, "EvictionByEvictionAPI");
}
