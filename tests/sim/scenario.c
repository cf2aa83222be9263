/* The contents of a seed: jobs, their policies, and how their processes fare. */
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/sim/value.h"
#include "tests/sim/world.h"

static const char *const restart_policies[] = {"Never", "OnFailure", "Always", "ExitCode"};

static const char *pick(struct random *r, const char *const *of, size_t n)
{
    return of[random_next(r) % n];
}

static cJSON *template_of(bool broken)
{
    cJSON *t = cJSON_CreateObject(), *c = cJSON_CreateObject();

    cJSON_AddItemToArray(cJSON_AddArrayToObject(cJSON_AddObjectToObject(t, "spec"), "containers"),
                         c);
    val_set_str(c, "name", "tensorflow");
    val_set_str(c, "image", broken ? " train:1" : "train:1");
    return t;
}

static void add_role(struct random *r, struct job_plan *plan, cJSON *replicas,
                     enum cluster_role role, int n, bool broken)
{
    cJSON *o = cJSON_AddObjectToObject(replicas, cluster_role_names[role]);
    const char *policy = pick(r, restart_policies, ARRAY_LEN(restart_policies));

    val_set_int(o, "replicas", n);
    val_set_str(o, "restartPolicy", policy);
    val_set(o, "template", template_of(broken && n > 0)); /* else found only when scaled */
    plan->always[role] = strcmp(policy, "Always") == 0;
}

static void make_engine(struct random *r, cJSON *spec)
{
    val_set_str(cJSON_AddObjectToObject(spec, "model"), "name", "mlp");
    val_set_str(cJSON_AddObjectToObject(spec, "dataset"), "name", "fashion-mnist");
    if (random_chance(r, 700))
        val_set_int(cJSON_AddObjectToObject(spec, "output"), "keepSeconds",
                    random_chance(r, 300) ? 0 : random_range(r, 1, 100));
}

/* In some histories jobs are so large that the operator reads them again before it makes something
 * of them. */
static void make_large(cJSON *replicas)
{
    char padding[10000];
    cJSON *role;

    memset(padding, 'x', sizeof padding - 1);
    padding[sizeof padding - 1] = '\0';
    cJSON_ArrayForEach(role, replicas)
    {
        cJSON *template_ = cJSON_GetObjectItem(role, "template");

        if (template_)
            val_set_str(cJSON_AddObjectToObject(cJSON_AddObjectToObject(template_, "metadata"),
                                                "annotations"),
                        "padding", padding);
    }
}

/* Every second job with servers trains without them first, or last. */
static void make_servers(const struct job_plan *plan, uint64_t seed, cJSON *spec, cJSON *replicas)
{
    cJSON *strategy = cJSON_AddObjectToObject(spec, "strategy"), *s;

    val_set_str(strategy, "type", plan->switches ? "StrategySwitch" : "ParameterServer");
    val_set_int(cJSON_AddObjectToObject(replicas, "ps"), "replicas", plan->servers);
    if (!plan->switches)
        return;
    s = cJSON_AddObjectToObject(strategy, "switch");
    val_set_str(s, "when", "epoch");
    val_set_int(s, "epoch", 1);
    val_set_str(s, "order", seed % 3 == 0 ? "ServersFirst" : "AllReduceFirst");
    val_set_str(s, "how", plan->relaunch ? "relaunch" : "inPlace");
}

static void make_foreign(cJSON *spec, cJSON *worker)
{
    cJSON *template_ = template_of(false);
    cJSON *containers = cJSON_GetObjectItem(cJSON_GetObjectItem(template_, "spec"), "containers");

    cJSON_AddItemToArray(cJSON_AddArrayToObject(containers->child, "command"),
                         cJSON_CreateString("solve"));
    cJSON_AddObjectToObject(spec, "mpi");
    val_set(worker, "template", template_);
}

static void make_launched(struct sim_world *w, const struct job_plan *plan, cJSON *spec,
                          cJSON *replicas)
{
    struct random *r = &w->schedule;
    cJSON *worker = cJSON_AddObjectToObject(replicas, "worker");

    if (plan->foreign)
        make_foreign(spec, worker);
    else
        make_engine(r, spec);
    if (plan->servers)
        make_servers(plan, w->seed, spec, replicas);
    val_set_int(worker, "replicas", random_range(r, 1, 4));
    val_set_str(worker, "restartPolicy", pick(r, restart_policies, ARRAY_LEN(restart_policies)));
}

static void make_any_image(struct random *r, struct job_plan *plan, cJSON *replicas)
{
    bool broken = random_chance(r, 15), chief = random_chance(r, 300);

    add_role(r, plan, replicas, ROLE_WORKER, (int)random_range(r, chief ? 0 : 1, 4), broken);
    if (chief)
        add_role(r, plan, replicas, ROLE_CHIEF, 1, false);
    if (random_chance(r, 200))
        add_role(r, plan, replicas, ROLE_PS, 1, false);
    if (random_chance(r, 100))
        add_role(r, plan, replicas, ROLE_EVALUATOR, 1, false);
}

static void add_policy(struct sim_world *w, cJSON *spec, const struct job_plan *plan)
{
    struct random *r = &w->schedule;
    static const char *const clean[] = {"Running", "None", "All"};
    cJSON *p = cJSON_AddObjectToObject(spec, "runPolicy");

    val_set_str(p, "cleanPodPolicy", pick(r, clean, ARRAY_LEN(clean)));
    val_set_int(p, "backoffLimit", random_range(r, 0, 4));
    if (w->seed % 3 == 0)
        val_set_int(p, "disruptionLimit", (int64_t)(w->seed % 5));
    val_set_int(p, "nodeLossSeconds", random_range(r, 5, 30));
    val_set_int(p, "fenceSeconds", random_range(r, 1, 30));
    if (random_chance(r, 250))
        val_set_int(p, "ttlSecondsAfterFinished", random_range(r, 0, 60));
    if (random_chance(r, 200))
        val_set_int(p, "activeDeadlineSeconds", random_range(r, 5, 120));
    val_set_int(p, "progressDeadlineSeconds", 20 + (int64_t)(w->seed % 40));
    val_set_int(p, "replaceTimeoutSeconds", (int64_t)(w->seed * 7 % 40));
    if (plan->create_suspended)
        val_set(p, "suspend", cJSON_CreateBool(true));
    if (random_chance(r, 300))
        val_set_str(p, "successPolicy", "AllWorkers");
    if (random_chance(r, 400) && !plan->foreign)
        val_set_str(p, "scalePolicy", "Dynamic");
    if (random_chance(r, 150) && !plan->cramped) {
        cJSON *s = cJSON_AddObjectToObject(p, "schedulingPolicy");

        val_set_str(s, "gang", random_chance(r, 500) ? "Volcano" : "SchedulerPlugins");
    }
}

static void plan_job(struct sim_world *w, int n)
{
    static const int servers[] = {0, 0, 1, 2, 3};
    struct random *r = &w->schedule;
    struct job_plan *plan = &w->jobs[n];
    AUTO(auto_json) cJSON *spec = cJSON_CreateObject();
    cJSON *replicas = cJSON_AddObjectToObject(spec, "replicas");

    snprintf(plan->ns, sizeof plan->ns, "ns");
    snprintf(plan->name, sizeof plan->name, "j%d", n);
    plan->everlasting = random_chance(r, 400);
    plan->create_suspended = random_chance(r, 120);
    plan->trouble = random_chance(r, 400) ? (int)random_range(r, 1, 3) : 0;
    plan->launched = random_chance(r, 400);
    plan->foreign = plan->launched && (w->seed + (uint64_t)n) % 4 == 0;
    if (plan->launched && !plan->foreign)
        plan->servers = servers[(w->seed * 3 + (uint64_t)n) % ARRAY_LEN(servers)];
    plan->switches = plan->servers && w->seed % 4 < 2;
    plan->relaunch = w->seed % 2 == 0;
    plan->cramped = plan->launched && w->seed % 8 == 5;
    if (plan->launched)
        make_launched(w, plan, spec, replicas);
    else
        make_any_image(r, plan, replicas);
    if (w->seed % 4 == 1)
        make_large(replicas);
    add_policy(w, spec, plan);
    plan->spec = val_print(spec);
    world_trace(w, "job %s: %s", plan->name, plan->spec);
    world_after(w, random_range(r, 0, 5000), user_create, n);
}

void scenario_make(struct sim_world *w)
{
    static const int intensities[] = {0, 10, 30, 60, 120};
    struct random *r = &w->schedule;

    w->intensity = intensities[random_next(r) % ARRAY_LEN(intensities)];
    w->quiet_ms = random_range(r, 10, 80) * 1000;
    w->n_jobs = random_chance(r, 600) ? 1 : (int)random_range(r, 2, MAX_JOBS);
    w->churn = w->seed % 8 == 0;
    if (w->churn)
        w->n_jobs = MAX_JOBS;
    for (int i = 0; i < w->n_jobs; i++)
        plan_job(w, i);
    for (int i = 0; w->churn && i < w->n_jobs; i++)
        w->jobs[i].everlasting = true; /* the end finds them running */
}

void scenario_release(struct sim_world *w)
{
    for (int i = 0; i < w->n_jobs; i++)
        free(w->jobs[i].spec);
}

/* Random, but the same whenever it is asked for. */
static struct random dice_of(const struct sim_world *w, const struct sim_process *p, int attempt)
{
    struct random r = {w->seed * 1000003};

    for (const char *c = p->job; *c; c++)
        r.state = r.state * 31 + (unsigned char)*c;
    r.state = r.state * 131 + (uint64_t)p->role;
    r.state = r.state * 131 + (uint64_t)p->index;
    r.state = r.state * 131 + (uint64_t)attempt;
    random_next(&r);
    return r;
}

static const struct job_plan *plan_of(const struct sim_world *w, const struct sim_process *p)
{
    for (int i = 0; i < w->n_jobs; i++) {
        if (strcmp(w->jobs[i].name, p->job) == 0)
            return &w->jobs[i];
    }
    return &w->jobs[0];
}

struct sim_fate scenario_fate(const struct sim_world *w, const struct sim_process *p)
{
    static const int codes[] = {1, 2, 127, 130, 137, 139, 143, 255};
    const struct job_plan *plan = plan_of(w, p);
    struct random once = dice_of(w, p, 1000), r = dice_of(w, p, p->attempt);
    int failures = 0;
    struct sim_fate f = {.run_ms = random_range(&r, 200, 20000)};

    if (plan->trouble && random_chance(&once, 500))
        failures = (int)random_range(&once, 1, plan->trouble * 2 - 1);
    if (p->attempt < failures) {
        f.exit_code = codes[random_next(&r) % ARRAY_LEN(codes)];
        if (plan->launched && random_chance(&r, 900)) /* other codes end the job */
            f.exit_code = 137;
        f.run_ms = random_range(&r, 50, 8000);
    } else if (plan->launched || p->role == ROLE_PS || plan->always[p->role] ||
               (plan->everlasting && p->role != ROLE_EVALUATOR)) {
        f.run_ms = -1;
    }
    f.stop_ms = random_chance(&r, 150) ? -1 : random_range(&r, 0, 3000);
    f.stop_code = random_chance(&r, 500) ? 0 : 143;
    return f;
}

int64_t scenario_room(const struct sim_world *w, const char *job)
{
    const struct store_object *o = store_find(&w->api.store, KIND_JOB, "ns", job);

    for (int i = 0; i < w->n_jobs; i++) {
        if (w->jobs[i].cramped && strcmp(w->jobs[i].name, job) == 0)
            return 1 + (o ? val_int(o->v->json, "spec", "replicas", "ps", "replicas") : 0);
    }
    return INT64_MAX;
}

int64_t scenario_unplaced_ms(const struct sim_world *w, const struct sim_process *p)
{
    struct random r = dice_of(w, p, 4000 + (int)(p->incarnation % 100));

    bool chief = p->role == ROLE_WORKER && p->index == 0;

    if (!plan_of(w, p)->launched || chief || !random_chance(&r, 120))
        return 0;
    return random_range(&r, 5000, 90000);
}

int64_t scenario_unmounted_ms(const struct sim_world *w, const struct sim_process *p)
{
    struct random r = dice_of(w, p, 5000 + (int)(p->incarnation % 100));

    return random_chance(&r, 60) ? random_range(&r, 5000, 40000) : 0;
}

/* Each training is one and the same over all of a job's generations. */
struct run_fate scenario_run(const struct sim_world *w, const struct sim_process *p,
                             int64_t generation)
{
    const struct job_plan *plan = plan_of(w, p);
    struct sim_process of_job = {.role = ROLE_WORKER};
    struct random once, r;
    struct run_fate f;

    snprintf(of_job.job, sizeof of_job.job, "%s", p->job);
    once = dice_of(w, &of_job, 2000);
    r = dice_of(w, &of_job, 3000 + (int)generation);
    f = (struct run_fate){.steps = plan->everlasting ? 0 : random_range(&once, 20, 500),
                          .step_ms = random_range(&once, 5, 80),
                          .interval = random_range(&once, 5, 100)};
    f.tells = random_chance(&once, 800); /* else of a former version */
    f.hangs = random_chance(&r, 150);
    f.fetched_ms = random_chance(&r, 300) ? -1 : random_range(&r, 100, 60000);
    if (plan->trouble && generation <= (int64_t)plan->trouble * 3 && random_chance(&r, 500)) {
        f.fails_ms = random_range(&r, 10, 12000);
        f.exit_code = random_chance(&r, 50) ? 3 : 1;
        f.refused = random_chance(&r, 100);
    }
    if (plan->trouble && generation <= (int64_t)plan->trouble * 3 && random_chance(&r, 150))
        f.stuck_ms = random_range(&r, 1, 12000);
    if (plan->switches) {
        f.switch_step = 1 + (int64_t)(w->seed * 11 % 300);
        f.relaunch = plan->relaunch;
    }
    if (plan->foreign) { /* that it hangs nobody would notice; no former version starts it */
        f.foreign = f.tells = true;
        f.stuck_ms = 0;
    }
    return f;
}
