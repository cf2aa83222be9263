/*
 * Events, told from what status says, so that none is told of what did not happen, and none is
 * lost when the operator dies between a write and its event. Keys make them unique.
 */
#include "operator/reconcile/look.h"

#define TELL_MS 600000 /* how long a condition is news */

static void tell(const struct look *l, enum condition_type type)
{
    const struct condition *c = &l->tj->status.conditions[type];
    bool warning = type == COND_FAILED || type == COND_PODS_BLOCKED || type == COND_RESTARTING;
    const char *reason = warning && c->reason ? c->reason : condition_names[type];
    const char *message = c->message ? c->message : "";
    char key[64];

    switch (type) {
    case COND_RESTARTING: /* more may come before the condition flips */
        snprintf(key, sizeof key, "restarting-%lld", (long long)l->tj->status.restarts);
        reason = "Restarting";
        break;
    case COND_CREATED:
    case COND_SUCCEEDED:
    case COND_FAILED:
        snprintf(key, sizeof key, "%s", condition_names[type]);
        break;
    default:
        snprintf(key, sizeof key, "%s-%lld", condition_names[type], (long long)c->since_ms);
        break;
    }
    plan_event(l->plan, warning, key, reason, "%s", message);
    l->plan->events[l->plan->n_events - 1].at_ms = c->since_ms;
    l->plan->events[l->plan->n_events - 1].rank = (int)type;
}

static bool is_news(const struct look *l, const struct condition *c)
{
    return c->present && l->now - c->since_ms < TELL_MS;
}

void story_tell(struct look *l)
{
    const struct condition *all = l->tj->status.conditions, *resumed = &all[COND_SUSPENDED];
    bool told[N_CONDITIONS] = {false};

    for (int n = 0; n < N_CONDITIONS; n++) {
        int next = -1;

        for (int i = 0; i < N_CONDITIONS; i++)
            if (!told[i] && (next < 0 || all[i].since_ms < all[next].since_ms))
                next = i;
        told[next] = true;
        if (!is_news(l, &all[next]))
            continue;
        if (all[next].status) {
            tell(l, next);
        } else if (&all[next] == resumed) {
            char key[64];

            snprintf(key, sizeof key, "resumed-%lld", (long long)resumed->since_ms);
            plan_event(l->plan, false, key, "Resumed", "the job goes on");
            l->plan->events[l->plan->n_events - 1].at_ms = resumed->since_ms;
        }
    }
}
