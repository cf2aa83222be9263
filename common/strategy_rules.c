/* Rules on how workers share the work. */
#include "common/spec_rules.h"

#include "paceline/mem.h"

static bool is_split(const struct job *job)
{
    return job->strategy.type == STRATEGY_MODEL_PARALLEL;
}

static bool broken_batch_workers(const struct job *job, struct buf *found)
{
    buf_printf(found, "a batch of %lld for %lld workers", (long long)job->training.batch_size,
               (long long)job->replicas[ROLE_WORKER].replicas);
    return !is_split(job) && job->training.batch_size < job->replicas[ROLE_WORKER].replicas;
}

static bool broken_lanes_workers(const struct job *job, struct buf *found)
{
    buf_printf(found, "%lld workers for %d lanes", (long long)job->replicas[ROLE_WORKER].replicas,
               job_lanes(job));
    return !is_split(job) && job->replicas[ROLE_WORKER].replicas > job_lanes(job);
}

/* strategy.backupWorkers, where it belongs. */
static int64_t backups(const struct job *job)
{
    return job->strategy.backup_workers > 0 ? job->strategy.backup_workers : 0;
}

static bool broken_batch_sharing(const struct job *job, struct buf *found)
{
    int64_t workers = job->replicas[ROLE_WORKER].replicas, batches = job->training.accumulate;
    bool join = job->strategy.batch == BATCH_JOIN;

    buf_printf(found, "%lld workers and %lld batches per update", (long long)workers,
               (long long)batches);
    return !is_split(job) && (join ? batches + backups(job) < workers : batches > 1 && workers > 1);
}

static bool knows_servers(const struct job *job)
{
    return job->strategy.type == STRATEGY_PARAMETER_SERVER || job->strategy.type == STRATEGY_SWITCH;
}

static bool broken_servers(const struct job *job, struct buf *found)
{
    return has_replicas(job, ROLE_PS, found) && !knows_servers(job);
}

/* StrategySwitch is, in one of its phases. */
static bool is_async(const struct job *job)
{
    return job->strategy.type == STRATEGY_SWITCH ||
           (job->strategy.type == STRATEGY_PARAMETER_SERVER && job->strategy.mode != MODE_SYNC);
}

static bool broken_switch_mode(const struct job *job, struct buf *found)
{
    buf_puts(found, "sync");
    return job->strategy.type == STRATEGY_SWITCH && job->strategy.mode == MODE_SYNC;
}

static bool broken_switch_epoch(const struct job *job, struct buf *found)
{
    int64_t before = job->strategy.change.epoch;

    buf_puts(found, "too few epochs");
    return job->strategy.type == STRATEGY_SWITCH && job->training.steps == 0 &&
           (before < 1 ? 1 : before) >= job->training.epochs;
}

static bool broken_switch_momentum(const struct job *job, struct buf *found)
{
    buf_puts(found, "an optimiser without momentum");
    return job->strategy.type == STRATEGY_SWITCH &&
           job->strategy.change.momentum != MOMENTUM_KEEP &&
           !(job->training.optimizer.momentum > 0);
}

/* Elsewhere the workers are servers as well; groups and the other part of a switch wait for each
 * other without looking at who wants what. */
static bool broken_async_servers(const struct job *job, struct buf *found)
{
    buf_puts(found, "no servers");
    return is_async(job) && job->replicas[ROLE_PS].replicas == 0 &&
           (job->strategy.type == STRATEGY_SWITCH || job->strategy.groups > 0);
}

static bool broken_staleness(const struct job *job, struct buf *found)
{
    const int64_t low = job->strategy.staleness, high = job->strategy.max_staleness;

    buf_puts(found, "less than staleness");
    return high > 0 && high < low;
}

/* The message names the allowed numbers if there are few. */
static bool broken_groups(const struct job *job, struct buf *found)
{
    const int64_t groups = job->strategy.groups > 0 ? job->strategy.groups : 0;
    const int64_t workers = job->replicas[ROLE_WORKER].replicas;

    if (groups == 0 || workers % groups == 0)
        return false;
    buf_printf(found, "%lld for %lld workers, which ", (long long)groups, (long long)workers);
    for (int64_t i = 1; i < workers && i <= 16; i++)
        if (workers % i == 0)
            buf_printf(found, "%lld, ", (long long)i);
    buf_printf(found, "%s%lld divide", workers > 16 ? "..., " : "", (long long)workers);
    return true;
}

static bool broken_async_batch(const struct job *job, struct buf *found)
{
    buf_puts(found, "join, or several batches per update");
    return is_async(job) && (job->strategy.batch == BATCH_JOIN || job->training.accumulate != 1);
}

/* Workers update weights of their own. */
static bool is_local(const struct job *job)
{
    return job->strategy.type == STRATEGY_LOCAL_SGD ||
           job->strategy.type == STRATEGY_ELASTIC_AVERAGING;
}

static bool broken_local_batch(const struct job *job, struct buf *found)
{
    buf_puts(found, "join, or several batches per update");
    return is_local(job) && (job->strategy.batch == BATCH_JOIN || job->training.accumulate != 1);
}

/* Asynchronous servers, not those of a switch, who take turns with workers that share a batch. */
static bool broken_distribution(const struct job *job, struct buf *found)
{
    const bool servers = job->strategy.type == STRATEGY_PARAMETER_SERVER && is_async(job);

    buf_puts(found, "a strategy whose workers share batches");
    return job->dataset.distribution.kind != DISTRIBUTION_DEALT && !is_local(job) && !servers;
}

static bool broken_force(const struct job *job, struct buf *found)
{
    const int64_t workers = job->replicas[ROLE_WORKER].replicas;

    buf_printf(found, "more than its share for %lld workers", (long long)workers);
    return job->strategy.elastic_force * (double)workers > 1;
}

static bool broken_backup_kind(const struct job *job, struct buf *found)
{
    buf_puts(found, "some without mode sync, a server or batch join");
    return backups(job) && (is_async(job) || job->replicas[ROLE_PS].replicas == 0 ||
                            job->strategy.batch != BATCH_JOIN);
}

/* Study 003's schedules of a central server. */
static bool is_forced(const struct job *job)
{
    return job->strategy.schedule >= COMM_ONE_AT_A_TIME;
}

static bool broken_schedule(const struct job *job, struct buf *found)
{
    buf_puts(found, "one of servers");
    return is_forced(job) &&
           (job->strategy.type != STRATEGY_PARAMETER_SERVER || is_async(job) || backups(job) ||
            job->replicas[ROLE_PS].replicas == 0 || job->strategy.batch != BATCH_JOIN);
}

static bool broken_backups(const struct job *job, struct buf *found)
{
    buf_puts(found, "all workers, or more");
    return backups(job) && backups(job) >= job->replicas[ROLE_WORKER].replicas;
}

/* What MPI_Allreduce sends is not ours to hold back; what a split network's pipe and groups send is
 * not held. */
static bool broken_simulated(const struct job *job, struct buf *found)
{
    buf_puts(found, "mpi, ModelParallel or groups");
    return (job->strategy.algorithm == ALGO_MPI || is_split(job) || job->strategy.groups > 0) &&
           (job->debug.bandwidth > 0 || job->debug.latency_seconds > 0);
}

static bool broken_push_order(const struct job *job, struct buf *found)
{
    buf_puts(found, "another mode");
    return job->debug.n_push_order && backups(job) == 0 &&
           !(is_async(job) &&
             (job->strategy.mode == MODE_ASYNC || job->replicas[ROLE_PS].replicas == 1));
}

static bool broken_split_batch(const struct job *job, struct buf *found)
{
    buf_puts(found, "join, or several batches per update");
    return is_split(job) && (job->strategy.batch == BATCH_JOIN || job->training.accumulate != 1);
}

static bool broken_split_clip(const struct job *job, struct buf *found)
{
    buf_puts(found, "a norm");
    return is_split(job) && job->training.clip_norm > 0;
}

static bool broken_micro_batches(const struct job *job, struct buf *found)
{
    int64_t n = job->strategy.micro_batches;

    buf_printf(found, "%lld", (long long)n);
    return is_split(job) && ((n & (n - 1)) != 0 || n > job_lanes(job));
}

/* The layers of the job's network. */
static size_t layers_of(const struct job *job)
{
    AUTO(layer_list_release) struct layer_list list = {0};

    job_layers(job, 0, &list);
    return list.n;
}

static bool broken_split_workers(const struct job *job, struct buf *found)
{
    int64_t workers = job->replicas[ROLE_WORKER].replicas;

    buf_printf(found, "%lld", (long long)workers);
    return is_split(job) && workers > (int64_t)layers_of(job);
}

static bool broken_placement_length(const struct job *job, struct buf *found)
{
    size_t n = job->strategy.n_layer_placement;

    buf_printf(found, "%zu entries", n);
    return n && n != layers_of(job);
}

static bool broken_placement_worker(const struct job *job, struct buf *found)
{
    const int64_t workers = job->replicas[ROLE_WORKER].replicas;

    buf_puts(found, "a worker that is not there");
    for (size_t i = 0; i < job->strategy.n_layer_placement; i++)
        if (job->strategy.layer_placement[i] >= workers)
            return true;
    return false;
}

static bool broken_clip(const struct job *job, struct buf *found)
{
    buf_puts(found, "a norm");
    return job->training.clip_norm > 0 && knows_servers(job);
}

static bool broken_sharded(const struct job *job, struct buf *found)
{
    const int sharded = job->training.optimizer.sharded;

    buf_puts(found, "what the strategy cannot do");
    return sharded >= 0 && (sharded > 0) != job_shards(job);
}

static bool broken_threads(const struct job *job, struct buf *found)
{
    buf_printf(found, "%lld workers of %lld threads for %d lanes",
               (long long)job->replicas[ROLE_WORKER].replicas, (long long)job->training.threads,
               job_lanes(job));
    return job->replicas[ROLE_WORKER].replicas * job->training.threads > job_lanes(job);
}

/* What the rules read, in CEL (spec_table.h). */
#define CEL_LANES                                                                           \
    "({spec.training.lanes} > 0 ? {spec.training.lanes} : [64, 32, 16, 8, 4, 2, 1].filter(" \
    "n, n == 1 || 4 * n <= " CEL_BATCH ")[0])"
#define CEL_NOT_SPLIT "{spec.strategy.type} != 'ModelParallel' || "
#define CEL_OR_SPLIT " || {spec.strategy.type} == 'ModelParallel'"
/* Those of the built-in networks are written out; of none: 0. */
#define CEL_LAYERS                                                                             \
    "(has(self.model.layers) ? size(self.model.layers) : has(self.model.hidden) ? 2 * "        \
    "size(self.model.hidden) + 2 : {{'': 0, 'fashion-cnn': 11, 'mnist-cnn': 11, 'mlp': 6, "    \
    "'resnet20': 70, 'resnet50': 175, 'resnet56': 196, 'resnet56v2': 188, 'densenet40': 157, " \
    "'resnet34': 124, 'resnet34-zerofill': 124, 'squeezenet': 65, 'googlenet': 157, "          \
    "'vgg16e': 43, 'multimodal': 29, 'ptb-small': 4, 'ptb-medium': 7, "                        \
    "'ptb-large': 7}}[{spec.model.name|''}])"
#define CEL_PLACEMENT "spec.strategy.layerPlacement"
#define CEL_MICRO_BATCHES "{spec.strategy.microBatches|1}"
#define CEL_MAX_STALENESS "{spec.strategy.maxStaleness|0}"
#define CEL_GROUPS "{spec.strategy.groups|0}"
#define CEL_BACKUPS "{spec.strategy.backupWorkers|0}"
#define CEL_KNOWS_SERVERS "{spec.strategy.type} in ['ParameterServer', 'StrategySwitch']"
#define CEL_PS "{spec.strategy.type} == 'ParameterServer'"
#define SHARDED "spec.training.optimizer.sharded"
#define CEL_ASYNC \
    "({spec.strategy.type} == 'StrategySwitch' || {spec.strategy.mode|'sync'} != 'sync')"

static const struct rule rules[] = {
    {{"spec.training.batchSize", "spec.replicas.worker.replicas"},
     .allowed = "allowed: at least one sample per worker",
     .job = RULE_BUILTIN,
     .broken = broken_batch_workers,
     .cel = CEL_BATCH " >= " CEL_WORKERS CEL_OR_SPLIT,
     .cel_found = "a batch of [[" CEL_BATCH "]] for [[" CEL_WORKERS "]] workers"},
    {{"spec.replicas.worker.replicas", "spec.training.lanes", "spec.training.batchSize"},
     .allowed = "allowed: at most as many workers as lanes (training.lanes, by default at most "
                "batchSize/4)",
     .job = RULE_BUILTIN,
     .broken = broken_lanes_workers,
     .cel = CEL_WORKERS " <= " CEL_LANES CEL_OR_SPLIT,
     .cel_found = "[[" CEL_WORKERS "]] workers for [[" CEL_LANES "]] lanes"},
    {{"spec.strategy.batch", "spec.training.accumulate", "spec.replicas.worker.replicas"},
     .allowed = "allowed: split with accumulate 1 or one worker, join with at most accumulate "
                "workers and backupWorkers",
     .job = RULE_BUILTIN,
     .broken = broken_batch_sharing,
     .cel = "({spec.strategy.batch} == 'join' ? {spec.training.accumulate} + " CEL_BACKUPS
            " >= " CEL_WORKERS " : {spec.training.accumulate} == 1 || " CEL_WORKERS
            " <= 1)" CEL_OR_SPLIT,
     .cel_found = "[[" CEL_WORKERS "]] workers and [[{spec.training.accumulate}]] batches per "
                  "update"},
    {{"spec.replicas.ps.replicas", "spec.strategy.type"},
     .allowed = "allowed with spec.model: 0, or strategy.type ParameterServer or StrategySwitch",
     .job = RULE_BUILTIN,
     .broken = broken_servers,
     .cel = "{spec.replicas.ps.replicas} == 0 || " CEL_KNOWS_SERVERS,
     .cel_found = "[[{spec.replicas.ps.replicas}]]"},
    {{"spec.strategy.mode", "spec.replicas.ps.replicas"},
     .allowed = "needed for StrategySwitch and for groups: replicas.ps.replicas of at least 1",
     .job = RULE_BUILTIN,
     .broken = broken_async_servers,
     .cel =
         "!" CEL_ASYNC " || {spec.replicas.ps.replicas} > 0 || (" CEL_PS " && " CEL_GROUPS " == 0)",
     .cel_found = "no servers"},
    {{"spec.strategy.maxStaleness", "spec.strategy.staleness"},
     .allowed = "allowed: 0, or at least strategy.staleness",
     .job = RULE_BUILTIN,
     .broken = broken_staleness,
     .cel = CEL_MAX_STALENESS " == 0 || " CEL_MAX_STALENESS " >= {spec.strategy.staleness|3}",
     .cel_found = "less than staleness"},
    {{"spec.strategy.groups", "spec.replicas.worker.replicas"},
     .allowed = "allowed: 0, or what divides replicas.worker.replicas",
     .job = RULE_BUILTIN,
     .broken = broken_groups,
     .cel = CEL_GROUPS " == 0 || " CEL_WORKERS " % " CEL_GROUPS " == 0",
     .cel_found = "another number"},
    {{"spec.strategy.mode", "spec.strategy.batch", "spec.training.accumulate"},
     .allowed = "allowed for async and bounded: batch split and accumulate 1, for each gradient is "
                "an update",
     .job = RULE_BUILTIN,
     .broken = broken_async_batch,
     .cel = "!" CEL_ASYNC " || ({spec.strategy.batch} == 'split' && {spec.training.accumulate} == "
            "1)",
     .cel_found = "join, or several batches per update"},
    {{"spec.strategy.type", "spec.strategy.batch", "spec.training.accumulate"},
     .allowed =
         "allowed with LocalSGD and ElasticAveraging: batch split and accumulate 1, for each "
         "batch is a worker's update",
     .job = RULE_BUILTIN,
     .broken = broken_local_batch,
     .cel = "!({spec.strategy.type} in ['LocalSGD', 'ElasticAveraging']) || ({spec.strategy.batch} "
            "== 'split' && "
            "{spec.training.accumulate} == 1)",
     .cel_found = "join, or several batches per update"},
    {{"spec.dataset.distribution.kind", "spec.strategy.type", "spec.strategy.mode"},
     .allowed = "needed but for dealt: LocalSGD, ElasticAveraging, or ParameterServer with mode "
                "async or bounded",
     .job = RULE_BUILTIN,
     .broken = broken_distribution,
     .cel = "{spec.dataset.distribution.kind} == 'dealt' || {spec.strategy.type} in ['LocalSGD', "
            "'ElasticAveraging'] || (" CEL_PS " && {spec.strategy.mode|'sync'} != 'sync')",
     .cel_found = "a strategy whose workers share batches"},
    {{"spec.strategy.elasticForce", "spec.replicas.worker.replicas"},
     .allowed = "allowed: at most 1 / workers, else the centre leaps beyond them",
     .job = RULE_BUILTIN,
     .broken = broken_force,
     .cel = "{spec.strategy.elasticForce|0.0} * double(" CEL_WORKERS ") <= 1.0",
     .cel_found = "more than its share for [[" CEL_WORKERS "]] workers"},
    {{"spec.strategy.backupWorkers", "spec.strategy.mode", "spec.replicas.ps.replicas",
      "spec.strategy.batch"},
     .allowed =
         "needed with backupWorkers: mode sync, replicas.ps.replicas of at least 1, batch join",
     .job = RULE_BUILTIN,
     .broken = broken_backup_kind,
     .cel = CEL_BACKUPS " == 0 || (!" CEL_ASYNC " && {spec.replicas.ps.replicas} > 0 && "
                        "{spec.strategy.batch} == 'join')",
     .cel_found = "some without mode sync, a server or batch join"},
    {{"spec.strategy.backupWorkers", "spec.replicas.worker.replicas"},
     .allowed = "allowed: fewer than workers",
     .job = RULE_BUILTIN,
     .broken = broken_backups,
     .cel = CEL_BACKUPS " == 0 || " CEL_BACKUPS " < " CEL_WORKERS,
     .cel_found = "all workers, or more"},
    {{"spec.strategy.schedule", "spec.strategy.mode", "spec.replicas.ps.replicas",
      "spec.strategy.batch"},
     .allowed = "needed with oneAtATime and allAtOnce: ParameterServer, mode sync, "
                "replicas.ps.replicas of at least 1, batch join, no backupWorkers",
     .job = RULE_BUILTIN,
     .broken = broken_schedule,
     .cel = "{spec.strategy.schedule} in ['overlap', 'end'] || ({spec.strategy.type} == "
            "'ParameterServer' && !" CEL_ASYNC " && " CEL_BACKUPS
            " == 0 && {spec.replicas.ps.replicas} > 0 && {spec.strategy.batch} == 'join')",
     .cel_found = "one of servers"},
    {{"spec.debug.pushOrder", "spec.strategy.mode", "spec.replicas.ps.replicas"},
     .allowed = "allowed with strategy.mode async, with bounded and one server, or with "
                "backupWorkers, where gradients have an order",
     .job = RULE_BUILTIN,
     .broken = broken_push_order,
     .cel = "!{?spec.debug.pushOrder} || (" CEL_ASYNC
            " && ({spec.strategy.mode|'async'} == 'async' || "
            "{spec.replicas.ps.replicas} == 1)) || " CEL_BACKUPS " > 0",
     .cel_found = "another mode"},
    {{"spec.strategy.algorithm", "spec.debug.bandwidth", "spec.debug.latencySeconds"},
     .allowed = "allowed with debug.bandwidth or debug.latencySeconds: any but mpi, "
                "ModelParallel and groups, whose messages are not held back",
     .job = RULE_BUILTIN,
     .broken = broken_simulated,
     .cel = "({spec.strategy.algorithm|'tree'} != 'mpi' && {spec.strategy.type} != "
            "'ModelParallel' && " CEL_GROUPS
            " == 0) || !({?spec.debug.bandwidth} || {spec.debug.latencySeconds} > 0.0)",
     .cel_found = "mpi, ModelParallel or groups"},
    {{"spec.training.clipNorm", "spec.strategy.type"},
     .allowed = "allowed with ParameterServer and StrategySwitch: 0, for no server sees the whole "
                "gradient",
     .job = RULE_BUILTIN,
     .broken = broken_clip,
     .cel = "{spec.training.clipNorm} == 0.0 || !(" CEL_KNOWS_SERVERS ")",
     .cel_found = "a norm"},
    {{"spec.strategy.type", "spec.strategy.batch", "spec.training.accumulate"},
     .allowed = "allowed with ModelParallel: batch split and accumulate 1, for each worker sees "
                "every batch",
     .job = RULE_BUILTIN,
     .broken = broken_split_batch,
     .cel = CEL_NOT_SPLIT "({spec.strategy.batch} == 'split' && {spec.training.accumulate} == 1)",
     .cel_found = "join, or several batches per update"},
    {{"spec.training.clipNorm", "spec.strategy.type"},
     .allowed = "allowed with ModelParallel: 0, for no worker sees the whole gradient",
     .job = RULE_BUILTIN,
     .broken = broken_split_clip,
     .cel = CEL_NOT_SPLIT "{spec.training.clipNorm} == 0.0",
     .cel_found = "a norm"},
    {{"spec.strategy.microBatches", "spec.training.lanes", "spec.training.batchSize"},
     .allowed = "allowed: a power of two, at most as many as lanes (training.lanes, by default at "
                "most batchSize/4)",
     .job = RULE_BUILTIN,
     .broken = broken_micro_batches,
     .cel = CEL_NOT_SPLIT "(" CEL_MICRO_BATCHES " in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, "
                          "1024] && " CEL_MICRO_BATCHES " <= " CEL_LANES ")",
     .cel_found = "[[" CEL_MICRO_BATCHES "]]"},
    {{"spec.replicas.worker.replicas", "spec.strategy.type", "spec.model.layers"},
     .allowed = "allowed with ModelParallel: at most as many workers as layers",
     .job = RULE_BUILTIN,
     .broken = broken_split_workers,
     .cel = CEL_NOT_SPLIT CEL_WORKERS " <= " CEL_LAYERS,
     .cel_found = "[[" CEL_WORKERS "]]"},
    {{"spec.strategy.layerPlacement", "spec.model.layers", "spec.model.hidden"},
     .allowed = "needed: one for each layer of the network, its worker",
     .job = RULE_BUILTIN,
     .broken = broken_placement_length,
     .cel = "!{?" CEL_PLACEMENT "} || size({" CEL_PLACEMENT "}) == " CEL_LAYERS,
     .cel_found = "[[size({" CEL_PLACEMENT "})]] entries"},
    {{"spec.strategy.layerPlacement", "spec.replicas.worker.replicas"},
     .allowed = "allowed: 0 to replicas.worker.replicas - 1",
     .job = RULE_BUILTIN,
     .broken = broken_placement_worker,
     .cel = "!{?" CEL_PLACEMENT "} || {" CEL_PLACEMENT "}.all(w, w < " CEL_WORKERS ")",
     .cel_found = "a worker that is not there"},
    {{"spec.strategy.mode", "spec.strategy.type"},
     .allowed = "allowed with StrategySwitch: async, bounded",
     .job = RULE_BUILTIN,
     .broken = broken_switch_mode,
     .cel = "{spec.strategy.type} != 'StrategySwitch' || {spec.strategy.mode|'async'} != 'sync'",
     .cel_found = "sync"},
    {{"spec.strategy.switch.epoch", "spec.training.epochs", "spec.strategy.switch"},
     .allowed = "needed: one before the switch and one after it",
     .job = RULE_BUILTIN,
     .broken = broken_switch_epoch,
     .cel = "!{?spec.strategy.switch} || {spec.training.steps} > 0 || "
            "{spec.strategy.switch.epoch|1} < {spec.training.epochs}",
     .cel_found = "too few epochs"},
    {{"spec.strategy.switch.momentum", "spec.training.optimizer.name",
      "spec.training.optimizer.momentum"},
     .allowed = "allowed then: keep",
     .job = RULE_BUILTIN,
     .broken = broken_switch_momentum,
     .cel = "{spec.strategy.switch.momentum} == 'keep' || ({" CEL_OPTIMIZER
            "name} == 'sgd' && " CEL_MOMENTUM " > 0.0) || {" CEL_OPTIMIZER "momentum|0.0} > 0.0",
     .cel_found = "an optimiser without momentum"},
    {{SHARDED, "spec.strategy.type", "spec.strategy.algorithm", "spec.strategy.wire",
      "spec.training.clipNorm"},
     .allowed = "allowed: true with ParameterServer or AllReduce by tree, wire fp32, clipNorm 0; "
                "false without ParameterServer",
     .job = RULE_BUILTIN,
     .broken = broken_sharded,
     .cel = "!{?" SHARDED "} || {" SHARDED "} == (" CEL_PS ") || ({spec.strategy.type} == "
            "'AllReduce' && {spec.strategy.algorithm|'tree'} == 'tree' && "
            "{spec.strategy.wire|'fp32'} == 'fp32' && {spec.training.clipNorm} == 0.0)",
     .cel_found = "what the strategy cannot do"},
    {{"spec.training.threads", "spec.replicas.worker.replicas", "spec.training.lanes"},
     .allowed = "threads beyond the lanes have nothing to do where work is split by lane",
     .warning = true,
     .job = RULE_BUILTIN,
     .broken = broken_threads},
};
const struct rule_list strategy_rules = {rules, ARRAY_LEN(rules)};
