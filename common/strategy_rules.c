/* Rules on how workers share the work. */
#include "common/spec_rules.h"

#include "paceline/mem.h"

/* What the rules read (rule_expr.h). */
#define NOT_SPLIT "{spec.strategy.type} != 'ModelParallel' || "
#define OR_SPLIT " || {spec.strategy.type} == 'ModelParallel'"
#define PLACEMENT "spec.strategy.layerPlacement"
#define MICRO_BATCHES "{spec.strategy.microBatches|1}"
#define MAX_STALENESS "{spec.strategy.maxStaleness|0}"
#define GROUPS "{spec.strategy.groups|0}"
#define BACKUPS "{spec.strategy.backupWorkers|0}"
#define KNOWS_SERVERS "{spec.strategy.type} in ['ParameterServer', 'StrategySwitch']"
#define PS "{spec.strategy.type} == 'ParameterServer'"
#define SHARDED "spec.training.optimizer.sharded"
#define ASYNC "({spec.strategy.type} == 'StrategySwitch' || {spec.strategy.mode|'sync'} != 'sync')"

/* Names the allowed numbers if there are few. */
static void describe_groups(const struct job *job, struct buf *found)
{
    const int64_t workers = job->replicas[ROLE_WORKER].replicas;

    buf_printf(found, "%lld for %lld workers, which ", (long long)job->strategy.groups,
               (long long)workers);
    for (int64_t i = 1; i < workers && i <= 16; i++)
        if (workers % i == 0)
            buf_printf(found, "%lld, ", (long long)i);
    buf_printf(found, "%s%lld divide", workers > 16 ? "..., " : "", (long long)workers);
}

static const struct rule rules[] = {
    {{"spec.training.batchSize", "spec.replicas.worker.replicas"},
     .allowed = "allowed: at least one sample per worker",
     .job = RULE_BUILTIN,
     .holds = BATCH " >= " WORKERS OR_SPLIT,
     .found = "a batch of [[" BATCH "]] for [[" WORKERS "]] workers"},
    {{"spec.replicas.worker.replicas", "spec.training.lanes", "spec.training.batchSize"},
     .allowed = "allowed: at most as many workers as lanes (training.lanes, by default at most "
                "batchSize/4)",
     .job = RULE_BUILTIN,
     .holds = WORKERS " <= {#lanes}" OR_SPLIT,
     .found = "[[" WORKERS "]] workers for [[{#lanes}]] lanes"},
    {{"spec.strategy.batch", "spec.training.accumulate", "spec.replicas.worker.replicas"},
     .allowed = "allowed: split with accumulate 1 or one worker, join with at most accumulate "
                "workers and backupWorkers",
     .job = RULE_BUILTIN,
     .holds = "({spec.strategy.batch} == 'join' ? {spec.training.accumulate} + " BACKUPS
              " >= " WORKERS " : {spec.training.accumulate} == 1 || " WORKERS " <= 1)" OR_SPLIT,
     .found = "[[" WORKERS "]] workers and [[{spec.training.accumulate}]] batches per "
              "update"},
    {{"spec.replicas.ps.replicas", "spec.strategy.type"},
     .allowed = "allowed with spec.model: 0, or strategy.type ParameterServer or StrategySwitch",
     .job = RULE_BUILTIN,
     .holds = "{spec.replicas.ps.replicas} == 0 || " KNOWS_SERVERS,
     .found = "[[{spec.replicas.ps.replicas}]]"},
    {{"spec.strategy.mode", "spec.replicas.ps.replicas"},
     .allowed = "needed for StrategySwitch and for groups: replicas.ps.replicas of at least 1",
     .job = RULE_BUILTIN,
     .holds = "!" ASYNC " || {spec.replicas.ps.replicas} > 0 || (" PS " && " GROUPS " == 0)",
     .found = "no servers"},
    {{"spec.strategy.maxStaleness", "spec.strategy.staleness"},
     .allowed = "allowed: 0, or at least strategy.staleness",
     .job = RULE_BUILTIN,
     .holds = MAX_STALENESS " == 0 || " MAX_STALENESS " >= {spec.strategy.staleness|3}",
     .found = "less than staleness"},
    {{"spec.strategy.groups", "spec.replicas.worker.replicas"},
     .allowed = "allowed: 0, or what divides replicas.worker.replicas",
     .job = RULE_BUILTIN,
     .holds = GROUPS " == 0 || " WORKERS " % " GROUPS " == 0",
     .found = "another number",
     .describe = describe_groups},
    {{"spec.strategy.mode", "spec.strategy.batch", "spec.training.accumulate"},
     .allowed = "allowed for async and bounded: batch split and accumulate 1, for each gradient is "
                "an update",
     .job = RULE_BUILTIN,
     .holds = "!" ASYNC " || ({spec.strategy.batch} == 'split' && {spec.training.accumulate} == "
              "1)",
     .found = "join, or several batches per update"},
    {{"spec.strategy.type", "spec.strategy.batch", "spec.training.accumulate"},
     .allowed =
         "allowed with LocalSGD and ElasticAveraging: batch split and accumulate 1, for each "
         "batch is a worker's update",
     .job = RULE_BUILTIN,
     .holds =
         "!({spec.strategy.type} in ['LocalSGD', 'ElasticAveraging']) || ({spec.strategy.batch} "
         "== 'split' && "
         "{spec.training.accumulate} == 1)",
     .found = "join, or several batches per update"},
    {{"spec.dataset.distribution.kind", "spec.strategy.type", "spec.strategy.mode"},
     .allowed = "needed but for dealt: LocalSGD, ElasticAveraging, or ParameterServer with mode "
                "async or bounded",
     .job = RULE_BUILTIN,
     .holds = "{spec.dataset.distribution.kind} == 'dealt' || {spec.strategy.type} in ['LocalSGD', "
              "'ElasticAveraging'] || (" PS " && {spec.strategy.mode|'sync'} != 'sync')",
     .found = "a strategy whose workers share batches"},
    {{"spec.strategy.elasticForce", "spec.replicas.worker.replicas"},
     .allowed = "allowed: at most 1 / workers, else the centre leaps beyond them",
     .job = RULE_BUILTIN,
     .holds = "{spec.strategy.elasticForce|0.0} * double(" WORKERS ") <= 1.0",
     .found = "more than its share for [[" WORKERS "]] workers"},
    {{"spec.strategy.backupWorkers", "spec.strategy.mode", "spec.replicas.ps.replicas",
      "spec.strategy.batch"},
     .allowed =
         "needed with backupWorkers: mode sync, replicas.ps.replicas of at least 1, batch join",
     .job = RULE_BUILTIN,
     .holds = BACKUPS " == 0 || (!" ASYNC " && {spec.replicas.ps.replicas} > 0 && "
                      "{spec.strategy.batch} == 'join')",
     .found = "some without mode sync, a server or batch join"},
    {{"spec.strategy.backupWorkers", "spec.replicas.worker.replicas"},
     .allowed = "allowed: fewer than workers",
     .job = RULE_BUILTIN,
     .holds = BACKUPS " == 0 || " BACKUPS " < " WORKERS,
     .found = "all workers, or more"},
    {{"spec.strategy.schedule", "spec.strategy.mode", "spec.replicas.ps.replicas",
      "spec.strategy.batch"},
     .allowed = "needed with oneAtATime and allAtOnce: ParameterServer, mode sync, "
                "replicas.ps.replicas of at least 1, batch join, no backupWorkers",
     .job = RULE_BUILTIN,
     .holds = "{spec.strategy.schedule} in ['overlap', 'end'] || ({spec.strategy.type} == "
              "'ParameterServer' && !" ASYNC " && " BACKUPS
              " == 0 && {spec.replicas.ps.replicas} > 0 && {spec.strategy.batch} == 'join')",
     .found = "one of servers"},
    {{"spec.debug.pushOrder", "spec.strategy.mode", "spec.replicas.ps.replicas"},
     .allowed = "allowed with strategy.mode async, with bounded and one server, or with "
                "backupWorkers, where gradients have an order",
     .job = RULE_BUILTIN,
     .holds =
         "!{?spec.debug.pushOrder} || (" ASYNC " && ({spec.strategy.mode|'async'} == 'async' || "
         "{spec.replicas.ps.replicas} == 1)) || " BACKUPS " > 0",
     .found = "another mode"},
    {{"spec.strategy.algorithm", "spec.debug.bandwidth", "spec.debug.latencySeconds"},
     .allowed = "allowed with debug.bandwidth or debug.latencySeconds: any but mpi, "
                "ModelParallel and groups, whose messages are not held back",
     .job = RULE_BUILTIN,
     .holds = "({spec.strategy.algorithm|'tree'} != 'mpi' && {spec.strategy.type} != "
              "'ModelParallel' && " GROUPS
              " == 0) || !({?spec.debug.bandwidth} || {spec.debug.latencySeconds} > 0.0)",
     .found = "mpi, ModelParallel or groups"},
    {{"spec.training.clipNorm", "spec.strategy.type"},
     .allowed = "allowed with ParameterServer and StrategySwitch: 0, for no server sees the whole "
                "gradient",
     .job = RULE_BUILTIN,
     .holds = "{spec.training.clipNorm} == 0.0 || !(" KNOWS_SERVERS ")",
     .found = "a norm"},
    {{"spec.strategy.type", "spec.strategy.batch", "spec.training.accumulate"},
     .allowed = "allowed with ModelParallel: batch split and accumulate 1, for each worker sees "
                "every batch",
     .job = RULE_BUILTIN,
     .holds = NOT_SPLIT "({spec.strategy.batch} == 'split' && {spec.training.accumulate} == 1)",
     .found = "join, or several batches per update"},
    {{"spec.training.clipNorm", "spec.strategy.type"},
     .allowed = "allowed with ModelParallel: 0, for no worker sees the whole gradient",
     .job = RULE_BUILTIN,
     .holds = NOT_SPLIT "{spec.training.clipNorm} == 0.0",
     .found = "a norm"},
    {{"spec.strategy.microBatches", "spec.training.lanes", "spec.training.batchSize"},
     .allowed = "allowed: a power of two, at most as many as lanes (training.lanes, by default at "
                "most batchSize/4)",
     .job = RULE_BUILTIN,
     .holds = NOT_SPLIT "(" MICRO_BATCHES " in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, "
                        "1024] && " MICRO_BATCHES " <= {#lanes})",
     .found = "[[" MICRO_BATCHES "]]"},
    {{"spec.replicas.worker.replicas", "spec.strategy.type", "spec.model.layers"},
     .allowed = "allowed with ModelParallel: at most as many workers as layers",
     .job = RULE_BUILTIN,
     .holds = NOT_SPLIT WORKERS " <= {#layers}",
     .found = "[[" WORKERS "]]"},
    {{"spec.strategy.layerPlacement", "spec.model.layers", "spec.model.hidden"},
     .allowed = "needed: one for each layer of the network, its worker",
     .job = RULE_BUILTIN,
     .holds = "!{?" PLACEMENT "} || size({" PLACEMENT "}) == {#layers}",
     .found = "[[size({" PLACEMENT "})]] entries"},
    {{"spec.strategy.layerPlacement", "spec.replicas.worker.replicas"},
     .allowed = "allowed: 0 to replicas.worker.replicas - 1",
     .job = RULE_BUILTIN,
     .holds = "!{?" PLACEMENT "} || {" PLACEMENT "}.all(w, w < " WORKERS ")",
     .found = "a worker that is not there"},
    {{"spec.strategy.mode", "spec.strategy.type"},
     .allowed = "allowed with StrategySwitch: async, bounded",
     .job = RULE_BUILTIN,
     .holds = "{spec.strategy.type} != 'StrategySwitch' || {spec.strategy.mode|'async'} != 'sync'",
     .found = "sync"},
    {{"spec.strategy.switch.epoch", "spec.training.epochs", "spec.strategy.switch"},
     .allowed = "needed: one before the switch and one after it",
     .job = RULE_BUILTIN,
     .holds = "{spec.strategy.type} != 'StrategySwitch' || {spec.training.steps} > 0 || "
              "{spec.strategy.switch.epoch|1} < {spec.training.epochs}",
     .found = "too few epochs"},
    {{"spec.strategy.switch.momentum", "spec.training.optimizer.name",
      "spec.training.optimizer.momentum"},
     .allowed = "allowed then: keep",
     .job = RULE_BUILTIN,
     .holds = "{spec.strategy.type} != 'StrategySwitch' || {spec.strategy.switch.momentum} == "
              "'keep' || ({" OPTIMIZER "name} == 'sgd' && " MOMENTUM " > 0.0) || {" OPTIMIZER
              "momentum|0.0} > 0.0",
     .found = "an optimiser without momentum"},
    {{SHARDED, "spec.strategy.type", "spec.strategy.algorithm", "spec.strategy.wire",
      "spec.training.clipNorm"},
     .allowed = "allowed: true with ParameterServer or AllReduce by tree, wire fp32, clipNorm 0; "
                "false without ParameterServer",
     .job = RULE_BUILTIN,
     .holds = "!{?" SHARDED "} || {" SHARDED "} == (" PS ") || ({spec.strategy.type} == "
              "'AllReduce' && {spec.strategy.algorithm|'tree'} == 'tree' && "
              "{spec.strategy.wire|'fp32'} == 'fp32' && {spec.training.clipNorm} == 0.0)",
     .found = "what the strategy cannot do"},
    {{"spec.training.threads", "spec.replicas.worker.replicas", "spec.training.lanes"},
     .allowed = "threads beyond the lanes have nothing to do where work is split by lane",
     .warning = true,
     .job = RULE_BUILTIN,
     .holds = WORKERS " * {spec.training.threads} <= {#lanes}",
     .found = "[[" WORKERS "]] workers of [[{spec.training.threads}]] threads for [[{#lanes}]] "
              "lanes"},
};
const struct rule_list strategy_rules = {rules, ARRAY_LEN(rules)};
