#include "operator/api/trainingjob.h"

const char *const condition_names[N_CONDITIONS] = {
    [COND_CREATED] = "Created",       [COND_RUNNING] = "Running",
    [COND_RESTARTING] = "Restarting", [COND_SUSPENDED] = "Suspended",
    [COND_STALLED] = "Stalled",       [COND_PODS_BLOCKED] = "PodsBlocked",
    [COND_DURABLE] = "Durable",       [COND_SUCCEEDED] = "Succeeded",
    [COND_FAILED] = "Failed",
};

const bool condition_durable[N_CONDITIONS] = {
    [COND_CREATED] = true,   [COND_SUSPENDED] = true, [COND_STALLED] = true,
    [COND_SUCCEEDED] = true, [COND_FAILED] = true,
};

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
static size_t status_state_of(const struct tj_status *s)
{
    size_t i = 0;

    while (i < N_STATES && !status_is(s, states[i].type))
        i++;
    return i;
}

const char *status_state(const struct tj_status *s)
{
    size_t i = status_state_of(s);

    return i < N_STATES ? states[i].state : "Pending";
}

const char *status_why(const struct tj_status *s)
{
    const struct condition *running = &s->conditions[COND_RUNNING];
    size_t i = status_state_of(s);
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
    return s->world.incarnation + index_map_get(&s->roles[role].incarnations, index);
}
