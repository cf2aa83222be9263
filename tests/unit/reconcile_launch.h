/* Lines of a case about a run of the engine: what status, the agents and the strategy say of it;
 * see reconcile_case.h. */
#ifndef PACELINE_TESTS_RECONCILE_LAUNCH_H
#define PACELINE_TESTS_RECONCILE_LAUNCH_H

#include "tests/unit/reconcile_base.h"

/* "worker-0-0,ps-0-0": what stands for these pods of job j, and how many of a role there are. */
static inline int64_t case_world(struct reconcile_case *c, const char *pods, int *replicas)
{
    char *copy = arena_strdup(&c->arena, pods), *save = NULL;
    int64_t world = 0;

    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        world = launch_world(world, arena_printf(&c->arena, "j-%s", w));
        *strchr(w, '-') = '\0';
        replicas[role_of(w)]++;
    }
    return world;
}

static inline void launched_word(struct reconcile_case *c, const char *key, const char *value)
{
    static const char *const reasons[] = {"Start", "Resume", "Loss", "Rescale", "Switch"};
    struct tj_status *s = &c->tj.status;
    struct err err;
    int replicas[N_CLUSTER_ROLES] = {0};

    if (strcmp(key, "gen") == 0)
        s->launch.generation = s->launch.stepped = strtoll(value, NULL, 10);
    else if (strcmp(key, "step") == 0)
        s->launch.step = strtoll(value, NULL, 10);
    else if (strcmp(key, "failures") == 0)
        s->launch.failures = strtoll(value, NULL, 10);
    else if (strcmp(key, "outlived") == 0)
        s->launch.outlived = strtoll(value, NULL, 10);
    else if (strcmp(key, "forgiven") == 0)
        s->launch.forgiven = strtoll(value, NULL, 10);
    else if (strcmp(key, "reason") == 0)
        s->launch.reason = name_index(reasons, N_LAUNCH_REASONS, value);
    else if (strcmp(key, "cause") == 0)
        s->launch.cause = arena_strdup(&c->arena, value);
    else if (strcmp(key, "from") == 0)
        s->launch.from_ms = case_ms(value);
    else if (strcmp(key, "trained") == 0) {
        s->launch.trained_ms = case_ms(value);
        s->launch.stepped -= s->launch.trained_ms == 0;
    } else if (strcmp(key, "stepped") == 0)
        s->launch.stepped = strtoll(value, NULL, 10);
    else if (strcmp(key, "since") == 0)
        s->launch.since_ms = case_ms(value);
    else if (strcmp(key, "without") == 0)
        CHECK_INT(index_map_parse(&s->launch.without, value, false, &c->arena, &err), 0);
    else if (strcmp(key, "stalled") == 0)
        s->launch.stalled = strtoll(value, NULL, 10);
    else if (strcmp(key, "resumed") == 0)
        s->launch.resumed = strtoll(value, NULL, 10);
    else if (strcmp(key, "workers") == 0)
        s->launch.workers = strtoll(value, NULL, 10);
    else if (strcmp(key, "chief") == 0)
        s->launch.chief = case_world(c, value, replicas);
    else
        s->launch.world = case_world(c, value, replicas);
}

/* "9:2:epoch"; what is not there is left as it is. */
static inline const char *switch_value(struct reconcile_case *c, const char *text, int64_t *step,
                                       int64_t *epoch)
{
    char *rest;

    *step = strtoll(text, &rest, 10);
    *epoch = *rest ? strtoll(rest + 1, &rest, 10) : 0;
    return *rest ? arena_strdup(&c->arena, rest + 1) : "";
}

static inline void agent_word(struct reconcile_case *c, const char *key, const char *value)
{
    struct run_report *r = &c->run;

    c->o.run = r;
    if (strcmp(key, "seen") == 0)
        r->seen = strtoll(value, NULL, 10);
    else if (strcmp(key, "told") == 0)
        r->told = strtoll(value, NULL, 10);
    else if (strcmp(key, "run") == 0)
        r->generation = strtoll(value, NULL, 10);
    else if (strcmp(key, "phase") == 0)
        r->phase = name_index(run_phase_names, N_RUN_PHASES, value);
    else if (strcmp(key, "step") == 0)
        r->step = strtoll(value, NULL, 10);
    else if (strcmp(key, "rate") == 0)
        r->progress = (struct tj_progress){
            .present = true, .step = r->step, .samples_per_second = strtod(value, NULL)};
    else if (strcmp(key, "pods") == 0)
        r->world = case_world(c, value, r->replicas);
    else if (strcmp(key, "message") == 0)
        snprintf(r->message, sizeof r->message, "%s", value);
    else if (strcmp(key, "silent") == 0)
        snprintf(r->silent, sizeof r->silent, "j-%s", value);
    else if (strcmp(key, "workers") == 0)
        r->replicas[ROLE_WORKER] = (int)strtol(value, NULL, 10);
    else if (strcmp(key, "killed") == 0)
        r->killed = strtoll(value, NULL, 10);
    else if (strcmp(key, "resumed") == 0)
        r->resumed = strtoll(value, NULL, 10);
    else if (strcmp(key, "early") == 0)
        r->progress.early_epoch = strtoll(value, NULL, 10);
    else if (strcmp(key, "copied") == 0)
        r->copy_step = strtoll(value, NULL, 10);
    else if (strcmp(key, "failed-copy") == 0)
        snprintf(r->copy_error, sizeof r->copy_error, "%s", value);
    else if (strcmp(key, "record") == 0)
        snprintf(r->record_uid, sizeof r->record_uid, "%s", value);
    else if (strcmp(key, "stage") == 0)
        snprintf(r->stage, sizeof r->stage, "%s", value);
    else if (strcmp(key, "unlinked") == 0)
        c->o.linked = false;
    else if (strcmp(key, "relaunch") == 0)
        r->relaunch = true;
    else if (strcmp(key, "transfer") == 0)
        r->transfer_s = strtod(value, NULL);
    else if (strcmp(key, "hand-over") == 0)
        r->switched.seconds = strtod(value, NULL);
    else if (strcmp(key, "switch") == 0) {
        r->switched.known = true;
        snprintf(r->switched.reason, sizeof r->switched.reason, "%s",
                 switch_value(c, value, &r->switched.step, &r->switched.epoch));
    } else {
        c->o.linked = true;
        snprintf(r->pod, sizeof r->pod, "j-%s", key);
    }
}

static inline void strategy_word(struct reconcile_case *c, const char *key, const char *value)
{
    struct strategy_status *s = &c->tj.status.strategy;

    if (strcmp(key, "phase") == 0)
        s->phase = arena_strdup(&c->arena, value);
    else if (strcmp(key, "hand-over") == 0)
        s->seconds = strtod(value, NULL);
    else if (strcmp(key, "since") == 0)
        s->since_ms = case_ms(value);
    else
        s->reason = switch_value(c, value, &s->step, &s->epoch);
}

/* "2=90", or "1-256=90": that each of these numbers of workers reaches. */
static inline void scaling_word(struct reconcile_case *c, const char *key, const char *value)
{
    static struct scaling points[SCALING_MAX];
    struct tj_status *s = &c->tj.status;
    char *end;
    int workers = (int)strtol(key, &end, 10), last = workers;

    if (*end == '-')
        last = (int)strtol(end + 1, NULL, 10);
    s->scaling = points;
    for (; workers <= last; workers++)
        points[s->n_scaling++] = (struct scaling){workers, strtod(value, NULL)};
}

#endif
