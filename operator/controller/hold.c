#include "operator/controller/hold.h"

#include "operator/controller/state.h"
#include "operator/core/backoff.h"

#define HOLD_FIRST_MS 250 /* back-off of a job whose requests fail */
#define HOLD_MAX_MS 30000
#define CROWDED_MS 250 /* what only describes looks again for room */

void hold_settle(struct controller *c, struct job_state *m)
{
    if (!m->failed)
        return;
    m->hold_mono_ms =
        c->now.mono_ms + backoff_ms(m->failures++, HOLD_FIRST_MS, HOLD_MAX_MS, &c->random);
    if (m->status_failed)
        m->status_hold_mono_ms = m->hold_mono_ms;
    m->failed = m->status_failed = false;
}

int64_t hold_until(struct controller *c, struct job_state *m, const struct plan *plan)
{
    int64_t now = c->now.mono_ms, until = plan->status ? m->status_hold_mono_ms : m->hold_mono_ms;

    if (!plan->status && !plan->n_actions)
        return 0;
    if (until > now)
        return until;
    if (!plan->status)
        return 0;
    if (!plan->urgent && !dispatcher_spare(&c->dispatcher))
        return now + CROWDED_MS;
    return limit_take(&m->status_limit, now) ? 0 : now + limit_next_ms(&m->status_limit, now);
}
