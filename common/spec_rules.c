/* Rules across fields: each says what it reads, when it is broken, and what is allowed. */
#include "common/spec_table.h"

#include "paceline/json.h"
#include "paceline/mem.h"

static bool broken_no_network(const struct job *job, struct buf *found)
{
    buf_puts(found, "neither name nor layers");
    return !job->model.name && !job->model.n_layers;
}

static bool broken_two_networks(const struct job *job, struct buf *found)
{
    buf_puts(found, "both name and layers");
    return job->model.name && job->model.n_layers;
}

static bool broken_idx_path(const struct job *job, struct buf *found)
{
    buf_puts(found, "name idx without a path");
    return strcmp(job->dataset.name, "idx") == 0 && !job->dataset.path;
}

static bool broken_lanes_power(const struct job *job, struct buf *found)
{
    buf_printf(found, "%lld", (long long)job->training.lanes);
    return (job->training.lanes & (job->training.lanes - 1)) != 0;
}

static bool broken_batch_workers(const struct job *job, struct buf *found)
{
    buf_printf(found, "a batch of %lld for %lld workers", (long long)job->training.batch_size,
               (long long)job->replicas[ROLE_WORKER].replicas);
    return job->training.batch_size < job->replicas[ROLE_WORKER].replicas;
}

static bool broken_lanes_workers(const struct job *job, struct buf *found)
{
    buf_printf(found, "%lld workers for %d lanes", (long long)job->replicas[ROLE_WORKER].replicas,
               job_lanes(job));
    return job->replicas[ROLE_WORKER].replicas > job_lanes(job);
}

static bool broken_drop_all(const struct job *job, struct buf *found)
{
    double left = (double)job->dataset.limit * (1 - job->dataset.validation_split);

    buf_puts(found, "a limit below a batch");
    return job->training.last_batch == LAST_DROP && job->dataset.limit > 0 &&
           left < (double)job->training.batch_size;
}

static bool broken_nesterov(const struct job *job, struct buf *found)
{
    const struct job_optimizer *o = &job->training.optimizer;

    buf_puts(found, "nesterov without them");
    return o->nesterov && (o->momentum <= 0 || o->dampening > 0);
}

static bool broken_values(const struct job *job, struct buf *found)
{
    const struct job_schedule *s = &job->training.schedule;

    buf_printf(found, "%zu values for %zu boundaries", s->n_values, s->n_boundaries);
    return s->type == SCHED_PIECEWISE && s->n_values != s->n_boundaries + 1;
}

static bool broken_boundaries(const struct job *job, struct buf *found)
{
    const struct job_schedule *s = &job->training.schedule;

    buf_puts(found, "one that is not");
    for (size_t i = 1; i < s->n_boundaries; i++)
        if (s->boundaries[i] <= s->boundaries[i - 1])
            return true;
    return false;
}

static bool broken_warmup(const struct job *job, struct buf *found)
{
    buf_puts(found, "a longer warm-up");
    return job->training.steps == 0 &&
           job->training.schedule.warmup_epochs > (double)job->training.epochs;
}

static bool has_replicas(const struct job *job, enum cluster_role role, struct buf *found)
{
    buf_printf(found, "%lld", (long long)job->replicas[role].replicas);
    return job->replicas[role].replicas > 0;
}

static bool broken_chief(const struct job *job, struct buf *found)
{
    return has_replicas(job, ROLE_CHIEF, found);
}

static bool broken_servers(const struct job *job, struct buf *found)
{
    return has_replicas(job, ROLE_PS, found);
}

static bool broken_evaluator(const struct job *job, struct buf *found)
{
    return has_replicas(job, ROLE_EVALUATOR, found);
}

static bool broken_no_worker(const struct job *job, struct buf *found)
{
    return !has_replicas(job, ROLE_WORKER, found);
}

static bool broken_nobody(const struct job *job, struct buf *found)
{
    buf_puts(found, "neither chief nor worker");
    return job->replicas[ROLE_CHIEF].replicas + job->replicas[ROLE_WORKER].replicas == 0;
}

static bool has_containers(const char *template_)
{
    AUTO(auto_json) cJSON *root = NULL;
    const cJSON *list;
    struct err err;

    if (!template_ || json_parse(&root, template_, strlen(template_), "template", &err))
        return false;
    list = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "spec"),
                                            "containers");
    return cJSON_IsArray(list) && list->child;
}

static bool broken_template(const struct job *job, enum cluster_role role, struct buf *found)
{
    const struct job_role *r = &job->replicas[role];

    buf_printf(found, "no container, and replicas: %lld", (long long)r->replicas);
    return r->replicas > 0 && !has_containers(r->template_);
}

static bool broken_worker_template(const struct job *job, struct buf *found)
{
    return broken_template(job, ROLE_WORKER, found);
}

static bool broken_chief_template(const struct job *job, struct buf *found)
{
    return broken_template(job, ROLE_CHIEF, found);
}

static bool broken_ps_template(const struct job *job, struct buf *found)
{
    return broken_template(job, ROLE_PS, found);
}

static bool broken_evaluator_template(const struct job *job, struct buf *found)
{
    return broken_template(job, ROLE_EVALUATOR, found);
}

static bool broken_min_workers(const struct job *job, struct buf *found)
{
    int64_t replicas = job->replicas[ROLE_WORKER].replicas;

    buf_printf(found, "%lld with minReplicas %lld", (long long)replicas,
               (long long)job->min_workers);
    return job->min_workers > replicas;
}

static bool broken_max_workers(const struct job *job, struct buf *found)
{
    int64_t replicas = job->replicas[ROLE_WORKER].replicas;

    buf_printf(found, "%lld with maxReplicas %lld", (long long)replicas,
               (long long)job->max_workers);
    return job->max_workers >= 0 && job->max_workers < replicas;
}

static bool broken_min_available(const struct job *job, struct buf *found)
{
    int64_t pods = 0;

    for (int role = 0; role < N_CLUSTER_ROLES; role++)
        pods += job->replicas[role].replicas;
    buf_printf(found, "%lld for %lld pods", (long long)job->scheduling.min_available,
               (long long)pods);
    return job->scheduling.min_available > pods;
}

static bool broken_kueue_scale(const struct job *job, struct buf *found)
{
    buf_puts(found, "Dynamic with gang Kueue");
    return job->scheduling.gang == GANG_KUEUE && job->run_policy.scale == SCALE_DYNAMIC;
}

static bool broken_threads(const struct job *job, struct buf *found)
{
    buf_printf(found, "%lld workers of %lld threads for %d lanes",
               (long long)job->replicas[ROLE_WORKER].replicas, (long long)job->training.threads,
               job_lanes(job));
    return job->replicas[ROLE_WORKER].replicas * job->training.threads > job_lanes(job);
}

/* What the rules read, in CEL (spec_table.h). */
#define CEL_WORKERS "{spec.replicas.worker.replicas}"
#define CEL_PODS                                                                       \
    "(" CEL_WORKERS " + {spec.replicas.chief.replicas} + {spec.replicas.ps.replicas} " \
    "+ {spec.replicas.evaluator.replicas})"
#define CEL_BATCH "{spec.training.batchSize}"
#define CEL_LANES                                                                                 \
    "({spec.training.lanes} > 0 ? {spec.training.lanes} : " CEL_BATCH " >= 256 ? 64 : " CEL_BATCH \
    " >= 128 ? 32 : " CEL_BATCH " >= 64 ? 16 : " CEL_BATCH " >= 32 ? 8 : " CEL_BATCH              \
    " >= 16 ? 4 : " CEL_BATCH " >= 8 ? 2 : 1)"
#define CEL_OPTIMIZER "spec.training.optimizer."
#define CEL_MOMENTUM "{spec.training.optimizer.momentum|0.9}" /* sgd's: the one with nesterov */
#define CEL_DAMPENING "{spec.training.optimizer.dampening|0.0}"
#define CEL_SCHEDULE "spec.training.learningRateSchedule."
#define CEL_VALUES CEL_SCHEDULE "values"
#define CEL_BOUNDARIES CEL_SCHEDULE "boundaries"
#define CEL_AVAILABLE "spec.runPolicy.schedulingPolicy.minAvailable"
#define CEL_TEMPLATE(role)                                                                   \
    "{spec.replicas." role ".replicas} == 0 || ({?spec.replicas." role ".template} && "      \
    "has(self.replicas." role ".template.spec) && has(self.replicas." role ".template.spec." \
    "containers) && size(self.replicas." role ".template.spec.containers) > 0)"

#define TEMPLATE_RULE(role, check)                                                               \
    {                                                                                            \
        {"spec.replicas." role ".template", "spec.replicas." role ".replicas"},                  \
            .allowed = "needed without spec.model: a template with a container, or replicas: 0", \
            .job = RULE_IMAGE, .broken = (check), .cel = CEL_TEMPLATE(role),                     \
            .cel_found = "no container, and replicas: [[4:{spec.replicas." role ".replicas}]]"   \
    }

const struct rule spec_rules[] = {
    {{"spec.model", "spec.model.name", "spec.model.layers"},
     .allowed = "needed: exactly one of name and layers",
     .job = RULE_BUILTIN,
     .broken = broken_no_network,
     .cel = "has(self.model.name) || has(self.model.layers)",
     .cel_found = "neither name nor layers"},
    {{"spec.model", "spec.model.name", "spec.model.layers"},
     .allowed = "needed: exactly one of name and layers",
     .job = RULE_BUILTIN,
     .broken = broken_two_networks,
     .cel = "!(has(self.model.name) && has(self.model.layers))",
     .cel_found = "both name and layers"},
    {{"spec.dataset.path", "spec.dataset.name"},
     .allowed = "needed: the folder of the IDX files",
     .job = RULE_BUILTIN,
     .broken = broken_idx_path,
     .cel = "{spec.dataset.name} != 'idx' || {?spec.dataset.path}",
     .cel_found = "name idx without a path"},
    {{"spec.training.lanes"},
     .allowed = "allowed: a power of two, or 0",
     .job = RULE_BUILTIN,
     .broken = broken_lanes_power,
     .cel = "{spec.training.lanes} in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]",
     .cel_found = "[[4:{spec.training.lanes}]]"},
    {{"spec.training.batchSize", "spec.replicas.worker.replicas"},
     .allowed = "allowed: at least one sample per worker",
     .job = RULE_BUILTIN,
     .broken = broken_batch_workers,
     .cel = CEL_BATCH " >= " CEL_WORKERS,
     .cel_found = "a batch of [[7:" CEL_BATCH "]] for [[4:" CEL_WORKERS "]] workers"},
    {{"spec.replicas.worker.replicas", "spec.training.lanes", "spec.training.batchSize"},
     .allowed = "allowed: at most as many workers as lanes (training.lanes, by default at most "
                "batchSize/4)",
     .job = RULE_BUILTIN,
     .broken = broken_lanes_workers,
     .cel = CEL_WORKERS " <= " CEL_LANES,
     .cel_found = "[[4:" CEL_WORKERS "]] workers for [[4:" CEL_LANES "]] lanes"},
    {{"spec.training.lastBatch", "spec.dataset.limit", "spec.training.batchSize"},
     .allowed = "allowed with drop: samples for at least one batch",
     .job = RULE_BUILTIN,
     .broken = broken_drop_all,
     .cel = "{spec.training.lastBatch} != 'drop' || {spec.dataset.limit} == 0 || "
            "double({spec.dataset.limit}"
            ") * (1.0 - {spec.dataset.validationSplit}) >= double(" CEL_BATCH ")",
     .cel_found = "a limit below a batch"},
    {{"spec.training.optimizer.nesterov", "spec.training.optimizer.momentum",
      "spec.training.optimizer.dampening"},
     .allowed = "needed with nesterov: momentum above 0 and dampening 0",
     .job = RULE_BUILTIN,
     .broken = broken_nesterov,
     .cel = "!{" CEL_OPTIMIZER "nesterov|false} || (" CEL_MOMENTUM " > 0.0 && " CEL_DAMPENING
            " == 0.0)",
     .cel_found = "nesterov without them"},
    {{"spec.training.learningRateSchedule.values", "spec.training.learningRateSchedule.boundaries"},
     .allowed = "needed: one value more than there are boundaries",
     .job = RULE_BUILTIN,
     .broken = broken_values,
     .cel = "!{?" CEL_VALUES "} || !{?" CEL_BOUNDARIES "} || size({" CEL_VALUES
            "}) == size({" CEL_BOUNDARIES "}) + 1",
     .cel_found =
         "[[2:size({" CEL_VALUES "})]] values for [[2:size({" CEL_BOUNDARIES "})]] boundaries"},
    {{"spec.training.learningRateSchedule.boundaries"},
     .allowed = "needed: each boundary above the one before it",
     .job = RULE_BUILTIN,
     .broken = broken_boundaries,
     .cel = "!{?" CEL_BOUNDARIES "} || {" CEL_BOUNDARIES "}.isSorted() && {" CEL_BOUNDARIES
            "}.all(x, {" CEL_BOUNDARIES "}.exists_one(y, y == x))",
     .cel_found = "one that is not"},
    {{"spec.training.learningRateSchedule.warmupEpochs", "spec.training.epochs",
      "spec.training.steps"},
     .allowed = "allowed: at most training.epochs",
     .job = RULE_BUILTIN,
     .broken = broken_warmup,
     .cel = "{spec.training.steps} > 0 || {" CEL_SCHEDULE
            "warmupEpochs} <= double({spec.training.epochs})",
     .cel_found = "a longer warm-up"},
    {{"spec.replicas.worker.replicas"},
     .allowed = "needed with spec.model: at least 1",
     .job = RULE_BUILTIN,
     .broken = broken_no_worker,
     .cel = CEL_WORKERS " > 0",
     .cel_found = "0"},
    {{"spec.replicas.chief.replicas"},
     .allowed = "allowed with spec.model: 0, for worker 0 leads",
     .job = RULE_BUILTIN,
     .broken = broken_chief,
     .cel = "{spec.replicas.chief.replicas} == 0",
     .cel_found = "1"},
    {{"spec.replicas.ps.replicas"},
     .allowed = "allowed with spec.model: 0, for parameter servers are not in this version",
     .job = RULE_BUILTIN,
     .broken = broken_servers,
     .cel = "{spec.replicas.ps.replicas} == 0",
     .cel_found = "[[4:{spec.replicas.ps.replicas}]]"},
    {{"spec.replicas.evaluator.replicas"},
     .allowed = "allowed with spec.model: 0, for the workers evaluate",
     .job = RULE_BUILTIN,
     .broken = broken_evaluator,
     .cel = "{spec.replicas.evaluator.replicas} == 0",
     .cel_found = "1"},
    {{"spec.replicas", "spec.replicas.worker.replicas", "spec.replicas.chief.replicas"},
     .allowed = "needed: at least one of them",
     .job = RULE_IMAGE,
     .broken = broken_nobody,
     .cel = CEL_WORKERS " + {spec.replicas.chief.replicas} > 0",
     .cel_found = "neither chief nor worker"},
    TEMPLATE_RULE("chief", broken_chief_template),
    TEMPLATE_RULE("worker", broken_worker_template),
    TEMPLATE_RULE("ps", broken_ps_template),
    TEMPLATE_RULE("evaluator", broken_evaluator_template),
    {{"spec.replicas.worker.replicas", "spec.replicas.worker.minReplicas"},
     .allowed = "allowed: at least minReplicas",
     .broken = broken_min_workers,
     .cel = "!{?spec.replicas.worker.minReplicas} || {spec.replicas.worker.minReplicas} "
            "<= " CEL_WORKERS,
     .cel_found =
         "[[4:" CEL_WORKERS "]] with minReplicas [[4:{spec.replicas.worker.minReplicas}]]"},
    {{"spec.replicas.worker.replicas", "spec.replicas.worker.maxReplicas"},
     .allowed = "allowed: at most maxReplicas",
     .broken = broken_max_workers,
     .cel = "!{?spec.replicas.worker.maxReplicas} || {spec.replicas.worker.maxReplicas} "
            ">= " CEL_WORKERS,
     .cel_found =
         "[[4:" CEL_WORKERS "]] with maxReplicas [[4:{spec.replicas.worker.maxReplicas}]]"},
    {{"spec.runPolicy.schedulingPolicy.minAvailable", "spec.replicas.worker.replicas",
      "spec.replicas.ps.replicas"},
     .allowed = "allowed: at most the number of pods",
     .broken = broken_min_available,
     .cel = "!{?" CEL_AVAILABLE "} || {" CEL_AVAILABLE "} <= " CEL_PODS,
     .cel_found = "[[4:{" CEL_AVAILABLE "}]] for [[4:" CEL_PODS "]] pods"},
    {{"spec.runPolicy.scalePolicy", "spec.runPolicy.schedulingPolicy.gang"},
     .allowed = "allowed with Kueue: Recreate, for its pod groups keep their size",
     .broken = broken_kueue_scale,
     .cel = "{spec.runPolicy.scalePolicy} != 'Dynamic' || "
            "{spec.runPolicy.schedulingPolicy.gang} != 'Kueue'",
     .cel_found = "Dynamic with gang Kueue"},
    {{"spec.training.threads", "spec.replicas.worker.replicas", "spec.training.lanes"},
     .allowed = "threads beyond the lanes have nothing to do where work is split by lane",
     .warning = true,
     .job = RULE_BUILTIN,
     .broken = broken_threads},
};
const size_t n_spec_rules = ARRAY_LEN(spec_rules);
