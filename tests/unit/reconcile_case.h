/* Cases of reconcile as text. A file has several; each is a line "== name" and
 *   job worker=4 ps=1 restart=OnFailure backoff=6 deadline=60 ttl=0 clean=All success=AllWorkers
 *       scale=Dynamic min=2 suspend builtin gang=Volcano network=None managed-by=x fence=30
 *       volume keep=60 (spec.output) switch (StrategySwitch) switch=ServersFirst
 *   tj generation=2 deleting=990 invalid=sentence damaged=sentence
 *   world gen=1 base=0 worker=4              counts as the job has them where not given
 *   status restarts=1 completion=900 running=150 worker.completed=0-2 ...   (conditions: their
 *       time; !running=150: False; reason and message are "r" and "m"; ?running=150: without;
 *       running=150:Why: with this reason; running=150:Why:so_it_is: and this sentence)
 *   pod worker 0-3 0 running ready kubelet=2 exit=1 deleting=990 ...    role, indices, incarnation;
 *       unasked: seen finished before it was being deleted
 *   now 1000 | unreachable sentence | quiet 10 | stalled        times are seconds
 *   unenforced sentence
 *   missing Service | seen Secret=900 (else now) | old-generations 1 2 | groups-gone 1 | dry-run-ok
 * worker | hold 1010 | written 999 blocked sentence | name-taken | invalid-template sentence
 * launched gen=3 step=9 failures=1 forgiven=2 pods=worker-0-0,worker-1-0     status.launch;
 * reason=Loss cause=sentence from=199 trained=200 (at 200 it trained) resumed=7 workers=2 without=3
 * since=300 agent worker-0-0 seen=3 run=3 phase=training step=12 rate=100
 * pods=worker-0-0,worker-1-0 message=sentence stage=ranks workers=2 unlinked      what the chief's
 * agent says; record=u copied=9 failed-copy=sentence silent=worker-1-0 relaunch transfer=0.01
 * early=6 switch=9:2:epoch (step, epoch, why) hand-over=0.5    of its strategy; switch: not yet
 *   strategy phase=AllReduce switch=9:2:epoch hand-over=0.5 since=900    status.strategy
 *   scaling 1=50 2-8=90                       status.scaling: samples per second by workers
 *   events pod=worker-0-0 asked=990 sentence=FailedMount    read last; all but pod can be left out
 *   plan, and from the next line on what print_plan writes; of the status, what differs
 * Lines that start with '#' are comments. A job that has begun did so at 100; `now` is 1000.
 */
#ifndef PACELINE_TESTS_RECONCILE_CASE_H
#define PACELINE_TESTS_RECONCILE_CASE_H

#include "tests/unit/reconcile_base.h"
#include "tests/unit/reconcile_launch.h"

static inline void case_begin(struct reconcile_case *c, const char *name)
{
    *c = (struct reconcile_case){.now = 1000000};
    c->name = arena_strdup(&c->arena, name);
    c->job.run_policy.backoff_limit = 6;
    c->job.run_policy.disruption_limit = -1;
    c->job.run_policy.ttl_seconds = c->job.run_policy.deadline_seconds = -1;
    c->job.run_policy.fence_seconds = 30;
    c->job.run_policy.progress_deadline_seconds = 600;
    c->job.run_policy.replace_timeout_seconds = 60;
    c->job.training.early_stop.patience = 3;
    c->job.scheduling.min_available = c->job.min_workers = c->job.max_workers = -1;
    c->tj.meta.name = "j";
    c->tj.meta.namespace_ = "ns";
    c->tj.meta.uid = "u";
    c->tj.meta.generation = 1;
    c->tj.job = &c->job;
    c->o.tj = &c->tj;
    for (int i = 0; i < N_OWNED; i++) {
        c->o.have[i] = true;
        c->o.seen_ms[i] = c->now;
    }
    c->o.key = "j-key";
    for (int i = 0; i < CASE_MAX_PODS; i++)
        c->pointers[i] = &c->pods[i];
    c->o.pods = c->pointers;
}

static inline void job_word(struct reconcile_case *c, const char *key, const char *value)
{
    static const char *const gangs[] = {"None", "Volcano", "SchedulerPlugins", "Kueue"};
    struct job *job = &c->job;

    if (strcmp(key, "restart") == 0)
        for (int r = 0; r < N_CLUSTER_ROLES; r++)
            job->replicas[r].restart = name_index(restart_names, 4, value);
    else if (strcmp(key, "backoff") == 0)
        job->run_policy.backoff_limit = strtoll(value, NULL, 10);
    else if (strcmp(key, "disruptions") == 0)
        job->run_policy.disruption_limit = strtoll(value, NULL, 10);
    else if (strcmp(key, "deadline") == 0)
        job->run_policy.deadline_seconds = strtoll(value, NULL, 10);
    else if (strcmp(key, "ttl") == 0)
        job->run_policy.ttl_seconds = strtoll(value, NULL, 10);
    else if (strcmp(key, "fence") == 0)
        job->run_policy.fence_seconds = strtoll(value, NULL, 10);
    else if (strcmp(key, "replace") == 0)
        job->run_policy.replace_timeout_seconds = strtoll(value, NULL, 10);
    else if (strcmp(key, "min") == 0)
        job->min_workers = strtoll(value, NULL, 10);
    else if (strcmp(key, "volume") == 0)
        job->output.volume = arena_strdup(&c->arena, "{}");
    else if (strcmp(key, "keep") == 0)
        job->output.keep_seconds = strtoll(value, NULL, 10);
    else if (strcmp(key, "clean") == 0)
        job->run_policy.clean_pods = name_index(clean_names, 3, value);
    else if (strcmp(key, "success") == 0)
        job->run_policy.success = SUCCESS_ALL_WORKERS;
    else if (strcmp(key, "scale") == 0)
        job->run_policy.scale = SCALE_DYNAMIC;
    else if (strcmp(key, "suspend") == 0)
        job->run_policy.suspend = true;
    else if (strcmp(key, "builtin") == 0)
        job->model.name = arena_strdup(&c->arena, "mlp");
    else if (strcmp(key, "mpi") == 0)
        job->mpi.present = true;
    else if (strcmp(key, "gang") == 0)
        job->scheduling.gang = name_index(gangs, 4, value);
    else if (strcmp(key, "network") == 0)
        job->network.type = NETWORK_NONE;
    else if (strcmp(key, "switch") == 0) {
        job->strategy.type = STRATEGY_SWITCH;
        job->strategy.change.order = *value ? SERVERS_FIRST : ALL_REDUCE_FIRST;
    } else if (strcmp(key, "managed-by") == 0)
        c->tj.managed_by = arena_strdup(&c->arena, value);
    else
        job->replicas[role_of(key)].replicas = strtoll(value, NULL, 10);
}

static inline void tj_word(struct reconcile_case *c, const char *key, const char *value)
{
    if (strcmp(key, "generation") == 0)
        c->tj.meta.generation = strtoll(value, NULL, 10);
    else if (strcmp(key, "deleting") == 0)
        c->tj.meta.deletion_ms = case_ms(value);
    else if (strcmp(key, "unread") == 0)
        c->tj.unread = true;
    else
        c->tj.problem = arena_strdup(&c->arena, value);
    if (strcmp(key, "invalid") == 0 || c->tj.unread)
        c->tj.job = NULL;
}

static inline void world_begin(struct reconcile_case *c)
{
    struct tj_status *s = &c->tj.status;

    s->world.generation = 1;
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        s->world.replicas[r] = c->job.replicas[r].replicas;
    s->start_ms = s->active_since_ms = 100000;
    s->conditions[COND_CREATED] = (struct condition){true, true, "r", "m", 100000};
    if (job_builtin(&c->job) && !c->job.output.volume)
        s->conditions[COND_DURABLE] =
            (struct condition){true, false, "NoVolume", DURABLE_NONE, 100000};
    s->observed_generation = 1;
}

static inline void world_word(struct reconcile_case *c, const char *key, const char *value)
{
    int64_t n = strtoll(value, NULL, 10);

    if (strcmp(key, "gen") == 0)
        c->tj.status.world.generation = n;
    else if (strcmp(key, "base") == 0)
        c->tj.status.world.incarnation = n;
    else
        c->tj.status.world.replicas[role_of(key)] = n;
}

static inline bool condition_word(struct tj_status *s, const char *key, const char *value)
{
    bool status = *key != '!', bare = *key == '?';
    char *reason = strchr(value, ':'), *message = reason ? strchr(reason + 1, ':') : NULL;
    int i = 0;

    while (i < N_CONDITIONS && strcasecmp(key + (!status || bare), condition_names[i]) != 0)
        i++;
    if (i == N_CONDITIONS)
        return false;
    s->conditions[i] =
        (struct condition){true, status, bare ? NULL : "r", bare ? NULL : "m", case_ms(value)};
    if (reason)
        s->conditions[i].reason = reason + 1;
    if (message)
        s->conditions[i].message = message + 1, *message = '\0';
    for (; message && message[1]; message++)
        message[1] = message[1] == '_' ? ' ' : message[1];
    return true;
}

static inline void role_status_word(struct reconcile_case *c, const char *key, const char *value)
{
    const char *dot = strchr(key, '.');
    struct role_status *role;
    struct err err;
    int failed = 0;

    if (!dot) {
        TEST_FAIL("unknown word %s", key);
        exit(1);
    }
    role = &c->tj.status.roles[role_of(arena_printf(&c->arena, "%.*s", (int)(dot - key), key))];
    dot++;
    if (strcmp(dot, "completed") == 0)
        failed = index_map_parse(&role->completed, value, false, &c->arena, &err);
    else if (strcmp(dot, "lost") == 0)
        failed = index_map_parse(&role->lost, value, false, &c->arena, &err);
    else if (strcmp(dot, "incarnations") == 0)
        failed = index_map_parse(&role->incarnations, value, true, &c->arena, &err);
    else if (strcmp(dot, "active") == 0)
        role->active = (int)strtol(value, NULL, 10);
    else if (strcmp(dot, "ready") == 0)
        role->ready = (int)strtol(value, NULL, 10);
    else if (strcmp(dot, "succeeded") == 0)
        role->succeeded = (int)strtol(value, NULL, 10);
    else
        role->restarts = strtoll(value, NULL, 10);
    CHECK_INT(failed, 0);
}

static inline void status_word(struct reconcile_case *c, const char *key, const char *value)
{
    struct tj_status *s = &c->tj.status;

    if (condition_word(s, key, value))
        return;
    if (strcmp(key, "completion") == 0)
        s->completion_ms = case_ms(value);
    else if (strcmp(key, "since") == 0)
        s->active_since_ms = case_ms(value);
    else if (strcmp(key, "active") == 0)
        s->active_ms = case_ms(value);
    else if (strcmp(key, "restarts") == 0)
        s->restarts = strtoll(value, NULL, 10);
    else if (strcmp(key, "disruptions") == 0)
        s->disruptions = strtoll(value, NULL, 10);
    else if (strcmp(key, "backoff-until") == 0)
        s->backoff_until_ms = case_ms(value);
    else if (strcmp(key, "observed") == 0)
        s->observed_generation = strtoll(value, NULL, 10);
    else
        role_status_word(c, key, value);
}

static inline void pod_word(struct reconcile_case *c, struct pod *p, const char *key,
                            const char *value)
{
    static const char *const phases[] = {"pending", "running", "succeeded", "failed", "unknown"};

    if (strcmp(key, "ready") == 0)
        p->ready = true;
    else if (strcmp(key, "probed") == 0)
        p->probed = true;
    else if (strcmp(key, "unscheduled") == 0)
        p->scheduled = false;
    else if (strcmp(key, "begun") == 0)
        p->begun = true;
    else if (strcmp(key, "no-ip") == 0)
        p->ip = NULL;
    else if (strcmp(key, "untracked") == 0)
        p->tracked = false;
    else if (strcmp(key, "disrupted") == 0)
        p->disrupted = true;
    else if (strcmp(key, "unasked") == 0)
        p->ended_unasked = true;
    else if (strcmp(key, "kubelet") == 0)
        p->restart_count = strtoll(value, NULL, 10);
    else if (strcmp(key, "exit") == 0)
        p->has_exit_code = true, p->exit_code = (int)strtol(value, NULL, 10);
    else if (strcmp(key, "created") == 0)
        p->meta.created_ms = case_ms(value);
    else if (strcmp(key, "started") == 0)
        p->started_ms = case_ms(value);
    else if (strcmp(key, "finished") == 0)
        p->finished_ms = case_ms(value);
    else if (strcmp(key, "deleting") == 0)
        p->meta.deletion_ms = case_ms(value);
    else if (strcmp(key, "grace") == 0)
        p->meta.deletion_grace_ms = case_ms(value);
    else if (strcmp(key, "watched") == 0)
        p->deleting_for_ms = 1000 * strtoll(value, NULL, 10);
    else if (strcmp(key, "reason") == 0)
        p->reason = arena_strdup(&c->arena, value);
    else if (strcmp(key, "message") == 0)
        p->message = arena_strdup(&c->arena, value);
    else if (strcmp(key, "key") == 0)
        p->key = arena_strdup(&c->arena, value);
    else if (strcmp(key, "node") == 0)
        p->node = arena_strdup(&c->arena, value);
    else if (strcmp(key, "uid") == 0)
        p->meta.uid = arena_strdup(&c->arena, value);
    else
        p->phase = name_index(phases, 5, key);
}

typedef void case_word_fn(struct reconcile_case *c, const char *key, const char *value);

/* Calls fn for each "key" or "key=value". */
static inline void each_word(struct reconcile_case *c, const char *text, case_word_fn *fn)
{
    char *words = arena_strdup(&c->arena, text), *save = NULL;

    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(w, '=');

        if (equals)
            *equals++ = '\0';
        fn(c, w, equals ? equals : "");
    }
}

static inline void pod_line(struct reconcile_case *c, const char *text)
{
    char *words = arena_strdup(&c->arena, text), *save = NULL, *dash;
    const char *role = strtok_r(words, " ", &save), *range = strtok_r(NULL, " ", &save);
    int64_t incarnation = strtoll(strtok_r(NULL, " ", &save), NULL, 10);
    int first = (int)strtol(range, &dash, 10);
    int last = *dash == '-' ? (int)strtol(dash + 1, NULL, 10) : first;
    const char *rest = save;

    for (int i = first; i <= last && c->o.n_pods < CASE_MAX_PODS; i++) {
        struct pod *p = &c->pods[c->o.n_pods++];
        char name[NAME_SIZE], *copy = arena_strdup(&c->arena, rest), *at = NULL;

        *p = (struct pod){.role = role_of(role),
                          .index = i,
                          .incarnation = incarnation,
                          .scheduled = true,
                          .tracked = true};
        pod_name(name, "j", p->role, i, incarnation);
        p->meta.name = p->meta.uid = arena_strdup(&c->arena, name);
        p->meta.namespace_ = "ns";
        p->meta.deletion_grace_ms = 30000;
        p->meta.created_ms = c->now - 5000;
        p->ip = "10.0.0.1";
        p->node = "n";
        p->deleting_for_ms = 1000000000; /* long, where the case does not say */
        for (char *w = strtok_r(copy, " ", &at); w; w = strtok_r(NULL, " ", &at)) {
            char *equals = strchr(w, '=');

            if (equals)
                *equals++ = '\0';
            pod_word(c, p, w, equals ? equals : "");
        }
    }
}

static inline void missing_word(struct reconcile_case *c, const char *key, const char *value)
{
    (void)value;
    c->o.have[name_index(owned_kind_names, N_OWNED, key)] = false;
}

static inline void seen_word(struct reconcile_case *c, const char *key, const char *value)
{
    c->o.seen_ms[name_index(owned_kind_names, N_OWNED, key)] = case_ms(value);
}

static inline void old_word(struct reconcile_case *c, const char *key, const char *value)
{
    size_t i = 0;

    (void)value;
    while (c->o.old_generations[i])
        i++;
    c->o.old_generations[i] = strtoll(key, NULL, 10);
}

static inline void dry_word(struct reconcile_case *c, const char *key, const char *value)
{
    (void)value;
    c->o.dry_run_ok[role_of(key)] = true;
}

static inline void events_word(struct reconcile_case *c, const char *key, const char *value)
{
    if (strcmp(key, "pod") == 0)
        c->o.events.pod = arena_printf(&c->arena, "j-%s", value);
    else if (strcmp(key, "asked") == 0)
        c->o.events.asked_ms = case_ms(value);
    else
        c->o.events.sentence = arena_strdup(&c->arena, value);
}

/* One line of what is given. */
static inline void case_line(struct reconcile_case *c, const char *line)
{
    static const struct {
        const char *head;
        case_word_fn *fn;
    } heads[] = {
        {"job ", job_word},           {"tj ", tj_word},
        {"status ", status_word},     {"missing ", missing_word},
        {"seen ", seen_word},         {"old-generations ", old_word},
        {"dry-run-ok ", dry_word},    {"launched ", launched_word},
        {"agent ", agent_word},       {"scaling ", scaling_word},
        {"strategy ", strategy_word},
    };
    const char *rest = strchr(line, ' ') ? strchr(line, ' ') + 1 : "";

    if (strncmp(line, "launched ", 9) == 0) {
        c->tj.status.launch.from_ms = 199000;
        c->tj.status.launch.trained_ms = 200000;
    }
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (strncmp(line, heads[i].head, strlen(heads[i].head)) == 0) {
            each_word(c, rest, heads[i].fn);
            return;
        }
    if (strncmp(line, "world", 5) == 0) {
        world_begin(c);
        each_word(c, rest, world_word);
    } else if (strncmp(line, "pod ", 4) == 0) {
        pod_line(c, rest);
    } else if (strncmp(line, "now ", 4) == 0) {
        c->now = case_ms(rest);
    } else if (strncmp(line, "groups-gone ", 12) == 0) {
        c->o.groups_gone = strtoll(rest, NULL, 10);
    } else if (strncmp(line, "hold ", 5) == 0) {
        c->o.hold_until_ms = case_ms(rest);
    } else if (strncmp(line, "written ", 8) == 0) {
        c->o.status_written_ms = case_ms(rest);
    } else if (strcmp(line, "name-taken") == 0) {
        c->o.name_taken = true;
    } else if (strncmp(line, "blocked ", 8) == 0) {
        c->o.blocked = arena_strdup(&c->arena, rest);
    } else if (strncmp(line, "events ", 7) == 0) {
        each_word(c, rest, events_word);
    } else if (strncmp(line, "unreachable ", 12) == 0) {
        c->o.unreachable = arena_strdup(&c->arena, rest);
    } else if (strncmp(line, "unenforced ", 11) == 0) {
        c->o.unenforced = arena_strdup(&c->arena, rest);
    } else if (strcmp(line, "stalled") == 0) {
        c->o.stalled = true;
    } else if (strncmp(line, "quiet ", 6) == 0) {
        c->o.quiet_ms = case_ms(rest);
    } else if (strncmp(line, "invalid-template ", 17) == 0) {
        c->o.invalid_template = arena_strdup(&c->arena, rest);
    } else {
        TEST_FAIL("%s: unknown line: %s", c->name, line);
        exit(1);
    }
}

#endif
