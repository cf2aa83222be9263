// LINK: operator/reconcile operator/api common
// TIMEOUT: 120
/*
 * Invariants of every plan, whatever is observed: random jobs, statuses and pods from fixed seeds;
 * and that plans lead somewhere: statuses are written back until nothing durable changes. Then the
 * time of a look at 1,000 pods.
 */
#include <time.h>

#include "operator/reconcile/reconcile.h"
#include "paceline/mem.h"
#include "tests/test.h"

#define ROUNDS 200000
#define MAX_PODS 12
#define MAX_INDEX 6
#define NOW 1000000

struct random_world {
    struct arena arena;
    struct job job;
    struct tj tj;
    struct pod pods[MAX_PODS];
    const struct pod *pointers[MAX_PODS];
    struct observed o;
    unsigned round;
};

static uint64_t state;

static int64_t draw(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

static bool one_in(int n) { return draw(n) == 0; }

/* Times about now, often at edges; 0 as often as not. */
static int64_t draw_time(void)
{
    static const int64_t edges[] = {0, 0, 0, NOW - 30000, NOW, NOW + 30000};

    return one_in(2) ? edges[draw(6)] : NOW - 100000 + draw(200) * 1000;
}

static void draw_job(struct random_world *w)
{
    struct job *job = &w->job;

    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        job->replicas[r].replicas = r == ROLE_WORKER ? 1 + draw(4) : draw(2);
        job->replicas[r].restart = draw(4);
    }
    job->min_workers = draw(4) - 1;
    job->run_policy.clean_pods = draw(3);
    job->run_policy.backoff_limit = draw(8);
    job->run_policy.ttl_seconds = draw(3) * 10 - 10;
    job->run_policy.deadline_seconds = one_in(3) ? draw(100) : -1;
    job->run_policy.suspend = one_in(5);
    job->run_policy.success = draw(2);
    job->run_policy.scale = draw(2);
    job->run_policy.fence_seconds = draw(2) * 30;
}

static void draw_status(struct random_world *w)
{
    struct tj_status *s = &w->tj.status;

    if (one_in(10))
        return;
    s->world.generation = 1 + draw(2);
    s->world.incarnation = draw(3);
    s->start_ms = NOW - 200000;
    s->active_since_ms = one_in(3) ? 0 : NOW - 50000;
    s->restarts = draw(6);
    s->backoff_until_ms = draw_time();
    s->conditions[COND_CREATED] = (struct condition){true, true, "r", "m", NOW - 200000};
    for (int i = COND_RUNNING; i <= COND_PODS_BLOCKED; i++)
        s->conditions[i] = (struct condition){one_in(2), one_in(3), "r", "m", NOW - 90000};
    if (one_in(8))
        s->conditions[one_in(2) ? COND_FAILED : COND_SUCCEEDED] =
            (struct condition){true, true, "r", "m", NOW - 10000};
    s->completion_ms = status_terminal(s) ? NOW - 10000 : 0;
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        struct role_status *role = &s->roles[r];

        s->world.replicas[r] =
            one_in(4) ? draw(3) + (r == ROLE_WORKER) : w->job.replicas[r].replicas;
        for (int i = 0; i < MAX_INDEX; i++) {
            index_map_set(&role->completed, i, one_in(8), &w->arena);
            index_map_set(&role->lost, i, r == ROLE_WORKER && one_in(20), &w->arena);
            index_map_set(&role->incarnations, i, one_in(4) ? draw(3) : 0, &w->arena);
        }
    }
}

static void draw_pod(struct random_world *w, struct pod *p, int number)
{
    static const char *const uids[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    int64_t current;

    *p = (struct pod){
        .meta = {.namespace_ = "ns", .name = "p", .uid = uids[number], .deletion_grace_ms = 30000},
        .role = one_in(2) ? ROLE_WORKER : draw(N_CLUSTER_ROLES),
        .index = (int)draw(MAX_INDEX),
        .phase = draw(POD_UNKNOWN + 1),
        .ready = one_in(2),
        .scheduled = !one_in(4),
        .tracked = !one_in(4),
        .disrupted = one_in(5),
        .has_exit_code = one_in(2),
        .exit_code = (int)draw(256),
        .restart_count = one_in(4) ? draw(4) : 0,
        .finished_ms = draw_time(),
        .ended_unasked = one_in(4),
        .started_ms = draw_time(),
        .reason = one_in(3) ? "Reason" : NULL,
        .key = one_in(50) ? "other" : "key",
    };
    p->meta.deletion_ms = one_in(3) ? draw_time() : 0;
    p->deleting_for_ms = one_in(2) ? 1000000000 : (int64_t)draw(100) * 1000;
    current = status_incarnation(&w->tj.status, p->role, p->index);
    p->incarnation = one_in(8) ? current + 1 : one_in(4) && current ? current - 1 : current;
}

static void draw_world(struct random_world *w, unsigned round)
{
    *w = (struct random_world){.round = round};
    state = 0x9e3779b97f4a7c15u * (round + 1);
    w->tj = (struct tj){.meta = {.namespace_ = "ns", .name = "j", .uid = "u", .generation = 3},
                        .job = &w->job};
    draw_job(w);
    draw_status(w);
    w->tj.meta.deletion_ms = one_in(30) ? NOW : 0;
    if (one_in(30))
        w->tj.problem = "a problem";
    if (w->tj.problem && one_in(2))
        w->tj.job = NULL;
    w->o.tj = &w->tj;
    w->o.pods = w->pointers;
    w->o.n_pods = (size_t)draw(MAX_PODS + 1);
    for (int i = 0; i < MAX_PODS; i++) {
        draw_pod(w, &w->pods[i], i);
        w->pointers[i] = &w->pods[i];
    }
    for (int i = 0; i < N_OWNED; i++)
        w->o.have[i] = !one_in(20), w->o.seen_ms[i] = draw_time();
    w->o.key = "key";
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        w->o.dry_run_ok[r] = !one_in(4);
    w->o.old_generations[0] = one_in(5);
    w->o.invalid_template = one_in(40) ? "never" : NULL;
    w->o.blocked = one_in(10) ? "not now" : NULL;
    w->o.hold_until_ms = one_in(8) ? NOW + 5000 : 0;
    w->o.status_written_ms = draw_time();
    w->o.events.pod = one_in(2) ? w->pods[0].meta.uid : NULL;
    w->o.events.sentence = one_in(2) ? "FailedMount" : NULL;
    w->o.events.asked_ms = draw_time();
}

#define HOLDS(cond)                                          \
    do {                                                     \
        test_checked++;                                      \
        if (!(cond))                                         \
            TEST_FAIL("round %u: not: %s", w->round, #cond); \
    } while (0)

static bool completes(const struct tj_status *old, const struct tj_status *s)
{
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        if (!index_map_equal(&old->roles[r].completed, &s->roles[r].completed))
            return true;
    return false;
}

static void check_status(const struct random_world *w, const struct tj_status *s, int64_t limit)
{
    const struct tj_status *old = &w->tj.status;

    HOLDS(!(status_is(s, COND_SUCCEEDED) && status_is(s, COND_FAILED)));
    HOLDS(s->restarts <= limit || s->restarts <= old->restarts || status_terminal(s) ||
          completes(old, s));
    HOLDS(!status_terminal(s) || s->active_since_ms == 0 || status_terminal(old));
    HOLDS(!status_terminal(s) || s->completion_ms > 0);
    if (status_terminal(old)) {
        HOLDS(status_equal_durable(old, s));
        return;
    }
    HOLDS(s->restarts >= old->restarts);
    HOLDS(s->world.generation >= old->world.generation);
    HOLDS(s->world.incarnation >= old->world.incarnation);
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        for (int i = 0; i < MAX_INDEX; i++) {
            HOLDS(!index_map_get(&old->roles[r].completed, i) ||
                  index_map_get(&s->roles[r].completed, i));
            if (old->world.generation)
                HOLDS(status_incarnation(s, r, i) >= status_incarnation(old, r, i));
        }
}

static void check_create(const struct random_world *w, const struct action *a)
{
    const struct tj_status *s = &w->tj.status;

    HOLDS(!status_terminal(s) && !status_is(s, COND_SUSPENDED) && !w->tj.meta.deletion_ms);
    HOLDS(a->index < s->world.replicas[a->role]);
    HOLDS(!index_map_get(&s->roles[a->role].completed, a->index));
    HOLDS(!index_map_get(&s->roles[a->role].lost, a->index));
    HOLDS(a->incarnation == status_incarnation(s, a->role, a->index));
    HOLDS(w->o.hold_until_ms <= NOW);
    HOLDS(w->o.have[OWNED_SERVICE] && w->o.have[OWNED_SECRET] && w->o.have[OWNED_CONFIG_MAP]);
    for (size_t i = 0; i < w->o.n_pods; i++) {
        const struct pod *p = w->pointers[i];

        if (p->role == a->role && p->index == a->index)
            HOLDS(pod_finished(p) && p->incarnation < a->incarnation);
    }
}

/* The end of a pod is in status, or no longer matters, before its finalizer goes. */
static void check_release(const struct random_world *w, const struct pod *p)
{
    const struct tj_status *s = &w->tj.status;
    bool ended_itself =
        !p->meta.deletion_ms || p->ended_unasked ||
        (p->finished_ms && p->finished_ms + 2000 < p->meta.deletion_ms - p->meta.deletion_grace_ms);

    HOLDS(p->tracked);
    if (w->tj.meta.deletion_ms || status_terminal(s) || status_is(s, COND_SUSPENDED))
        return;
    HOLDS(pod_finished(p) || (p->meta.deletion_ms && !p->scheduled));
    if (p->phase == POD_SUCCEEDED && ended_itself)
        HOLDS(index_map_get(&s->roles[p->role].completed, p->index));
    HOLDS(index_map_get(&s->roles[p->role].completed, p->index) ||
          index_map_get(&s->roles[p->role].lost, p->index) ||
          p->index >= s->world.replicas[p->role] ||
          p->incarnation < status_incarnation(s, p->role, p->index));
}

static void check_force(const struct random_world *w, const struct pod *p)
{
    int64_t fence_ms = w->job.run_policy.fence_seconds * 1000;

    HOLDS(p->meta.deletion_ms + fence_ms <= NOW);
    HOLDS(p->deleting_for_ms >= p->meta.deletion_grace_ms + fence_ms);
}

static void check_actions(const struct random_world *w, const struct plan *plan)
{
    const struct pod *seen[MAX_PODS * 2];
    size_t n = 0;

    for (size_t i = 0; i < plan->n_actions; i++) {
        const struct action *a = &plan->actions[i];
        bool observed = false;

        if (a->type == ACTION_CREATE_POD)
            check_create(w, a);
        if (a->type == ACTION_RELEASE_POD)
            check_release(w, a->pod);
        if (a->type == ACTION_DELETE_POD)
            HOLDS(!a->pod->meta.deletion_ms);
        if (a->type == ACTION_FORCE_DELETE_POD)
            check_force(w, a->pod);
        if (a->type == ACTION_DELETE_JOB)
            HOLDS(status_terminal(&w->tj.status));
        if (a->type != ACTION_DELETE_POD && a->type != ACTION_FORCE_DELETE_POD &&
            a->type != ACTION_RELEASE_POD)
            continue;
        for (size_t k = 0; k < w->o.n_pods; k++)
            observed |= a->pod == w->pointers[k];
        HOLDS(observed);
        for (size_t k = 0; k < n; k++)
            HOLDS(seen[k] != a->pod);
        seen[n++] = a->pod;
    }
}

static void check_round(unsigned round)
{
    struct random_world world, *w = &world;
    int writes = 0;

    draw_world(w, round);
    for (;; writes++) {
        AUTO(plan_release) struct plan plan = {0};
        struct tj_status copy;

        reconcile(&w->o, NOW, &plan);
        HOLDS(!plan.status || !plan.n_actions);
        HOLDS(!plan.requeue_ms || plan.requeue_ms > NOW);
        check_actions(w, &plan);
        if (!plan.status || writes == 8)
            break;
        HOLDS(!status_equal(plan.status, &w->tj.status));
        HOLDS(plan.urgent == !status_equal_durable(plan.status, &w->tj.status));
        check_status(w, plan.status, w->job.run_policy.backoff_limit);
        status_copy(&copy, plan.status, &w->arena);
        w->tj.status = copy;
    }
    HOLDS(writes < 8); /* the same pods do not make it write for ever */
    arena_release(&w->arena);
}

static void test_properties(void)
{
    for (unsigned round = 0; round < ROUNDS && test_failed < 10; round++)
        check_round(round);
}

static double milliseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Prints how long a look takes; asserts only that it is not quadratic. */
static void test_time(void)
{
    enum { N = 1000, LOOKS = 100 };
    AUTO(auto_free) struct pod *pods = xcalloc(N, sizeof *pods);
    AUTO(auto_free) const struct pod **pointers = xcalloc(N, sizeof(struct pod *));
    struct job job = {.replicas[ROLE_WORKER].replicas = N, .run_policy.deadline_seconds = 3600};
    struct tj tj = {.meta = {.namespace_ = "ns", .name = "j", .uid = "u"}, .job = &job};
    struct observed o = {.tj = &tj, .pods = pointers, .n_pods = N};
    double start;

    for (int i = 0; i < N_OWNED; i++)
        o.have[i] = true;
    tj.status.world.generation = 1;
    tj.status.world.replicas[ROLE_WORKER] = N;
    tj.status.active_since_ms = tj.status.start_ms = NOW - 5000;
    tj.status.conditions[COND_CREATED] = (struct condition){true, true, "r", "m", NOW - 5000};
    for (int i = 0; i < N; i++) {
        pods[i] = (struct pod){.meta = {.namespace_ = "ns", .name = "p", .uid = "u"},
                               .role = ROLE_WORKER,
                               .index = (i * 7) % N,
                               .phase = POD_RUNNING,
                               .scheduled = true,
                               .tracked = true};
        pointers[i] = &pods[i];
    }
    start = milliseconds();
    for (int i = 0; i < LOOKS; i++) {
        AUTO(plan_release) struct plan plan = {0};

        reconcile(&o, NOW, &plan);
        CHECK(plan.status && status_is(plan.status, COND_RUNNING));
    }
    printf("a look at %d pods: %.3f ms\n", N, (milliseconds() - start) / LOOKS);
}

int main(void)
{
    test_properties();
    test_time();
    return test_result();
}
