/* A plan as text, as cases of reconcile have it below "plan" (reconcile_case.h). */
#ifndef PACELINE_TESTS_RECONCILE_PRINT_H
#define PACELINE_TESTS_RECONCILE_PRINT_H

#include "tests/unit/reconcile_case.h"

static inline void print_time(struct buf *out, const char *name, int64_t old, int64_t new_)
{
    if (old == new_)
        return;
    buf_printf(out, "  %s ", name);
    if (new_)
        buf_printf(out, "%.10g\n", (double)new_ / 1000);
    else
        buf_puts(out, "none\n");
}

/* Neighbours that reach the same on one line: "  scaling 2-8: 90". */
static inline void print_scaling(struct buf *out, const struct tj_status *s)
{
    for (int i = 0, last; i < s->n_scaling; i = last + 1) {
        double rate = s->scaling[i].samples_per_second;

        last = i;
        while (last + 1 < s->n_scaling && s->scaling[last + 1].samples_per_second == rate)
            last++;
        buf_printf(out, "  scaling %lld", (long long)s->scaling[i].workers);
        if (last > i)
            buf_printf(out, "-%lld", (long long)s->scaling[last].workers);
        buf_printf(out, ": %g\n", rate);
    }
}

static inline void print_number(struct buf *out, const char *role, const char *name, int64_t old,
                                int64_t new_)
{
    if (old != new_)
        buf_printf(out, "  %s%s%s %lld\n", role, *role ? "." : "", name, (long long)new_);
}

static inline void print_index_map(struct buf *out, const char *role, const char *name, bool values,
                                   const struct index_map *old, const struct index_map *new_)
{
    if (index_map_equal(old, new_))
        return;
    buf_printf(out, "  %s.%s ", role, name);
    index_map_encode(new_, values, out);
    buf_puts(out, new_->n ? "\n" : "none\n");
}

/* The text of the event of the first step. */
static inline void print_launch(struct buf *out, const struct tj_status *old,
                                const struct tj_status *s)
{
    static const char *const reasons[] = {"Start", "Resume", "Loss", "Rescale", "Switch"};

    if (old->launch.reason != s->launch.reason)
        buf_printf(out, "  launch.reason %s\n", reasons[s->launch.reason]);
    if (strcmp(old->launch.cause ? old->launch.cause : "",
               s->launch.cause ? s->launch.cause : "") != 0)
        buf_printf(out, "  launch.cause %s\n", s->launch.cause ? s->launch.cause : "none");
    print_time(out, "launch.from", old->launch.from_ms, s->launch.from_ms);
    print_time(out, "launch.trained", old->launch.trained_ms, s->launch.trained_ms);
    print_index_map(out, "launch", "without", false, &old->launch.without, &s->launch.without);
    print_time(out, "launch.since", old->launch.since_ms, s->launch.since_ms);
    print_number(out, "launch", "stepped", old->launch.stepped, s->launch.stepped);
    print_number(out, "launch", "stalled", old->launch.stalled, s->launch.stalled);
    print_number(out, "launch", "resumed", old->launch.resumed, s->launch.resumed);
    print_number(out, "launch", "workers", old->launch.workers, s->launch.workers);
}

/* "  strategy ParameterServer step 9 epoch 2 (epoch) since 1000, 0.5 s" */
static inline void print_strategy(struct buf *out, const struct strategy_status *old,
                                  const struct strategy_status *s)
{
    if (!s->phase || (old->phase && strcmp(old->phase, s->phase) == 0 && old->step == s->step &&
                      old->seconds == s->seconds && old->since_ms == s->since_ms))
        return;
    buf_printf(out, "  strategy %s", s->phase);
    if (s->step)
        buf_printf(out, " step %lld epoch %lld (%s) since %.10g", (long long)s->step,
                   (long long)s->epoch, s->reason ? s->reason : "", (double)s->since_ms / 1e3);
    if (s->seconds > 0)
        buf_printf(out, ", %g s", s->seconds);
    buf_puts(out, "\n");
}

/* The parts of the status that differ from the old one. */
static inline void print_status(struct buf *out, const struct tj_status *old,
                                const struct tj_status *s)
{
    for (int i = 0; i < N_CONDITIONS; i++) {
        const struct condition *a = &old->conditions[i], *b = &s->conditions[i];

        if (a->present != b->present || a->status != b->status || a->since_ms != b->since_ms ||
            strcmp(a->message ? a->message : "", b->message ? b->message : "") != 0)
            buf_printf(out, "  %s %s since %.10g %s: %s\n", condition_names[i],
                       b->status ? "True" : "False", (double)b->since_ms / 1000, b->reason,
                       b->message);
    }
    print_number(out, "", "observed", old->observed_generation, s->observed_generation);
    print_time(out, "start", old->start_ms, s->start_ms);
    print_time(out, "completion", old->completion_ms, s->completion_ms);
    print_time(out, "since", old->active_since_ms, s->active_since_ms);
    print_time(out, "active", old->active_ms, s->active_ms);
    print_number(out, "world", "gen", old->world.generation, s->world.generation);
    print_number(out, "world", "base", old->world.incarnation, s->world.incarnation);
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        print_number(out, "world", cluster_role_names[r], old->world.replicas[r],
                     s->world.replicas[r]);
    print_number(out, "launch", "gen", old->launch.generation, s->launch.generation);
    if (old->launch.world != s->launch.world)
        buf_printf(out, "  launch.world %s\n", s->launch.world ? "set" : "none");
    if (s->launch.world && s->launch.chief != old->launch.chief)
        buf_puts(out, "  launch.chief set\n");
    print_number(out, "launch", "step", old->launch.step, s->launch.step);
    print_number(out, "launch", "failures", old->launch.failures, s->launch.failures);
    print_number(out, "launch", "outlived", old->launch.outlived, s->launch.outlived);
    print_number(out, "launch", "forgiven", old->launch.forgiven, s->launch.forgiven);
    print_launch(out, old, s);
    print_number(out, "progress", "step", old->progress.step, s->progress.step);
    print_number(out, "progress", "stoppedEarly", old->progress.early_epoch,
                 s->progress.early_epoch);
    print_strategy(out, &old->strategy, &s->strategy);
    if (old->transfer_s != s->transfer_s)
        buf_printf(out, "  transfer %g\n", s->transfer_s);
    print_scaling(out, s);
    print_number(out, "", "restarts", old->restarts, s->restarts);
    print_number(out, "", "disruptions", old->disruptions, s->disruptions);
    print_time(out, "backoff-until", old->backoff_until_ms, s->backoff_until_ms);
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        const struct role_status *a = &old->roles[r], *b = &s->roles[r];
        const char *role = cluster_role_names[r];

        print_number(out, role, "active", a->active, b->active);
        print_number(out, role, "ready", a->ready, b->ready);
        print_number(out, role, "succeeded", a->succeeded, b->succeeded);
        print_number(out, role, "failed", a->failed, b->failed);
        print_number(out, role, "restarts", a->restarts, b->restarts);
        print_index_map(out, role, "completed", false, &a->completed, &b->completed);
        print_index_map(out, role, "lost", false, &a->lost, &b->lost);
        print_index_map(out, role, "incarnations", true, &a->incarnations, &b->incarnations);
    }
}

static inline void print_action(struct buf *out, const struct action *a)
{
    switch (a->type) {
    case ACTION_CREATE_OWNED:
        buf_printf(out, "create %s %lld%s\n", owned_kind_names[a->owned], (long long)a->generation,
                   a->again ? " again" : "");
        break;
    case ACTION_DELETE_OWNED:
        buf_printf(out, "delete %s %lld\n", owned_kind_names[a->owned], (long long)a->generation);
        break;
    case ACTION_DRY_RUN_POD:
        buf_printf(out, "dry-run %s\n", cluster_role_names[a->role]);
        break;
    case ACTION_CREATE_POD:
        buf_printf(out, "create %s-%d-%lld\n", cluster_role_names[a->role], a->index,
                   (long long)a->incarnation);
        break;
    case ACTION_DELETE_POD:
        buf_printf(out, "delete %s\n", a->pod->meta.uid);
        break;
    case ACTION_FORCE_DELETE_POD:
        buf_printf(out, "force %s\n", a->pod->meta.uid);
        break;
    case ACTION_RELEASE_POD:
        buf_printf(out, "release %s\n", a->pod->meta.uid);
        break;
    case ACTION_READ_EVENTS:
        buf_printf(out, "read events %s\n", a->pod->meta.uid);
        break;
    case ACTION_DELETE_JOB:
        buf_puts(out, "delete job\n");
        break;
    case ACTION_LAUNCH:
        buf_printf(out, "launch %lld\n", (long long)a->generation);
        break;
    case ACTION_KILL:
        buf_printf(out, "kill %lld\n", (long long)a->generation);
        break;
    case ACTION_STOP:
        buf_printf(out, "stop %lld\n", (long long)a->generation);
        break;
    }
}

static inline void print_plan(struct buf *out, const struct reconcile_case *c,
                              const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_events; i++)
        buf_printf(out, "event %s %s %s: %s\n", plan->events[i].warning ? "Warning" : "Normal",
                   plan->events[i].key, plan->events[i].reason, plan->events[i].message);
    if (plan->status) {
        buf_puts(out, plan->urgent ? "status urgent\n" : "status\n");
        print_status(out, &c->tj.status, plan->status);
    }
    for (size_t i = 0; i < plan->n_actions; i++)
        print_action(out, &plan->actions[i]);
    if (plan->requeue_ms)
        buf_printf(out, "requeue %.10g\n", (double)plan->requeue_ms / 1000);
}

#endif
