/*
 * The world: which processes the job has, as all of them are told. It begins when the API server
 * would take the pods, and changes with the counts in the spec.
 */
#include "operator/reconcile/look.h"

static bool counts_differ(const struct look *l, enum cluster_role role)
{
    return l->job->replicas[role].replicas != l->next.world.replicas[role];
}

static void take_counts(struct look *l)
{
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        l->next.world.replicas[r] = l->job->replicas[r].replicas;
}

/* A pod of each role is shown to the API server first; true: it would take them all. */
static bool rehearsed(struct look *l)
{
    bool done = true;

    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        if (l->job->replicas[r].replicas == 0 || l->o->dry_run_ok[r])
            continue;
        done = false;
        if (l->o->hold_until_ms > l->now)
            plan_requeue(l->plan, l->o->hold_until_ms);
        else
            plan_add(l->plan, ACTION_DRY_RUN_POD)->role = r;
    }
    return done;
}

static void begin(struct look *l)
{
    if (l->o->invalid_template) {
        terminate(l, COND_FAILED, "InvalidTemplate",
                  "the pod template is refused: %s; correct it and create the job again",
                  l->o->invalid_template);
        return;
    }
    if (!rehearsed(l))
        return;
    /* Pods without a world: its status was wiped. They belong to the past. */
    look_renew(l);
    l->next.world.generation = 1;
    take_counts(l);
    l->next.start_ms = l->now;
    condition_set(l, COND_CREATED, true, "Created", "the job is accepted");
    clock_start(l);
}

/*
 * Only the difference is made or taken away; what goes leaves its name unused. What was given up
 * gets another try: who scales to n wants n, and the others may be those that go.
 */
static void resize(struct look *l)
{
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < l->next.world.replicas[r]; i++) {
            struct slot *slot = &l->roles[r].slots[i];

            if (i < l->job->replicas[r].replicas && !slot->lost)
                continue;
            look_settle(l, r, i);
            slot->incarnation++;
            slot->lost = false;
        }
    launch_grown(l);
    take_counts(l);
    look_store(l);
}

/* Whether the processes that stay need not be told: agents are, by the next launch. */
static bool stays(const struct look *l)
{
    if (job_launched(l->job))
        return true;
    if (l->job->run_policy.scale != SCALE_DYNAMIC)
        return false;
    return !counts_differ(l, ROLE_CHIEF) && !counts_differ(l, ROLE_PS);
}

/* "worker from 2 to 4, ps from 1 to 2" */
static const char *list_changes(const struct look *l)
{
    const char *text = "";

    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        if (counts_differ(l, r))
            text =
                arena_printf(&l->plan->arena, "%s%s%s from %lld to %lld", text, *text ? ", " : "",
                             cluster_role_names[r], (long long)l->next.world.replicas[r],
                             (long long)l->job->replicas[r].replicas);
    return text;
}

static void rescale(struct look *l)
{
    const char *changes = list_changes(l);
    bool kept = stays(l);
    char key[64];

    if (kept) {
        resize(l);
    } else {
        look_renew(l);
        take_counts(l);
        l->next.world.generation++;
    }
    snprintf(key, sizeof key, "scaled-%lld", (long long)l->tj->meta.generation);
    plan_event(l->plan, false, key, "Scaled", "%s%s", changes,
               kept ? "" : "; all pods start anew with the new cluster spec");
    l->plan->events[l->plan->n_events - 1].at_ms = l->now; /* before they run */
}

void rule_world(struct look *l)
{
    if (status_is(&l->next, COND_SUSPENDED))
        return;
    if (l->next.world.generation == 0) {
        begin(l);
        return;
    }
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        if (counts_differ(l, r)) {
            rescale(l);
            return;
        }
}
