#include "operator/reconcile/look.h"

#include <string.h>

#define DEFAULT_FENCE_SECONDS 30 /* where the spec cannot be read any more */
#define MAX_SECONDS ((int64_t)1 << 40)

int64_t seconds_ms(int64_t seconds)
{
    return (seconds < MAX_SECONDS ? seconds : MAX_SECONDS) * 1000;
}

static int max_int(int a, int b) { return a > b ? a : b; }

static int compare_int64(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* By role, index, incarnation; the UID makes the order total. */
static int compare_pods(const void *x, const void *y)
{
    const struct pod *a = *(const struct pod *const *)x, *b = *(const struct pod *const *)y;
    int order = compare_int64(a->role, b->role);

    if (order == 0)
        order = compare_int64(a->index, b->index);
    if (order == 0)
        order = compare_int64(a->incarnation, b->incarnation);
    return order ? order : strcmp(a->meta.uid, b->meta.uid);
}

static void init_slots(struct look *l, int r, int n)
{
    struct arena *a = &l->plan->arena;
    const struct role_status *role = &l->next.roles[r];
    int64_t *values = arena_alloc(a, (size_t)n * sizeof *values);
    struct slot *slots = arena_alloc(a, (size_t)n * sizeof *slots);

    ledger_unpack(&role->completed, values, n);
    for (int i = 0; i < n; i++)
        slots[i].completed = values[i] != 0;
    ledger_unpack(&role->lost, values, n);
    for (int i = 0; i < n; i++)
        slots[i].lost = values[i] != 0;
    ledger_unpack(&role->incarnations, values, n);
    for (int i = 0; i < n; i++)
        slots[i].incarnation = l->next.world.incarnation + values[i];
    l->roles[r].slots = slots;
    l->roles[r].n = n;
}

void look_init(struct look *l, const struct observed *o, int64_t now, struct plan *plan)
{
    size_t n = o->n_pods;
    const struct pod **pods = arena_alloc(&plan->arena, n * sizeof(struct pod *));
    int top[N_CLUSTER_ROLES];

    *l = (struct look){.o = o,
                       .tj = o->tj,
                       .job = o->tj->job,
                       .now = now,
                       .plan = plan,
                       .pods = pods,
                       .n_pods = n,
                       .next = o->tj->status};
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        const struct role_status *role = &l->next.roles[r];

        top[r] = max_int((int)l->next.world.replicas[r], ledger_end(&role->completed));
        if (l->job)
            top[r] = max_int(top[r], (int)l->job->replicas[r].replicas);
        top[r] = max_int(top[r], ledger_end(&role->lost));
        top[r] = max_int(top[r], ledger_end(&role->incarnations));
    }
    for (size_t i = 0; i < n; i++) {
        pods[i] = o->pods[i];
        top[pods[i]->role] = max_int(top[pods[i]->role], pods[i]->index + 1);
    }
    qsort(pods, n, sizeof pods[0], compare_pods); /* NOLINT(bugprone-sizeof-expression) */
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        init_slots(l, r, top[r]);
    for (size_t i = 0; i < n; i++) {
        struct slot *slot = &l->roles[pods[i]->role].slots[pods[i]->index];

        if (slot->n_pods++ == 0)
            slot->pods = &pods[i];
        slot->stale |= pods[i]->incarnation > slot->incarnation;
    }
}

void look_store(struct look *l)
{
    struct arena *a = &l->plan->arena;

    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        const struct slot *slots = l->roles[r].slots;
        int n = l->roles[r].n;
        int64_t *values = arena_alloc(a, (size_t)n * sizeof *values);
        struct role_status *role = &l->next.roles[r];

        for (int i = 0; i < n; i++)
            values[i] = slots[i].completed;
        ledger_pack(&role->completed, values, n, a);
        for (int i = 0; i < n; i++)
            values[i] = slots[i].lost;
        ledger_pack(&role->lost, values, n, a);
        for (int i = 0; i < n; i++)
            values[i] = slots[i].incarnation - l->next.world.incarnation;
        ledger_pack(&role->incarnations, values, n, a);
    }
}

bool look_changed(const struct look *l) { return !status_equal_durable(&l->tj->status, &l->next); }

bool look_expects(const struct look *l, enum cluster_role role, int index)
{
    const struct slot *slot = &l->roles[role].slots[index];

    return index < l->next.world.replicas[role] && !slot->completed && !slot->lost &&
           !status_is(&l->next, COND_SUSPENDED);
}

bool look_wants(const struct look *l, enum cluster_role role, int index)
{
    return !l->roles[role].slots[index].stale && look_expects(l, role, index);
}

int64_t look_fresh_incarnation(const struct look *l)
{
    int64_t top = l->next.world.generation ? l->next.world.incarnation : -1;

    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < l->roles[r].n; i++) {
            const struct slot *slot = &l->roles[r].slots[i];
            int64_t newest = slot->n_pods ? slot->pods[slot->n_pods - 1]->incarnation : -1;

            if (slot->incarnation > top && l->next.world.generation)
                top = slot->incarnation;
            if (newest > top)
                top = newest;
        }
    return top + 1;
}

const struct pod *slot_pod(const struct slot *slot)
{
    const struct pod *p = slot->n_pods ? slot->pods[slot->n_pods - 1] : NULL;

    return p && p->incarnation == slot->incarnation ? p : NULL;
}

void look_count_restarts(struct look *l, enum cluster_role role, int64_t n)
{
    l->next.restarts += n;
    l->next.roles[role].restarts += n;
}

void look_settle(struct look *l, enum cluster_role role, int index)
{
    const struct slot *slot = &l->roles[role].slots[index];

    for (int k = 0; k < slot->n_pods; k++)
        if (look_wants(l, role, index) && slot->pods[k]->incarnation == slot->incarnation)
            look_count_restarts(l, role, slot->pods[k]->restart_count);
}

void look_renew(struct look *l)
{
    int64_t fresh = look_fresh_incarnation(l);

    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < l->roles[r].n; i++) {
            look_settle(l, r, i);
            l->roles[r].slots[i].incarnation = fresh;
        }
    l->next.world.incarnation = fresh;
    l->next.backoff_until_ms = 0;
    look_store(l);
}

bool pod_ended_itself(const struct pod *p)
{
    if (!p->meta.deletion_ms || p->ended_unasked)
        return true;
    return p->finished_ms &&
           p->finished_ms + CLOCK_SKEW_MS < p->meta.deletion_ms - p->meta.deletion_grace_ms;
}

int64_t pod_fence_ms(const struct look *l, const struct pod *p)
{
    int64_t fence = seconds_ms(l->job ? l->job->run_policy.fence_seconds : DEFAULT_FENCE_SECONDS);
    int64_t by_date = p->meta.deletion_ms + fence;
    int64_t by_watch = l->now + p->meta.deletion_grace_ms + fence - p->deleting_for_ms;

    return by_date > by_watch ? by_date : by_watch;
}

bool pod_is_lost(const struct look *l, const struct pod *p) { return l->now >= pod_fence_ms(l, p); }
