/* Rules on processes, pods and what the operator does with them. */
#include "common/spec_rules.h"

#include "paceline/mem.h"

/* What the rules read (rule_expr.h). */
#define PODS                                                                       \
    "(" WORKERS " + {spec.replicas.chief.replicas} + {spec.replicas.ps.replicas} " \
    "+ {spec.replicas.evaluator.replicas})"
#define AVAILABLE "spec.runPolicy.schedulingPolicy.minAvailable"
#define TEMPLATE(role) "spec.replicas." role ".template"
#define POD(role) "{" TEMPLATE(role) "}.spec"
#define FIRST POD("worker") ".containers[0]"

#define TEMPLATE_RULE(role)                                                                      \
    {                                                                                            \
        {TEMPLATE(role), "spec.replicas." role ".replicas"},                                     \
            .allowed = "needed without spec.model: a template with a container, or replicas: 0", \
            .job = RULE_IMAGE,                                                                   \
            .holds =                                                                             \
                "{spec.replicas." role                                                           \
                ".replicas} == 0 || ({?" TEMPLATE(role) "} && has(" POD(role) ") && has(" POD(   \
                    role) ".containers) && size(" POD(role) ".containers) > 0)",                 \
            .found = "no container, and replicas: [[{spec.replicas." role ".replicas}]]"         \
    }

#define COMPLETE(list)         \
    "(!has(" list ") || " list \
    ".all(c, has(c.name) && size(c.name) > 0 && has(c.image) && size(c.image) > 0))"
#define CONTAINERS_RULE(role)                                                                    \
    {                                                                                            \
        {TEMPLATE(role)},                                                                        \
            .allowed = "needed: a name and an image in each init container and, without "        \
                       "spec.model, in each container",                                          \
            .holds =                                                                             \
                "!{?" TEMPLATE(role) "} || !has(" POD(role) ") || (({?spec.model} || " COMPLETE( \
                    POD(role) ".containers") ") && " COMPLETE(POD(role) ".initContainers") ")",  \
            .found = "a container without a name or an image"                                    \
    }

static const struct rule rules[] = {
    {{"spec.model"},
     .allowed =
         "needed: a network, as {name: mlp} or {layers: [...]}; or, for a job of any image, a "
         "template in spec.replicas",
     .alone = true,
     .job = RULE_IMAGE,
     .holds = "{?spec.mpi} || {?" TEMPLATE("chief") "} || {?" TEMPLATE("worker") "} || {?" TEMPLATE(
         "ps") "} || {?" TEMPLATE("evaluator") "}",
     .found = "nothing"},
    {{"spec.replicas.worker.replicas"},
     .allowed = "needed with spec.model: at least 1",
     .job = RULE_BUILTIN,
     .holds = WORKERS " > 0",
     .found = "0"},
    {{"spec.replicas.chief.replicas"},
     .allowed = "allowed with spec.model: 0, for worker 0 leads",
     .job = RULE_BUILTIN,
     .holds = "{spec.replicas.chief.replicas} == 0",
     .found = "1"},
    {{"spec.replicas.evaluator.replicas"},
     .allowed = "allowed with spec.model: 0, for the workers evaluate",
     .job = RULE_BUILTIN,
     .holds = "{spec.replicas.evaluator.replicas} == 0",
     .found = "1"},
    {{"spec.replicas", "spec.replicas.worker.replicas", "spec.replicas.chief.replicas"},
     .allowed = "needed: at least one of them",
     .job = RULE_IMAGE,
     .holds = WORKERS " + {spec.replicas.chief.replicas} > 0",
     .found = "neither chief nor worker"},
    TEMPLATE_RULE("chief"),
    TEMPLATE_RULE("worker"),
    TEMPLATE_RULE("ps"),
    TEMPLATE_RULE("evaluator"),
    CONTAINERS_RULE("chief"),
    CONTAINERS_RULE("worker"),
    CONTAINERS_RULE("ps"),
    CONTAINERS_RULE("evaluator"),
    {{"spec.mpi", "spec.model"},
     .allowed = "allowed: one of the two",
     .job = RULE_MPI,
     .holds = "!{?spec.model}",
     .found = "it beside spec.model"},
    {{"spec.replicas.worker.replicas", "spec.mpi"},
     .allowed = "needed with spec.mpi: at least 1",
     .job = RULE_MPI,
     .holds = WORKERS " > 0",
     .found = "0"},
    {{"spec.replicas", "spec.replicas.chief.replicas", "spec.replicas.ps.replicas"},
     .allowed = "allowed with spec.mpi: workers alone",
     .job = RULE_MPI,
     .holds = PODS " == " WORKERS,
     .found = "processes beside the workers"},
    {{"spec.runPolicy.scalePolicy", "spec.mpi"},
     .allowed = "allowed with spec.mpi: Recreate, for an MPI world keeps its size",
     .job = RULE_MPI,
     .holds = "{spec.runPolicy.scalePolicy} != 'Dynamic'",
     .found = "Dynamic"},
    {{"spec.replicas.worker.template", "spec.mpi"},
     .allowed = "needed with spec.mpi: its command, for what an image runs by itself is not known",
     .job = RULE_MPI,
     .holds = "!{?" TEMPLATE("worker") "} || !has(" POD("worker") ") || !has(" POD(
         "worker") ".containers) || size(" POD("worker") ".containers) == 0 || (has(" FIRST
                                                         ".command) && size(" FIRST
                                                         ".command) > 0)",
     .found = "a first container without a command"},
    {{"spec.replicas.worker.replicas", "spec.replicas.worker.minReplicas"},
     .allowed = "allowed: at least minReplicas",
     .holds = "!{?spec.replicas.worker.minReplicas} || {spec.replicas.worker.minReplicas} "
              "<= " WORKERS,
     .found = "[[" WORKERS "]] with minReplicas [[{spec.replicas.worker.minReplicas}]]"},
    {{"spec.replicas.worker.replicas", "spec.replicas.worker.maxReplicas"},
     .allowed = "allowed: at most maxReplicas",
     .holds = "!{?spec.replicas.worker.maxReplicas} || {spec.replicas.worker.maxReplicas} "
              ">= " WORKERS,
     .found = "[[" WORKERS "]] with maxReplicas [[{spec.replicas.worker.maxReplicas}]]"},
    {{"spec.runPolicy.schedulingPolicy.minAvailable", "spec.replicas.worker.replicas",
      "spec.replicas.ps.replicas"},
     .allowed = "allowed: at most the number of pods",
     .holds = "!{?" AVAILABLE "} || {" AVAILABLE "} <= " PODS,
     .found = "[[{" AVAILABLE "}]] for [[" PODS "]] pods"},
    {{"spec.runPolicy.scalePolicy", "spec.runPolicy.schedulingPolicy.gang"},
     .allowed = "allowed with Kueue: Recreate, for its pod groups keep their size",
     .holds = "{spec.runPolicy.scalePolicy} != 'Dynamic' || "
              "{spec.runPolicy.schedulingPolicy.gang} != 'Kueue'",
     .found = "Dynamic with gang Kueue"},
};
const struct rule_list cluster_rules = {rules, ARRAY_LEN(rules)};
