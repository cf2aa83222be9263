/* The faults, and their times. */
#include "paceline/mem.h"
#include "tests/sim/value.h"
#include "tests/sim/world.h"

/* Whether the kind of fault can befall the request. */
static bool fits(enum fault kind, const struct kube_request *r)
{
    bool watch = strstr(r->path, "watch=1");

    switch (kind) {
    case FAULT_CONFLICT:
        return r->method != KUBE_GET;
    case FAULT_GONE:
        return r->method == KUBE_GET && (watch || strstr(r->path, "continue="));
    case FAULT_LOST:
    case FAULT_SLOW:
    case FAULT_LATE:
        return !watch;
    default:
        return true;
    }
}

struct request_fault faults_of_request(struct sim_world *w, const struct operator_process *op,
                                       const struct kube_request *r)
{
    struct request_fault f = {0};
    struct operator_process *sender = &w->operators[op->n];
    bool lease = strstr(r->path, "/leases");
    int64_t kind;

    if (w->quiet || !random_chance(&w->faults, lease ? w->intensity / 4 : w->intensity))
        return f;
    kind = random_range(&w->faults, FAULT_CONFLICT, FAULT_TIMEOUT + 2);
    if (kind > FAULT_TIMEOUT) { /* kills and freezes strike inside steps */
        kind = kind == FAULT_TIMEOUT + 1 ? FAULT_KILL_INSIDE : FAULT_FREEZE;
        world_fault(w, (enum fault)kind);
        if (kind == FAULT_KILL_INSIDE)
            sender->dying = true;
        else
            sender->frozen_until = w->now_ms + random_range(&w->faults, 1000, 40000);
        return f;
    }
    if (!fits((enum fault)kind, r))
        return f;
    world_fault(w, (enum fault)kind);
    f.fault = true;
    f.kind = (enum fault)kind;
    f.delay_ms = random_range(&w->faults, 100, f.kind == FAULT_LATE ? 40000 : 8000);
    return f;
}

bool faults_of_connection(struct sim_world *w)
{
    if (w->quiet || !random_chance(&w->faults, w->intensity))
        return false;
    world_fault(w, FAULT_LINK_REFUSED);
    return true;
}

void faults_of_launch(struct sim_world *w, struct operator_process *op)
{
    if (w->quiet || op->dying || !random_chance(&w->faults, w->intensity))
        return;
    world_fault(w, FAULT_LAUNCH_KILL);
    op->dying = true;
}

static struct operator_process *victim(struct sim_world *w)
{
    struct operator_process *op = &w->operators[random_next(&w->faults) % (uint64_t)w->n_operators];

    return op->c && op->paused_until <= w->now_ms ? op : NULL;
}

static void strike_operator(struct sim_world *w, enum fault kind)
{
    struct operator_process *op = victim(w);

    if (!op)
        return;
    world_fault(w, kind);
    if (kind == FAULT_KILL) {
        operator_kill(w, op->n, random_range(&w->faults, 100, 20000));
    } else if (kind == FAULT_STOP) {
        op->stopping = true;
        controller_stop(op->c, (struct moment){w->now_ms + op->skew_ms,
                                               w->now_ms - w->start_ms + 1000 + op->n * 777777});
        operator_step(w, op->n);
    } else if (kind == FAULT_PAUSE) {
        op->paused_until = w->now_ms + random_range(&w->faults, 500, 40000);
        operator_step(w, op->n);
    } else {
        int64_t by = random_range(&w->faults, 1, 120) * 1000;

        op->skew_ms += kind == FAULT_CLOCK_FORWARD ? by : -by;
        w->jump_ms += by;
        operator_step(w, op->n);
    }
}

/* Another replica, of which we know nothing, takes the Lease; or a user deletes it. */
static void steal_lease(struct sim_world *w)
{
    struct store_object *o =
        store_find(&w->api.store, KIND_LEASE, OPERATOR_NS, "paceline-operator");
    cJSON *json;

    if (!o)
        return;
    world_fault(w, FAULT_STEAL);
    w->stolen = true;
    if (random_chance(&w->faults, 300)) {
        store_delete(&w->api.store, o, -1, false);
        return;
    }
    json = store_edit(o);
    val_set_str(val_object(json, "spec"), "holderIdentity", "a-stranger");
    val_set(val_object(json, "spec"), "renewTime", val_micro_time(w->now_ms));
    store_update(&w->api.store, o, json);
}

static void quota_ends(struct sim_world *w, int64_t id)
{
    (void)id;
    w->api.forbid_pods = NULL;
}

static void strike_pod(struct sim_world *w, enum fault kind)
{
    struct sim_process *p;

    if (!w->n_processes)
        return;
    p = &w->processes[random_next(&w->faults) % w->n_processes];
    if (!p->running || p->gone || w->nodes[p->node].down)
        return;
    world_fault(w, kind);
    if (kind == FAULT_DRAIN) {
        if (!p->asked_ms)
            pod_drain(w, p);
    } else {
        struct store_object *pod = store_find(&w->api.store, KIND_POD, p->ns, p->name);

        if (pod && strcmp(pod->uid, p->uid) == 0 && !p->asked_ms)
            pod_evict(w, pod);
    }
}

static void strike(struct sim_world *w, enum fault kind)
{
    switch (kind) {
    case FAULT_WATCH_CUT:
    case FAULT_WATCH_HALF:
    case FAULT_WATCH_STALL:
    case FAULT_WATCH_LAG:
        network_watch_fault(w);
        break;
    case FAULT_COMPACT:
        world_fault(w, kind);
        api_compact(&w->api);
        break;
    case FAULT_STEAL:
        steal_lease(w);
        break;
    case FAULT_QUOTA:
        world_fault(w, kind);
        w->api.forbid_pods = "exceeded quota: pods, requested: pods=1, used: pods=5, limited: "
                             "pods=5";
        world_after(w, random_range(&w->faults, 500, 20000), quota_ends, 0);
        break;
    case FAULT_NODE_LOST:
    case FAULT_NODE_DEAD:
        world_fault(w, kind);
        node_lose(w, (int)random_range(&w->faults, 0, N_NODES - 1), kind == FAULT_NODE_DEAD,
                  random_range(&w->faults, 1, 200) * 1000);
        break;
    case FAULT_EVICT:
    case FAULT_DRAIN:
        strike_pod(w, kind);
        break;
    case FAULT_LINK_CUT:
    case FAULT_LINK_HALF:
    case FAULT_LINK_LAG:
    case FAULT_LINK_PARTITION:
        agents_fault(w, kind);
        break;
    default:
        strike_operator(w, kind);
    }
}

static void on_fault(struct sim_world *w, int64_t id)
{
    (void)id;
    if (w->quiet)
        return;
    w->actor = ACTOR_CLUSTER;
    strike(w, (enum fault)random_range(&w->faults, FAULT_WATCH_CUT, FAULT_LINK_PARTITION));
    world_after(w, random_range(&w->faults, 100, 600000 / (w->intensity + 10)), on_fault, 0);
}

static void on_user(struct sim_world *w, int64_t id)
{
    (void)id;
    if (w->quiet)
        return;
    user_act(w);
    world_after(w, random_range(&w->user, 100, 20000), on_user, 0);
}

/* Five acts on jobs to one kill of an operator, which comes back soon. */
static void on_churn(struct sim_world *w, int64_t id)
{
    struct operator_process *op;

    (void)id;
    if (w->quiet)
        return;
    if (random_chance(&w->user, 833)) {
        user_churn(w);
    } else if ((op = victim(w))) {
        world_fault(w, FAULT_KILL);
        operator_kill(w, op->n, random_range(&w->faults, 100, 3000));
    }
    world_after(w, random_range(&w->user, 50, 2500), on_churn, 0);
}

void faults_start(struct sim_world *w)
{
    if (w->churn)
        world_after(w, random_range(&w->user, 0, 10000), on_churn, 0);
    tenant_start(w);
    if (w->intensity)
        world_after(w, random_range(&w->faults, 0, 10000), on_fault, 0);
    if (random_chance(&w->user, 700))
        world_after(w, random_range(&w->user, 0, 15000), on_user, 0);
}
