/* Invariants of the training of built-in jobs. */
#include "paceline/mem.h"
#include "tests/sim/agents.h"
#include "tests/sim/value.h"

static struct job_truth *truth_of_run(struct sim_world *w, const struct sim_run *r)
{
    return truth_of(w, w->processes[r->hosts[0]].job_uid);
}

static const struct sim_process *chief_of(const struct sim_world *w, const struct sim_run *r)
{
    return &w->processes[r->hosts[0]];
}

/* A launch that status tells of: its world may be run from now on. */
static void note_launch(struct job_truth *t, int64_t generation, int64_t world, int64_t now_ms)
{
    t->launched = xrealloc(t->launched, (t->n_launched + 1) * sizeof *t->launched);
    t->launched[t->n_launched].generation = generation;
    t->launched[t->n_launched].at_ms = now_ms;
    t->launched[t->n_launched++].world = world;
}

void launches_job_changed(struct sim_world *w, struct job_truth *t, const struct store_object *o,
                          const cJSON *prev, const cJSON *next)
{
    int64_t generation = val_int(next, "status", "launch", "generation");
    int64_t world = val_int(next, "status", "launch", "world");
    int64_t was = prev ? val_int(prev, "status", "launch", "generation") : 0;

    if (generation < was)
        world_fail(w, "%s: launch.generation went from %lld to %lld", o->name, (long long)was,
                   (long long)generation);
    if (world && (generation != was || world != val_int(prev, "status", "launch", "world")))
        note_launch(t, generation, world, w->now_ms);
    if (val_int(next, "status", "progress", "step") > t->reached ||
        val_int(next, "status", "launch", "step") > t->reached)
        world_fail(w, "%s: status tells of step %lld and %lld, the training has reached %lld",
                   o->name, (long long)val_int(next, "status", "progress", "step"),
                   (long long)val_int(next, "status", "launch", "step"), (long long)t->reached);
}

/* The launch that an event tells of: "generation 3 trains on ..."; 0: none. */
static long long launch_of(const cJSON *event)
{
    long long generation = 0;
    int end = 0;

    (void)sscanf(val_str(event, "message"), "generation %lld trains on %n", &generation, &end);
    return end ? generation : 0;
}

static bool same_launch(const cJSON *a, const cJSON *b)
{
    return launch_of(a) && launch_of(a) == launch_of(b) &&
           strcmp(val_str(a, "involvedObject", "uid"), val_str(b, "involvedObject", "uid")) == 0;
}

/* A pod that was deleted is told as that, and not as a failure of the engine as well. */
static void check_cause(struct sim_world *w, const struct store_object *event)
{
    const cJSON *e = event->v->json;
    const char *reason = val_str(e, "reason"), *uid = val_str(e, "involvedObject", "uid");
    long long generation;

    if (!reason || (strcmp(reason, "RankFailed") != 0 && strcmp(reason, "LaunchFailed") != 0) ||
        sscanf(val_str(e, "message"), "generation %lld:", &generation) != 1 || w->stolen)
        return;
    for (size_t i = 0; i < w->agents->n_runs; i++) {
        const struct sim_run *r = &w->agents->runs[i];

        if (r->generation == generation && r->bereft && strcmp(chief_of(w, r)->job_uid, uid) == 0)
            world_fail(w, "a pod of generation %lld was deleted, and told was %s: %s", generation,
                       reason, val_str(e, "message"));
    }
}

void launches_told(struct sim_world *w, const struct store_object *event)
{
    const struct store *s = &w->api.store;

    world_trace(w, "told: %s: %s", val_str(event->v->json, "reason"),
                val_str(event->v->json, "message"));

    check_cause(w, event);
    for (size_t i = 0; i < s->n[KIND_EVENT]; i++) {
        const struct store_object *o = s->objects[KIND_EVENT][i];

        if (o != event && !tenant_owns(o) && same_launch(o->v->json, event->v->json) && !w->stolen)
            world_fail(w, "told twice: %s", val_str(event->v->json, "message"));
    }
}

static void check_written(struct sim_world *w, const struct sim_run *r, const struct job_truth *t)
{
    int64_t world = 0;

    for (int i = 0; i < r->n; i++)
        world = launch_world(world, w->processes[r->hosts[i]].uid);
    for (size_t i = 0; i < t->n_launched; i++)
        if (t->launched[i].generation == r->generation && t->launched[i].world == world)
            return;
    world_fail(w, "%s: generation %lld was launched and its world was never in status", t->name,
               (long long)r->generation);
}

static int64_t replace_timeout_ms(struct sim_world *w, const struct sim_process *p)
{
    const struct store_object *job = store_find_uid(&w->api.store, KIND_JOB, p->job_uid);

    return job ? 1000 * val_int(job->v->json, "spec", "runPolicy", "replaceTimeoutSeconds") : 0;
}

/* When the run's generation was first written; 0: never. */
static int64_t launched_ms(struct sim_world *w, const struct sim_run *r)
{
    const struct job_truth *t = truth_of_run(w, r);

    for (size_t i = 0; i < t->n_launched; i++)
        if (t->launched[i].generation == r->generation)
            return t->launched[i].at_ms;
    return 0;
}

/* Without faults a worker is left out only when its pod is late, and does not run. One
 * that could not be made until the launch was written is as late as can be. */
static void check_left_out(struct sim_world *w, const struct sim_run *r, int index)
{
    const struct sim_process *p = NULL;

    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *q = &w->processes[i];

        if (q->role == ROLE_WORKER && q->index == index && !q->gone &&
            strcmp(q->job_uid, chief_of(w, r)->job_uid) == 0)
            p = q;
    }
    if (!p || w->intensity || p->asked_ms || p->created_ms >= launched_ms(w, r))
        return;
    if (p->running && w->now_ms - p->started_ms > 5000)
        world_fail(w, "run %lld leaves out %s, which runs", (long long)r->generation, p->name);
    if (w->now_ms - p->created_ms < replace_timeout_ms(w, p) - 1000)
        world_fail(w, "run %lld does not wait for %s", (long long)r->generation, p->name);
}

/* Workers by index, of which some may be left out; then as many servers as the engine expects, all
 * of them. */
static void check_hosts(struct sim_world *w, const struct sim_run *r)
{
    int index = 0, workers = r->n - r->servers;

    for (int i = 0; i < r->n; i++, index++) {
        const struct sim_process *p = &w->processes[r->hosts[i]];
        bool server = i >= workers;

        if (i == workers)
            index = 0;
        for (; !server && p->index > index; index++)
            check_left_out(w, r, index);
        if (p->role != (server ? ROLE_PS : ROLE_WORKER) || p->index != index || (i == 0 && index) ||
            strcmp(p->job_uid, chief_of(w, r)->job_uid) != 0)
            world_fail(w, "%s is rank %d of run %lld", p->name, i, (long long)r->generation);
    }
}

/* All others of the launched job run, and have for long. */
static bool others_run(const struct sim_world *w, const struct sim_process *p, int64_t since_ms)
{
    int n = 0;

    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *q = &w->processes[i];

        if (q == p || q->gone || strcmp(q->job_uid, p->job_uid) != 0)
            continue;
        if (!q->running || q->asked_ms || q->started_ms > since_ms)
            return false;
        n++;
    }
    return n > 0;
}

/* Worker 0 has had a node before there are other workers, but in a gang. */
void launches_pod_made(struct sim_world *w, const struct sim_process *p)
{
    const struct store_object *job = store_find_uid(&w->api.store, KIND_JOB, p->job_uid);

    if (!job || p->role != ROLE_WORKER || p->index == 0 || !job_is_launched(job->v->json) ||
        val_get(job->v->json, "spec", "runPolicy", "schedulingPolicy", NULL))
        return;
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *q = &w->processes[i];

        if (q->role == ROLE_WORKER && q->index == 0 && q->node >= 0 &&
            strcmp(q->job_uid, p->job_uid) == 0)
            return;
    }
    world_fail(w, "%s was made before worker 0 had a node", p->name);
}

/* Without faults the others have not waited for a worker longer than they should. */
void launches_pod_placed(struct sim_world *w, const struct sim_process *p)
{
    const struct store_object *job = store_find_uid(&w->api.store, KIND_JOB, p->job_uid);
    const struct job_truth *t = truth_of(w, p->job_uid);
    int64_t due_ms = p->created_ms + replace_timeout_ms(w, p) + 30000;

    if (w->intensity || !job || !t || !job_is_launched(job->v->json) || p->role != ROLE_WORKER ||
        w->now_ms < due_ms || job_terminal(job->v->json) ||
        job_condition(job->v->json, "Suspended") || !others_run(w, p, w->now_ms - 30000) ||
        t->edited_ms > w->now_ms - 30000 || t->failed || p->gone || p->asked_ms)
        return;
    if (run_phase_of_job(w, p->job_uid) == RUN_NONE && !t->said_done)
        world_fail(w, "%s trains on nobody while %s has no node", job->name, p->name);
}

/* Nobody can know what a pod does whose node was lost, or that was taken out of the API by force.
 */
static bool is_wild(const struct sim_process *p) { return p->orphan || p->late || p->stripped; }

static void check_alone(struct sim_world *w, const struct sim_run *r)
{
    for (size_t i = 0; i < w->agents->n_runs; i++) {
        const struct sim_run *q = &w->agents->runs[i];
        bool wild = false;

        if (q == r || !q->taken || !run_is_on(q) ||
            strcmp(chief_of(w, q)->job_uid, chief_of(w, r)->job_uid) != 0)
            continue;
        for (int k = 0; k < q->n; k++)
            wild = wild || is_wild(&w->processes[q->hosts[k]]);
        if (!wild && !is_wild(chief_of(w, r)))
            world_fail(w, "%s: run %lld starts while run %lld is on", chief_of(w, r)->job,
                       (long long)r->generation, (long long)q->generation);
    }
}

/* One of its pods has ended or was asked to: what counts is the end of that pod. */
static bool has_lost(const struct sim_world *w, const struct sim_run *r)
{
    for (int i = 0; i < r->n; i++) {
        const struct sim_process *p = &w->processes[r->hosts[i]];

        if (!p->running || p->asked_ms)
            return true;
    }
    return false;
}

/* Failures of one chief in a row, none of which got beyond what status knew. */
static void count_barren(struct sim_world *w, const struct sim_run *r, struct job_truth *t)
{
    const struct sim_run *last = t->run ? &w->agents->runs[t->run - 1] : NULL;

    if (last && last->progressed)
        t->barren = 0;
    else if (last && last->phase == RUN_FAILED && *last->message && !has_lost(w, last) &&
             last->hosts[0] == r->hosts[0])
        t->barren++;
    if (t->barren > t->limit)
        world_fail(w, "%s: launched again after %lld failures without progress, backoffLimit %lld",
                   t->name, (long long)t->barren, (long long)t->limit);
    t->run = (int)(r - w->agents->runs) + 1;
}

void launches_run_taken(struct sim_world *w, const struct sim_run *r)
{
    struct job_truth *t = truth_of_run(w, r);

    if (r->generation <= t->generation && !is_wild(chief_of(w, r)))
        world_fail(w, "%s: generation %lld starts after %lld", t->name, (long long)r->generation,
                   (long long)t->generation);
    if (r->generation > t->generation)
        t->generation = r->generation;
    check_hosts(w, r);
    check_written(w, r, t);
    check_alone(w, r);
    count_barren(w, r, t);
    w->stats->launches++;
}

/* Checkpoints of pods that live are not left out. */
void launches_run_resumed(struct sim_world *w, const struct sim_run *r)
{
    const struct job_truth *t = truth_of_run(w, r);

    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *p = &w->processes[i];

        if (p->running && !p->orphan && !p->asked_ms && strcmp(p->job_uid, t->uid) == 0 &&
            agent_at(w, (int)i)->copy > r->from)
            world_fail(w, "%s: run %lld resumes from step %lld, %s has %lld", t->name,
                       (long long)r->generation, (long long)r->from, p->name,
                       (long long)agent_at(w, (int)i)->copy);
    }
}

void launches_reached(struct sim_world *w, const struct sim_run *r)
{
    struct job_truth *t = truth_of_run(w, r);

    if (r->step > t->reached)
        t->reached = r->step;
}

void launches_run_over(struct sim_world *w, struct sim_run *r)
{
    const struct store_object *job =
        store_find_uid(&w->api.store, KIND_JOB, chief_of(w, r)->job_uid);
    int64_t known = job ? val_int(job->v->json, "status", "launch", "step") : 0;

    for (int i = 0; i < r->n; i++) {
        const struct sim_process *p = &w->processes[r->hosts[i]];

        r->bereft = r->bereft || (p->asked_ms && !p->stripped);
    }
    r->progressed =
        !r->foreign &&
        (r->step > known || (job && val_int(job->v->json, "status", "progress", "step") > known));
    if (r->phase == RUN_FAILED && *r->message) /* else nobody has told */
        truth_of_run(w, r)->failed = r->progressed ? 0 : truth_of_run(w, r)->failed + 1;
}

/* No later pod has its index. */
static bool is_newest(const struct sim_world *w, const struct sim_process *p)
{
    for (size_t i = 0; i < w->n_processes; i++) {
        const struct sim_process *q = &w->processes[i];

        if (q->role == p->role && q->index == p->index && q->incarnation > p->incarnation &&
            strcmp(q->job_uid, p->job_uid) == 0)
            return false;
    }
    return true;
}

bool launches_keep(struct sim_world *w, const struct sim_process *p, const cJSON *job)
{
    int64_t end = val_ms(val_get(job, "status", "completionTime", NULL));

    return is_newest(w, p) && job_condition(job, "Succeeded") && run_is_kept(w, p) &&
           w->now_ms < end + 1000 * job_keep_s(job);
}

/* Scaled down, a run stops with a checkpoint before its pods go, unless its chief goes or is
 * silent.
 */
void launches_pod_asked(struct sim_world *w, const struct sim_process *p)
{
    const struct store_object *job = store_find_uid(&w->api.store, KIND_JOB, p->job_uid);
    const struct sim_run *r = run_with(w, (int)(p - w->processes));
    const struct job_truth *t = truth_of(w, p->job_uid);

    const char *role = cluster_role_names[p->role];
    bool wanted = job && p->index < val_int(job->v->json, "status", "world", role);

    if (job && launches_keep(w, p, job->v->json) && w->jump_ms == 0 && !w->stolen)
        world_fail(w, "%s was deleted while it keeps the model", p->name);
    if (!job || !r || !t || job_terminal(job->v->json) || r->phase == RUN_STARTING ||
        (wanted && r->phase == RUN_TRAINING) || /* its index is, in a later pod */
        job_condition(job->v->json, "Suspended") || run_is_broken(w, r, NULL) || w->stolen ||
        chief_of(w, r)->asked_ms || w->now_ms - t->linked_ms > 9000)
        return;
    world_fail(w, "%s was deleted while run %lld trained in it", p->name, (long long)r->generation);
}
