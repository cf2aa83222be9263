/* What must never happen to the training of built-in jobs. */
#include "paceline/mem.h"
#include "tests/sim/agents.h"
#include "tests/sim/value.h"

static struct job_truth *truth_of_run(struct world *w, const struct run *r)
{
    return truth_of(w, w->processes[r->hosts[0]].job_uid);
}

static const struct process *chief_of(const struct world *w, const struct run *r)
{
    return &w->processes[r->hosts[0]];
}

/* A launch that status tells of: its world may be run from now on. */
static void note_launch(struct job_truth *t, int64_t generation, int64_t world)
{
    t->launched = xrealloc(t->launched, (t->n_launched + 1) * sizeof *t->launched);
    t->launched[t->n_launched].generation = generation;
    t->launched[t->n_launched++].world = world;
}

void launches_job_changed(struct world *w, struct job_truth *t, const struct object *o,
                          const cJSON *prev, const cJSON *next)
{
    int64_t generation = val_int(next, "status", "launch", "generation");
    int64_t world = val_int(next, "status", "launch", "world");
    int64_t was = prev ? val_int(prev, "status", "launch", "generation") : 0;

    if (generation < was)
        world_fail(w, "%s: launch.generation went from %lld to %lld", o->name, (long long)was,
                   (long long)generation);
    if (world && (generation != was || world != val_int(prev, "status", "launch", "world")))
        note_launch(t, generation, world);
    if (val_int(next, "status", "progress", "step") > t->reached ||
        val_int(next, "status", "launch", "step") > t->reached)
        world_fail(w, "%s: status tells of step %lld and %lld, the training has reached %lld",
                   o->name, (long long)val_int(next, "status", "progress", "step"),
                   (long long)val_int(next, "status", "launch", "step"), (long long)t->reached);
}

static void check_written(struct world *w, const struct run *r, const struct job_truth *t)
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

static void check_hosts(struct world *w, const struct run *r)
{
    for (int i = 0; i < r->n; i++) {
        const struct process *p = &w->processes[r->hosts[i]];

        if (p->role != ROLE_WORKER || p->index != i ||
            strcmp(p->job_uid, chief_of(w, r)->job_uid) != 0)
            world_fail(w, "%s is rank %d of run %lld", p->name, i, (long long)r->generation);
    }
}

/* Nobody can know what a pod does whose node was lost, or that was taken out of the API by force.
 */
static bool is_wild(const struct process *p) { return p->orphan || p->late || p->stripped; }

static void check_alone(struct world *w, const struct run *r)
{
    for (size_t i = 0; i < w->agents->n_runs; i++) {
        const struct run *q = &w->agents->runs[i];
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

/* Failures of one chief in a row, none of which got beyond what status knew. */
static void count_barren(struct world *w, const struct run *r, struct job_truth *t)
{
    const struct run *last = t->run ? &w->agents->runs[t->run - 1] : NULL;

    if (last && last->phase == RUN_FAILED && last->progressed)
        t->barren = 0;
    else if (last && last->phase == RUN_FAILED && *last->message && last->hosts[0] == r->hosts[0])
        t->barren++;
    if (t->barren > t->limit)
        world_fail(w, "%s: launched again after %lld failures without progress, backoffLimit %lld",
                   t->name, (long long)t->barren, (long long)t->limit);
    t->run = (int)(r - w->agents->runs) + 1;
}

void launches_run_taken(struct world *w, const struct run *r)
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
void launches_run_resumed(struct world *w, const struct run *r)
{
    const struct job_truth *t = truth_of_run(w, r);

    for (size_t i = 0; i < w->n_processes; i++) {
        const struct process *p = &w->processes[i];

        if (p->running && !p->orphan && !p->asked_ms && strcmp(p->job_uid, t->uid) == 0 &&
            agent_at(w, (int)i)->copy > r->from)
            world_fail(w, "%s: run %lld resumes from step %lld, %s has %lld", t->name,
                       (long long)r->generation, (long long)r->from, p->name,
                       (long long)agent_at(w, (int)i)->copy);
    }
}

void launches_reached(struct world *w, const struct run *r)
{
    struct job_truth *t = truth_of_run(w, r);

    if (r->step > t->reached)
        t->reached = r->step;
}

void launches_run_failed(struct world *w, struct run *r)
{
    const struct object *job = store_find_uid(&w->api.store, KIND_JOB, chief_of(w, r)->job_uid);
    int64_t known = job ? val_int(job->v->json, "status", "launch", "step") : 0;

    r->progressed =
        r->step > known || (job && val_int(job->v->json, "status", "progress", "step") > known);
    truth_of_run(w, r)->failed = r->progressed ? 0 : truth_of_run(w, r)->failed + 1;
}

/* Scaled down, a run stops with a checkpoint before its pods go, unless its chief goes or is
 * silent.
 */
void launches_pod_asked(struct world *w, const struct process *p)
{
    const struct object *job = store_find_uid(&w->api.store, KIND_JOB, p->job_uid);
    const struct run *r = run_with(w, (int)(p - w->processes));
    const struct job_truth *t = truth_of(w, p->job_uid);

    bool wanted = job && p->index < val_int(job->v->json, "status", "world", "worker");

    if (!job || !r || !t || job_terminal(job->v->json) || r->phase == RUN_STARTING ||
        (wanted && r->phase == RUN_TRAINING) || /* its index is, in a later pod */
        job_condition(job->v->json, "Suspended") || run_is_broken(w, r, NULL) || w->stolen ||
        chief_of(w, r)->asked_ms || w->now_ms - t->linked_ms > 9000)
        return;
    world_fail(w, "%s was deleted while run %lld trained in it", p->name, (long long)r->generation);
}
