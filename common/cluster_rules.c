/* Rules on processes, pods and what the operator does with them. */
#include "common/spec_rules.h"

#include "paceline/json.h"
#include "paceline/mem.h"

#define CONTAINER_BARE "a container without a name or an image"

static bool broken_chief(const struct job *job, struct buf *found)
{
    return has_replicas(job, ROLE_CHIEF, found);
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

/* The template's pod spec; NULL if it has none. The caller frees it. */
static cJSON *template_spec(const char *template_)
{
    AUTO(auto_json) cJSON *root = NULL;
    struct err err;

    if (!template_ || json_parse(&root, template_, strlen(template_), "template", &err))
        return NULL;
    return cJSON_DetachItemFromObjectCaseSensitive(root, "spec");
}

/* The pod spec's list under this key, "containers" or "initContainers"; NULL if it has none. */
static const cJSON *container_list(const cJSON *spec, const char *key)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(spec, key);

    return cJSON_IsArray(list) && list->child ? list : NULL;
}

static bool broken_template(const struct job *job, enum cluster_role role, struct buf *found)
{
    const struct job_role *r = &job->replicas[role];
    AUTO(auto_json) cJSON *spec = r->replicas > 0 ? template_spec(r->template_) : NULL;

    buf_printf(found, "no container, and replicas: %lld", (long long)r->replicas);
    return r->replicas > 0 && !container_list(spec, "containers");
}

static bool broken_no_model(const struct job *job, struct buf *found)
{
    bool any = job->mpi.present;

    for (int i = 0; i < N_CLUSTER_ROLES; i++)
        any |= job->replicas[i].template_ != NULL;
    buf_puts(found, "nothing");
    return !any;
}

static bool has_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return text && *text;
}

static bool has_bare(const cJSON *list)
{
    const cJSON *c;

    cJSON_ArrayForEach(c, list)
    {
        if (!has_text(c, "name") || !has_text(c, "image"))
            return true;
    }
    return false;
}

/* With spec.model the first container has both by default. One rule asks for both lists, because
 * each rule parses the template. */
static bool broken_containers(const struct job *job, enum cluster_role role, struct buf *found)
{
    AUTO(auto_json) cJSON *spec = template_spec(job->replicas[role].template_);

    buf_puts(found, CONTAINER_BARE);
    return (!job_builtin(job) && has_bare(container_list(spec, "containers"))) ||
           has_bare(container_list(spec, "initContainers"));
}

static bool broken_worker_containers(const struct job *job, struct buf *found)
{
    return broken_containers(job, ROLE_WORKER, found);
}

static bool broken_chief_containers(const struct job *job, struct buf *found)
{
    return broken_containers(job, ROLE_CHIEF, found);
}

static bool broken_ps_containers(const struct job *job, struct buf *found)
{
    return broken_containers(job, ROLE_PS, found);
}

static bool broken_evaluator_containers(const struct job *job, struct buf *found)
{
    return broken_containers(job, ROLE_EVALUATOR, found);
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

static bool broken_mpi_model(const struct job *job, struct buf *found)
{
    buf_puts(found, "it beside spec.model");
    return job_builtin(job);
}

static bool broken_mpi_roles(const struct job *job, struct buf *found)
{
    const struct job_role *roles = job->replicas;

    buf_puts(found, "processes beside the workers");
    return roles[ROLE_CHIEF].replicas + roles[ROLE_PS].replicas + roles[ROLE_EVALUATOR].replicas >
           0;
}

static bool broken_mpi_scale(const struct job *job, struct buf *found)
{
    buf_puts(found, "Dynamic");
    return job->run_policy.scale == SCALE_DYNAMIC;
}

static bool broken_mpi_command(const struct job *job, struct buf *found)
{
    AUTO(auto_json) cJSON *spec = template_spec(job->replicas[ROLE_WORKER].template_);
    const cJSON *containers = container_list(spec, "containers");
    const cJSON *first = containers ? containers->child : NULL;
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(first, "command");

    buf_puts(found, "a first container without a command");
    return first && !(cJSON_IsArray(command) && command->child);
}

/* What the rules read, in CEL (spec_table.h). */
#define CEL_PODS                                                                       \
    "(" CEL_WORKERS " + {spec.replicas.chief.replicas} + {spec.replicas.ps.replicas} " \
    "+ {spec.replicas.evaluator.replicas})"
#define CEL_AVAILABLE "spec.runPolicy.schedulingPolicy.minAvailable"
#define CEL_WORKER_CONTAINERS "self.replicas.worker.template.spec.containers"
#define CEL_TEMPLATE(role)                                                                   \
    "{spec.replicas." role ".replicas} == 0 || ({?spec.replicas." role ".template} && "      \
    "has(self.replicas." role ".template.spec) && has(self.replicas." role ".template.spec." \
    "containers) && size(self.replicas." role ".template.spec.containers) > 0)"

#define TEMPLATE_RULE(role, check)                                                               \
    {                                                                                            \
        {"spec.replicas." role ".template", "spec.replicas." role ".replicas"},                  \
            .allowed = "needed without spec.model: a template with a container, or replicas: 0", \
            .job = RULE_IMAGE, .broken = (check), .cel = CEL_TEMPLATE(role),                     \
            .cel_found = "no container, and replicas: [[{spec.replicas." role ".replicas}]]"     \
    }

#define CEL_COMPLETE(list)                                               \
    "(!has(" list ") || " list                                           \
    ".all(c, has(c.name) && c.name != '' && has(c.image) && c.image != " \
    "''))"
#define CEL_CONTAINERS(role)                                                                 \
    "!{?spec.replicas." role ".template} || !has(self.replicas." role ".template.spec) || (" \
    "(has(self.model) || " CEL_COMPLETE(                                                     \
        "self.replicas." role                                                                \
        ".template.spec.containers") ") && " CEL_COMPLETE("self.replicas." role              \
                                                          ".template.spec.initContainers") ")"

#define CONTAINERS_RULE(role, check)                                                      \
    {                                                                                     \
        {"spec.replicas." role ".template"},                                              \
            .allowed = "needed: a name and an image in each init container and, without " \
                       "spec.model, in each container",                                   \
            .broken = (check), .cel = CEL_CONTAINERS(role), .cel_found = CONTAINER_BARE   \
    }

#define CEL_TEMPLATED(role) "{?spec.replicas." role ".template}"

static const struct rule rules[] = {
    {{"spec.model"},
     .allowed =
         "needed: a network, as {name: mlp} or {layers: [...]}; or, for a job of any image, a "
         "template in spec.replicas",
     .alone = true,
     .job = RULE_IMAGE,
     .broken = broken_no_model,
     .cel = "has(self.mpi) || " CEL_TEMPLATED("chief") " || " CEL_TEMPLATED(
         "worker") " || " CEL_TEMPLATED("ps") " || " CEL_TEMPLATED("evaluator"),
     .cel_found = "nothing"},
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
    CONTAINERS_RULE("chief", broken_chief_containers),
    CONTAINERS_RULE("worker", broken_worker_containers),
    CONTAINERS_RULE("ps", broken_ps_containers),
    CONTAINERS_RULE("evaluator", broken_evaluator_containers),
    {{"spec.mpi", "spec.model"},
     .allowed = "allowed: one of the two",
     .job = RULE_MPI,
     .broken = broken_mpi_model,
     .cel = "!has(self.model)",
     .cel_found = "it beside spec.model"},
    {{"spec.replicas.worker.replicas", "spec.mpi"},
     .allowed = "needed with spec.mpi: at least 1",
     .job = RULE_MPI,
     .broken = broken_no_worker,
     .cel = CEL_WORKERS " > 0",
     .cel_found = "0"},
    {{"spec.replicas", "spec.replicas.chief.replicas", "spec.replicas.ps.replicas"},
     .allowed = "allowed with spec.mpi: workers alone",
     .job = RULE_MPI,
     .broken = broken_mpi_roles,
     .cel = CEL_PODS " == " CEL_WORKERS,
     .cel_found = "processes beside the workers"},
    {{"spec.runPolicy.scalePolicy", "spec.mpi"},
     .allowed = "allowed with spec.mpi: Recreate, for an MPI world keeps its size",
     .job = RULE_MPI,
     .broken = broken_mpi_scale,
     .cel = "{spec.runPolicy.scalePolicy} != 'Dynamic'",
     .cel_found = "Dynamic"},
    {{"spec.replicas.worker.template", "spec.mpi"},
     .allowed = "needed with spec.mpi: its command, for what an image runs by itself is not known",
     .job = RULE_MPI,
     .broken = broken_mpi_command,
     .cel = "!{?spec.replicas.worker.template} || !has(self.replicas.worker.template.spec) || "
            "!has(" CEL_WORKER_CONTAINERS ") || size(" CEL_WORKER_CONTAINERS ") == 0 || "
            "(has(" CEL_WORKER_CONTAINERS "[0].command) && "
            "size(" CEL_WORKER_CONTAINERS "[0].command) > 0)",
     .cel_found = "a first container without a command"},
    {{"spec.replicas.worker.replicas", "spec.replicas.worker.minReplicas"},
     .allowed = "allowed: at least minReplicas",
     .broken = broken_min_workers,
     .cel = "!{?spec.replicas.worker.minReplicas} || {spec.replicas.worker.minReplicas} "
            "<= " CEL_WORKERS,
     .cel_found = "[[" CEL_WORKERS "]] with minReplicas [[{spec.replicas.worker.minReplicas}]]"},
    {{"spec.replicas.worker.replicas", "spec.replicas.worker.maxReplicas"},
     .allowed = "allowed: at most maxReplicas",
     .broken = broken_max_workers,
     .cel = "!{?spec.replicas.worker.maxReplicas} || {spec.replicas.worker.maxReplicas} "
            ">= " CEL_WORKERS,
     .cel_found = "[[" CEL_WORKERS "]] with maxReplicas [[{spec.replicas.worker.maxReplicas}]]"},
    {{"spec.runPolicy.schedulingPolicy.minAvailable", "spec.replicas.worker.replicas",
      "spec.replicas.ps.replicas"},
     .allowed = "allowed: at most the number of pods",
     .broken = broken_min_available,
     .cel = "!{?" CEL_AVAILABLE "} || {" CEL_AVAILABLE "} <= " CEL_PODS,
     .cel_found = "[[{" CEL_AVAILABLE "}]] for [[" CEL_PODS "]] pods"},
    {{"spec.runPolicy.scalePolicy", "spec.runPolicy.schedulingPolicy.gang"},
     .allowed = "allowed with Kueue: Recreate, for its pod groups keep their size",
     .broken = broken_kueue_scale,
     .cel = "{spec.runPolicy.scalePolicy} != 'Dynamic' || "
            "{spec.runPolicy.schedulingPolicy.gang} != 'Kueue'",
     .cel_found = "Dynamic with gang Kueue"},
};
const struct rule_list cluster_rules = {rules, ARRAY_LEN(rules)};
