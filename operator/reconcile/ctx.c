#include "operator/reconcile/ctx.h"

#include <string.h>

#define MAX_SECONDS ((int64_t)1 << 40)

int64_t seconds_ms(int64_t seconds)
{
    return (seconds < MAX_SECONDS ? seconds : MAX_SECONDS) * 1000;
}

static int ctx_max_int(int a, int b) { return a > b ? a : b; }

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

static void init_slots(struct ctx *ctx, int r, int n)
{
    struct arena *a = &ctx->plan->arena;
    const struct role_status *role = &ctx->next.roles[r];
    int64_t *values = arena_alloc(a, (size_t)n * sizeof *values);
    struct index_slot *slots = arena_alloc(a, (size_t)n * sizeof *slots);

    index_map_unpack(&role->completed, values, n);
    for (int i = 0; i < n; i++)
        slots[i].completed = values[i] != 0;
    index_map_unpack(&role->lost, values, n);
    for (int i = 0; i < n; i++)
        slots[i].lost = values[i] != 0;
    index_map_unpack(&role->incarnations, values, n);
    for (int i = 0; i < n; i++)
        slots[i].incarnation = ctx->next.world.incarnation + values[i];
    ctx->roles[r].slots = slots;
    ctx->roles[r].n = n;
}

void ctx_init(struct ctx *ctx, const struct observed *o, int64_t now, struct plan *plan)
{
    size_t n = o->n_pods;
    const struct pod **pods = arena_alloc(&plan->arena, n * sizeof(struct pod *));
    int top[N_CLUSTER_ROLES];

    *ctx = (struct ctx){.o = o,
                        .tj = o->tj,
                        .job = o->tj->job,
                        .now = now,
                        .plan = plan,
                        .pods = pods,
                        .n_pods = n,
                        .next = o->tj->status};
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        const struct role_status *role = &ctx->next.roles[r];

        top[r] = ctx_max_int((int)ctx->next.world.replicas[r], index_map_end(&role->completed));
        if (ctx->job)
            top[r] = ctx_max_int(top[r], (int)ctx->job->replicas[r].replicas);
        top[r] = ctx_max_int(top[r], index_map_end(&role->lost));
        top[r] = ctx_max_int(top[r], index_map_end(&role->incarnations));
    }
    for (size_t i = 0; i < n; i++) {
        pods[i] = o->pods[i];
        top[pods[i]->role] = ctx_max_int(top[pods[i]->role], pods[i]->index + 1);
    }
    qsort(pods, n, sizeof pods[0], compare_pods); /* NOLINT(bugprone-sizeof-expression) */
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        init_slots(ctx, r, top[r]);
    for (size_t i = 0; i < n; i++) {
        struct index_slot *slot = &ctx->roles[pods[i]->role].slots[pods[i]->index];

        if (slot->n_pods++ == 0)
            slot->pods = &pods[i];
        slot->stale |= pods[i]->incarnation > slot->incarnation;
    }
}

void ctx_store(struct ctx *ctx)
{
    struct arena *a = &ctx->plan->arena;

    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        const struct index_slot *slots = ctx->roles[r].slots;
        int n = ctx->roles[r].n;
        int64_t *values = arena_alloc(a, (size_t)n * sizeof *values);
        struct role_status *role = &ctx->next.roles[r];

        for (int i = 0; i < n; i++)
            values[i] = slots[i].completed;
        index_map_pack(&role->completed, values, n, a);
        for (int i = 0; i < n; i++)
            values[i] = slots[i].lost;
        index_map_pack(&role->lost, values, n, a);
        for (int i = 0; i < n; i++)
            values[i] = slots[i].incarnation - ctx->next.world.incarnation;
        index_map_pack(&role->incarnations, values, n, a);
    }
}

bool ctx_changed(const struct ctx *ctx)
{
    return !status_equal_durable(&ctx->tj->status, &ctx->next);
}

bool ctx_expects(const struct ctx *ctx, enum cluster_role role, int index)
{
    const struct index_slot *slot = &ctx->roles[role].slots[index];

    return index < ctx->next.world.replicas[role] && !slot->completed && !slot->lost &&
           !status_is(&ctx->next, COND_SUSPENDED);
}

bool ctx_wants(const struct ctx *ctx, enum cluster_role role, int index)
{
    return !ctx->roles[role].slots[index].stale && ctx_expects(ctx, role, index);
}

int64_t ctx_fresh_incarnation(const struct ctx *ctx)
{
    int64_t top = ctx->next.world.generation ? ctx->next.world.incarnation : -1;

    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < ctx->roles[r].n; i++) {
            const struct index_slot *slot = &ctx->roles[r].slots[i];
            int64_t newest = slot->n_pods ? slot->pods[slot->n_pods - 1]->incarnation : -1;

            if (slot->incarnation > top && ctx->next.world.generation)
                top = slot->incarnation;
            if (newest > top)
                top = newest;
        }
    return top + 1;
}

const struct pod *slot_pod(const struct index_slot *slot)
{
    const struct pod *p = slot->n_pods ? slot->pods[slot->n_pods - 1] : NULL;

    return p && p->incarnation == slot->incarnation ? p : NULL;
}

void ctx_count_restarts(struct ctx *ctx, enum cluster_role role, int64_t n)
{
    ctx->next.restarts += n;
    ctx->next.roles[role].restarts += n;
}

void ctx_settle(struct ctx *ctx, enum cluster_role role, int index)
{
    const struct index_slot *slot = &ctx->roles[role].slots[index];

    for (int k = 0; k < slot->n_pods; k++)
        if (ctx_wants(ctx, role, index) && slot->pods[k]->incarnation == slot->incarnation)
            ctx_count_restarts(ctx, role, slot->pods[k]->restart_count);
}

void ctx_renew(struct ctx *ctx)
{
    int64_t fresh = ctx_fresh_incarnation(ctx);

    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < ctx->roles[r].n; i++) {
            ctx_settle(ctx, r, i);
            ctx->roles[r].slots[i].incarnation = fresh;
        }
    ctx->next.world.incarnation = fresh;
    ctx->next.backoff_until_ms = 0;
    ctx_store(ctx);
}
