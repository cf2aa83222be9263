#include "operator/reconcile/members.h"

#include "operator/api/run_report.h"

int members_count(const struct look *l)
{
    return (int)(l->next.world.replicas[ROLE_WORKER] + l->next.world.replicas[ROLE_PS]);
}

struct member members_at(const struct look *l, int i)
{
    int workers = (int)l->next.world.replicas[ROLE_WORKER];

    return i < workers ? (struct member){ROLE_WORKER, i} : (struct member){ROLE_PS, i - workers};
}

const struct slot *members_slot(const struct look *l, int i)
{
    struct member m = members_at(l, i);

    return &l->roles[m.role].slots[m.index];
}

const struct pod *members_pod(const struct look *l, int i)
{
    const struct pod *p = slot_pod(members_slot(l, i));

    return p && p->phase == POD_RUNNING && p->ip && !p->meta.deletion_ms ? p : NULL;
}

const struct pod *members_chief(const struct look *l)
{
    return l->next.world.replicas[ROLE_WORKER] > 0 ? members_pod(l, 0) : NULL;
}

/* A launch waits for this pod still: it was made, or nothing trains, not long ago. */
static bool is_awaited(struct look *l, const struct pod *p)
{
    int64_t since = l->next.launch.since_ms ? l->next.launch.since_ms : l->next.active_since_ms;

    if (p && !pod_finished(p) && !p->meta.deletion_ms)
        since = p->meta.created_ms;
    since += seconds_ms(l->job->run_policy.replace_timeout_seconds);
    if (l->now >= since)
        return false;
    plan_requeue(l->plan, since);
    return true;
}

bool members_choose(struct look *l, struct ledger *without)
{
    int64_t least = l->job->min_workers > 1 ? l->job->min_workers : 1, left = 0;
    bool waits = false;

    *without = (struct ledger){0};
    for (int i = 0; i < members_count(l); i++) {
        struct member m = members_at(l, i);

        const struct pod *p = members_pod(l, i);

        if (p && pod_is_up(p)) {
            left += m.role == ROLE_WORKER;
        } else if (m.role == ROLE_WORKER) {
            ledger_set(without, m.index, 1, &l->plan->arena);
            waits |= is_awaited(l, slot_pod(members_slot(l, i)));
        } else {
            waits = true; /* as long as it takes */
        }
    }
    return !waits && (!without->n || (left >= least && !ledger_get(without, 0)));
}

bool members_left_out(const struct ledger *without, struct member m)
{
    return m.role == ROLE_WORKER && ledger_get(without, m.index);
}

int64_t members_world(const struct look *l, const struct ledger *without,
                      const char *(*text)(const struct pod *p))
{
    int64_t world = 0;

    for (int i = 0; i < members_count(l); i++) {
        const struct pod *p = members_pod(l, i);

        if (members_left_out(without, members_at(l, i)))
            continue;
        if (!p)
            return 0;
        world = launch_world(world, text(p));
    }
    return world;
}
