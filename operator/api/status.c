#include <string.h>

#include "operator/api/trainingjob.h"

bool status_is(const struct tj_status *s, enum condition_type type)
{
    return s->conditions[type].present && s->conditions[type].status;
}

bool status_terminal(const struct tj_status *s)
{
    return status_is(s, COND_SUCCEEDED) || status_is(s, COND_FAILED);
}

static const struct {
    enum condition_type type;
    const char *state;
} states[] = {
    {COND_SUCCEEDED, "Succeeded"},  {COND_FAILED, "Failed"},         {COND_SUSPENDED, "Suspended"},
    {COND_PODS_BLOCKED, "Blocked"}, {COND_RESTARTING, "Restarting"}, {COND_RUNNING, "Running"},
};
#define N_STATES (sizeof states / sizeof *states)

/* The first that holds; N_STATES: none does. */
static size_t state_of(const struct tj_status *s)
{
    size_t i = 0;

    while (i < N_STATES && !status_is(s, states[i].type))
        i++;
    return i;
}

const char *status_state(const struct tj_status *s)
{
    size_t i = state_of(s);

    return i < N_STATES ? states[i].state : "Pending";
}

const char *status_why(const struct tj_status *s)
{
    const struct condition *running = &s->conditions[COND_RUNNING];
    size_t i = state_of(s);
    enum condition_type type = i < N_STATES ? states[i].type : COND_CREATED;
    const char *message;

    /* While pods do not run that is what stands in the way, also of a restart. */
    if ((type == COND_CREATED || type == COND_RESTARTING) && running->present && !running->status)
        type = COND_RUNNING;
    message = s->conditions[type].message;
    return message ? message : "";
}

int64_t status_incarnation(const struct tj_status *s, enum cluster_role role, int index)
{
    return s->world.incarnation + ledger_get(&s->roles[role].incarnations, index);
}

void status_copy(struct tj_status *out, const struct tj_status *in, struct arena *a)
{
    *out = *in;
    for (int i = 0; i < N_CONDITIONS; i++) {
        out->conditions[i].reason = arena_strdup(a, in->conditions[i].reason);
        out->conditions[i].message = arena_strdup(a, in->conditions[i].message);
    }
    out->launch.cause = arena_strdup(a, in->launch.cause);
    out->strategy.phase = arena_strdup(a, in->strategy.phase);
    out->strategy.reason = arena_strdup(a, in->strategy.reason);
    ledger_copy(&out->launch.without, &in->launch.without, a);
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        ledger_copy(&out->roles[r].completed, &in->roles[r].completed, a);
        ledger_copy(&out->roles[r].lost, &in->roles[r].lost, a);
        ledger_copy(&out->roles[r].incarnations, &in->roles[r].incarnations, a);
    }
    if (in->n_scaling) {
        size_t bytes = (size_t)in->n_scaling * sizeof *in->scaling;

        out->scaling = memcpy(arena_alloc(a, bytes), in->scaling, bytes);
    }
}

/* NULL is equal to "": the JSON form does not tell them apart. */
static bool text_equal(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

static bool condition_equal(const struct condition *a, const struct condition *b)
{
    return a->present == b->present && a->status == b->status && a->since_ms == b->since_ms &&
           text_equal(a->reason, b->reason) && text_equal(a->message, b->message);
}

/* Ledgers, and the restarts, which are counted before the pods that had them go. */
static bool role_durable_equal(const struct role_status *a, const struct role_status *b)
{
    return a->restarts == b->restarts && ledger_equal(&a->completed, &b->completed) &&
           ledger_equal(&a->lost, &b->lost) && ledger_equal(&a->incarnations, &b->incarnations);
}

static bool launch_equal(const struct tj_status *a, const struct tj_status *b)
{
    return a->launch.generation == b->launch.generation && a->launch.world == b->launch.world &&
           a->launch.chief == b->launch.chief && a->launch.step == b->launch.step &&
           a->launch.failures == b->launch.failures &&
           a->launch.forgiven == b->launch.forgiven && a->launch.outlived == b->launch.outlived &&
           a->launch.reason == b->launch.reason && text_equal(a->launch.cause, b->launch.cause) &&
           a->launch.from_ms == b->launch.from_ms && a->launch.trained_ms == b->launch.trained_ms &&
           a->launch.resumed == b->launch.resumed && a->launch.workers == b->launch.workers &&
           a->launch.stalled == b->launch.stalled && a->launch.since_ms == b->launch.since_ms &&
           ledger_equal(&a->launch.without, &b->launch.without) &&
           a->launch.stepped == b->launch.stepped;
}

static bool progress_equal(const struct progress *a, const struct progress *b)
{
    for (int m = 0; m < N_METRICS; m++)
        if (a->metrics[m] != b->metrics[m])
            return false;
    return a->present == b->present && a->has_metrics == b->has_metrics && a->epoch == b->epoch &&
           a->epochs == b->epochs && a->step == b->step && a->loss == b->loss &&
           a->samples_per_second == b->samples_per_second && a->eta_seconds == b->eta_seconds &&
           a->early_epoch == b->early_epoch;
}

static bool strategy_equal(const struct strategy_status *a, const struct strategy_status *b)
{
    return text_equal(a->phase, b->phase) && a->epoch == b->epoch && a->step == b->step &&
           a->since_ms == b->since_ms && text_equal(a->reason, b->reason) &&
           a->seconds == b->seconds;
}

static bool scaling_equal(const struct tj_status *a, const struct tj_status *b)
{
    if (a->n_scaling != b->n_scaling)
        return false;
    for (int i = 0; i < a->n_scaling; i++)
        if (a->scaling[i].workers != b->scaling[i].workers ||
            a->scaling[i].samples_per_second != b->scaling[i].samples_per_second)
            return false;
    return true;
}

bool status_equal_durable(const struct tj_status *a, const struct tj_status *b)
{
    static const enum condition_type durable[] = {COND_CREATED, COND_SUSPENDED, COND_STALLED,
                                                  COND_SUCCEEDED, COND_FAILED};

    for (size_t i = 0; i < sizeof durable / sizeof *durable; i++)
        if (!condition_equal(&a->conditions[durable[i]], &b->conditions[durable[i]]))
            return false;
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        if (a->world.replicas[r] != b->world.replicas[r] ||
            !role_durable_equal(&a->roles[r], &b->roles[r]))
            return false;
    return a->start_ms == b->start_ms && a->completion_ms == b->completion_ms &&
           a->active_since_ms == b->active_since_ms && a->active_ms == b->active_ms &&
           a->world.generation == b->world.generation &&
           a->world.incarnation == b->world.incarnation && a->restarts == b->restarts &&
           a->disruptions == b->disruptions && a->backoff_until_ms == b->backoff_until_ms &&
           launch_equal(a, b);
}

bool status_equal(const struct tj_status *a, const struct tj_status *b)
{
    for (int i = 0; i < N_CONDITIONS; i++)
        if (!condition_equal(&a->conditions[i], &b->conditions[i]))
            return false;
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        if (a->roles[r].active != b->roles[r].active || a->roles[r].ready != b->roles[r].ready ||
            a->roles[r].succeeded != b->roles[r].succeeded ||
            a->roles[r].failed != b->roles[r].failed)
            return false;
    return a->observed_generation == b->observed_generation &&
           progress_equal(&a->progress, &b->progress) &&
           strategy_equal(&a->strategy, &b->strategy) && a->transfer_s == b->transfer_s &&
           scaling_equal(a, b) && status_equal_durable(a, b);
}
