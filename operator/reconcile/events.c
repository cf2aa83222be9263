/*
 * Events are made from the observed status, so that none tells of what did not happen, and none is
 * lost when the operator dies between a write and its event. They tell what status reached less
 * than ten minutes ago, in the order in which it happened. Keys make them unique.
 *
 * Two events come with the plan that writes their status: Scaled and PlaceGiven. Three tell of what
 * no status has, once for each generation: LaunchWaits, AgentUnreachable and
 * NetworkPolicyNotEnforced.
 */
#include <string.h>

#include "operator/reconcile/ctx.h"

#define TELL_MS 600000 /* how long a condition is news */

/* Of a launched job: a launch, or a pod that is part of one, which the sentence begins with. Else
 * one word for all. */
static const char *restart_reason(const struct ctx *ctx, const struct condition *c)
{
    static const char *const own[] = {"RankFailed", "LaunchFailed"};

    if (!ctx->tj->status.launch.generation)
        return "Restarting";
    for (size_t i = 0; c->reason && i < sizeof own / sizeof *own; i++)
        if (strcmp(c->reason, own[i]) == 0)
            return own[i];
    return strncmp(c->message ? c->message : "", "ps ", 3) == 0 ? "ServerLost" : "WorkerLost";
}

static void events_tell(const struct ctx *ctx, enum condition_type type)
{
    const struct condition *c = &ctx->tj->status.conditions[type];
    bool named = type == COND_FAILED || type == COND_PODS_BLOCKED || type == COND_DURABLE;
    bool warning = named || type == COND_RESTARTING || type == COND_STALLED;
    const char *reason = named && c->reason ? c->reason : condition_names[type];
    const char *message = c->message ? c->message : "";
    char key[64];

    switch (type) {
    case COND_CREATED:
    case COND_SUCCEEDED:
    case COND_FAILED:
        snprintf(key, sizeof key, "%s", condition_names[type]);
        break;
    default:
        snprintf(key, sizeof key, "%s-%lld", condition_names[type], (long long)c->since_ms);
        break;
    }
    if (type == COND_RESTARTING)
        reason = restart_reason(ctx, c);
    plan_event(ctx->plan, warning, key, reason, "%s", message);
    ctx->plan->events[ctx->plan->n_events - 1].at_ms = c->since_ms;
    ctx->plan->events[ctx->plan->n_events - 1].rank = (int)type;
}

/* The reason Training has no event here: tell_launch's event includes how long the launch took. */
static bool events_is_news(const struct ctx *ctx, const struct condition *c)
{
    return c->present && ctx->now - c->since_ms < TELL_MS &&
           !(c->reason && strcmp(c->reason, "Training") == 0);
}

/* Mostly what is true; of Durable only that it ceased to be. */
static bool is_told(enum condition_type type, const struct condition *c)
{
    if (type == COND_DURABLE)
        return c->reason && strcmp(c->reason, DURABLE_FAILED) == 0;
    return c->status;
}

static const char *events_plural(int64_t n) { return n == 1 ? "" : "s"; }

/* "Recovered: generation 3 trains on 2 workers from step 940 again, 3.8 s after worker 1's pod was
 * lost (12 steps are done again)" */
static void tell_launch(const struct ctx *ctx)
{
    static const char *const reasons[N_LAUNCH_REASONS] = {
        [LAUNCH_START] = "Launched",   [LAUNCH_RESUME] = "Resumed",    [LAUNCH_LOSS] = "Recovered",
        [LAUNCH_RESCALE] = "Rescaled", [LAUNCH_SWITCH] = "Relaunched",
    };
    const struct tj_status *s = &ctx->tj->status;
    int64_t again = s->launch.step - s->launch.resumed, took = s->launch.trained_ms;
    struct arena *a = &ctx->plan->arena;
    int64_t all = s->launch.workers + index_map_count(&s->launch.without, INDEX_MAP_MAX_INDEX + 1);
    const char *from = "", *time = "", *lost = "", *of = "";
    char key[64];

    if (!s->launch.trained_ms || ctx->now - s->launch.trained_ms >= TELL_MS)
        return;
    took -= s->launch.from_ms < took ? s->launch.from_ms : took;
    if (s->launch.resumed)
        from = arena_printf(a, " from step %lld", (long long)s->launch.resumed);
    if (s->launch.from_ms && s->launch.cause)
        time = arena_printf(a, ", %.1f s after %s", (double)took / 1e3, s->launch.cause);
    if (again > 0)
        lost = arena_printf(a, " (%lld step%s done again)", (long long)again,
                            again == 1 ? " is" : "s are");
    if (all > s->launch.workers)
        of = arena_printf(a, " of %lld", (long long)all);
    snprintf(key, sizeof key, "launch-%lld", (long long)s->launch.generation);
    plan_event(ctx->plan, false, key, reasons[s->launch.reason],
               "generation %lld trains on %lld%s worker%s%s%s%s", (long long)s->launch.generation,
               (long long)s->launch.workers, of, events_plural(all), from, time, lost);
    ctx->plan->events[ctx->plan->n_events - 1].at_ms = s->launch.trained_ms;
}

/* There is one switch after a step: a run that resumes from before it makes the same one. */
static void tell_switch(const struct ctx *ctx)
{
    const struct strategy_status *s = &ctx->tj->status.strategy;
    struct arena *a = &ctx->plan->arena;
    char key[64];

    if (!s->reason || ctx->now - s->since_ms >= TELL_MS)
        return;
    snprintf(key, sizeof key, "switched-%lld", (long long)s->step);
    plan_event(ctx->plan, false, key, "StrategySwitched",
               "to %s after epoch %lld, step %lld (%s)%s", s->phase, (long long)s->epoch,
               (long long)s->step, s->reason,
               s->seconds > 0 ? arena_printf(a, ", in %.3g s", s->seconds) : "");
    ctx->plan->events[ctx->plan->n_events - 1].at_ms = s->since_ms;
}

void events_record(struct ctx *ctx)
{
    const struct condition *all = ctx->tj->status.conditions, *resumed = &all[COND_SUSPENDED];
    bool told[N_CONDITIONS] = {false};

    for (int n = 0; n < N_CONDITIONS; n++) {
        int next = -1;

        for (int i = 0; i < N_CONDITIONS; i++)
            if (!told[i] && (next < 0 || all[i].since_ms < all[next].since_ms))
                next = i;
        told[next] = true;
        if (!events_is_news(ctx, &all[next]))
            continue;
        if (is_told(next, &all[next])) {
            events_tell(ctx, next);
        } else if (&all[next] == resumed) {
            char key[64];

            snprintf(key, sizeof key, "resumed-%lld", (long long)resumed->since_ms);
            plan_event(ctx->plan, false, key, "Resumed", "the job goes on");
            ctx->plan->events[ctx->plan->n_events - 1].at_ms = resumed->since_ms;
        }
    }
    tell_launch(ctx);
    tell_switch(ctx);
}
