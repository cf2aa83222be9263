/* The rows of a TrainingJob's status. */
#include "operator/api/status_table.h"

#include <string.h>

#include "common/spec_row.h"
#include "operator/api/trainingjob.h"
#include "paceline/mem.h"

#define STATUS(member) AT(struct tj_status, member)
#define DURABLE .durable = true
#define OPTIONAL .optional = true
/* The schema allows more than reading keeps, so that an older CRD accepts what a newer operator
 * writes. */
#define AT_MOST(most) .max = EXACT_INTEGERS, .bound = (most)
#define COUNT AT_MOST(1e12)
#define GENERATION AT_MOST(INDEX_MAP_MAX_VALUE)
#define REPLICAS AT_MOST(INDEX_MAP_MAX_INDEX + 1)
#define WHOLE AT_MOST(EXACT_INTEGERS)
#define SHORT .max = 1024, .bound = 256
#define WORD .max = 64, .bound = 64
#define REAL .min = -MOST, .max = MOST
#define TIME OPTIONAL
#define INDICES .max = 32768, OPTIONAL
#define TRAINING .launched = true, OPTIONAL
/* A metric may be 0, so a bit says whether it is there. */
#define METRIC(metric)                                \
    REAL, STATUS(progress.metrics[metric]), OPTIONAL, \
        .n_offset = offsetof(struct tj_status, progress.has_metrics), .mask = 1u << (metric)
#define ALWAYS .optional = false
/* A role that the cluster spec lists has its counts before any of its pods run. */
#define LISTED(role) OPTIONAL, .n_offset = offsetof(struct tj_status, world.replicas[role])
#define ROLE_STATUS(key, role, who, there)                                                         \
    {"status.replicaStatuses." key, FIELD_OBJECT, there, .doc = "The " who "."},                   \
        {"status.replicaStatuses." key ".active", FIELD_INT, STATUS(roles[role].active), REPLICAS, \
         .doc = "Pods that run."},                                                                 \
        {"status.replicaStatuses." key ".ready", FIELD_INT, STATUS(roles[role].ready), REPLICAS,   \
         .doc = "Pods that are ready."},                                                           \
        {"status.replicaStatuses." key ".succeeded", FIELD_INT, STATUS(roles[role].succeeded),     \
         REPLICAS, .doc = "Processes that ended well."},                                           \
        {"status.replicaStatuses." key ".failed", FIELD_INT, STATUS(roles[role].failed), REPLICAS, \
         .doc = "Processes that failed for good."},                                                \
        {"status.replicaStatuses." key ".restarts",                                                \
         FIELD_INT,                                                                                \
         STATUS(roles[role].restarts),                                                             \
         COUNT,                                                                                    \
         DURABLE,                                                                                  \
         .doc = "How often their pods were replaced and their containers restarted."},             \
        {"status.replicaStatuses." key ".completed",                                               \
         FIELD_INDICES,                                                                            \
         STATUS(roles[role].completed),                                                            \
         INDICES,                                                                                  \
         DURABLE,                                                                                  \
         .doc = "Indices that completed and never run again: 0-3,7."},                             \
        {"status.replicaStatuses." key ".lost",                                                    \
         FIELD_INDICES,                                                                            \
         STATUS(roles[role].lost),                                                                 \
         INDICES,                                                                                  \
         DURABLE,                                                                                  \
         .doc = "Indices that failed and that the job goes on without."},                          \
    {                                                                                              \
        "status.replicaStatuses." key ".incarnations", FIELD_COUNTS,                               \
            STATUS(roles[role].incarnations),                                                      \
            .max = 131072, OPTIONAL, DURABLE,                                                      \
            .doc = "How often an index was replaced in this generation: 3:1,5-7:2."                \
    }

/* clang-format off */
const struct field status_fields[] = {
    {"status", FIELD_OBJECT, .doc = "What the operator has seen and done."},
    {"status.state", FIELD_TEXT, .max = 64,
     .doc = "The job in one word: Pending, Running, Restarting, Blocked, Suspended, Succeeded or "
            "Failed."},
    {"status.message", FIELD_TEXT, .max = 32768,
     .doc = "Why it is in this state, such as what stands in the way of a pod; `kubectl get tj -o "
            "wide` shows it."},
    {"status.conditions", FIELD_CONDITIONS, STATUS(conditions), .max_items = 32, DURABLE,
     .doc = "What is true of the job: Created, Running, Restarting, Suspended, Stalled, PodsBlocked, "
            "Durable (checkpoints and the model outlive the pods; of built-in jobs), and at its end "
            "exactly one of Succeeded and Failed."},
    {"status.conditions[].type", FIELD_TEXT, .max = 316, .required = true,
     .doc = "The name of the condition."},
    {"status.conditions[].status", FIELD_TEXT, .max = 16, .required = true,
     .doc = "True, False or Unknown."},
    {"status.conditions[].reason", FIELD_TEXT, SHORT, .doc = "Why, in one word."},
    {"status.conditions[].message", FIELD_TEXT, .max = 32768,
     .doc = "Why, and what to do, in a sentence."},
    {"status.conditions[].lastTransitionTime", FIELD_TIME,
     .doc = "When the condition last changed."},
    {"status.conditions[].observedGeneration", FIELD_INT, COUNT,
     .doc = "The generation of the spec that the condition is about."},
    {"status.observedGeneration", FIELD_INT, WHOLE, STATUS(observed_generation),
     .doc = "The generation of the spec that the operator has acted on."},
    {"status.startTime", FIELD_TIME, TIME, STATUS(start_ms), DURABLE,
     .doc = "When the job was first started."},
    {"status.completionTime", FIELD_TIME, TIME, STATUS(completion_ms), DURABLE,
     .doc = "When the job succeeded or failed."},
    {"status.activeSince", FIELD_TIME, TIME, STATUS(active_since_ms), DURABLE,
     .doc = "Since when the clock of activeDeadlineSeconds runs; absent: it stands."},
    {"status.activeMilliseconds", FIELD_INT, COUNT, STATUS(active_ms), DURABLE,
     .doc = "What that clock counted before it last stood still."},
    {"status.selector", FIELD_TEXT, SHORT,
     .doc = "The label selector of the workers, for `kubectl scale` and autoscalers."},
    {"status.world", FIELD_OBJECT, OPTIONAL,
     .doc = "The processes of the current generation: what their cluster spec lists."},
    {"status.world.generation", FIELD_INT, GENERATION, STATUS(world.generation), DURABLE,
     .doc = "Counts cluster specs; names the ConfigMap with the effective job."},
    {"status.world.incarnation", FIELD_INT, GENERATION, STATUS(world.incarnation), DURABLE,
     .doc = "Where this generation's incarnations of pods begin."},
    {"status.world.chief", FIELD_INT, REPLICAS, STATUS(world.replicas[ROLE_CHIEF]), DURABLE,
     .doc = "Chiefs in the cluster spec."},
    {"status.world.worker", FIELD_INT, REPLICAS, STATUS(world.replicas[ROLE_WORKER]), DURABLE,
     .doc = "Workers in the cluster spec."},
    {"status.world.ps", FIELD_INT, REPLICAS, STATUS(world.replicas[ROLE_PS]), DURABLE,
     .doc = "Parameter servers in the cluster spec."},
    {"status.world.evaluator", FIELD_INT, REPLICAS, STATUS(world.replicas[ROLE_EVALUATOR]), DURABLE,
     .doc = "Evaluators in the cluster spec."},
    {"status.launch", FIELD_OBJECT, TRAINING,
     .doc = "What the first worker's agent was told to run; of built-in jobs."},
    {"status.launch.generation", FIELD_INT, GENERATION, STATUS(launch.generation), DURABLE,
     .doc = "Counts launches."},
    {"status.launch.world", FIELD_INT, WHOLE, STATUS(launch.world), DURABLE,
     .doc = "Stands for the pods that it runs on; 0: it has ended."},
    {"status.launch.chief", FIELD_INT, WHOLE, STATUS(launch.chief), DURABLE,
     .doc = "Stands for the pod that leads it."},
    {"status.launch.step", FIELD_INT, COUNT, STATUS(launch.step), DURABLE,
     .doc = "How far the training was when a launch last ended."},
    {"status.launch.failures", FIELD_INT, COUNT, STATUS(launch.failures), DURABLE,
     .doc = "Launches in a row that failed without progress; the job fails when there are more "
            "than backoffLimit."},
    {"status.launch.forgiven", FIELD_INT, COUNT, STATUS(launch.forgiven), DURABLE,
     .doc = "Restarts before the last progress: they no longer count towards backoffLimit."},
    {"status.launch.outlived", FIELD_INT, COUNT, STATUS(launch.outlived), DURABLE,
     .doc = "Disruptions before the last progress: they no longer count towards "
            "disruptionLimit."},
    {"status.launch.without", FIELD_INDICES, INDICES, STATUS(launch.without), DURABLE,
     .doc = "The workers that it goes on without, since their pods do not run: 3,5-7."},
    {"status.launch.since", FIELD_TIME, TIME, STATUS(launch.since_ms), DURABLE,
     .doc = "Since when nothing trains, where a launch has ended."},
    {"status.launch.reason", FIELD_WORD, .max = 64, STATUS(launch.reason), DURABLE,
     .names = NAMES("Start", "Resume", "Loss", "Rescale", "Switch"),
     .doc = "Why it was begun: Start, Resume (after a suspension), Loss (of a pod or a rank), "
            "Rescale (the one before was stopped), Switch (it stopped to change its strategy)."},
    {"status.launch.cause", FIELD_TEXT, SHORT, STATUS(launch.cause), DURABLE,
     .doc = "What it follows, in words."},
    {"status.launch.from", FIELD_TIME, TIME, STATUS(launch.from_ms), DURABLE,
     .doc = "When that was."},
    {"status.launch.trained", FIELD_TIME, TIME, STATUS(launch.trained_ms), DURABLE,
     .doc = "When its first step was heard of; absent: it has not trained yet."},
    {"status.launch.resumed", FIELD_INT, COUNT, STATUS(launch.resumed), DURABLE,
     .doc = "The step that it resumed from."},
    {"status.launch.workers", FIELD_INT, REPLICAS, STATUS(launch.workers), DURABLE,
     .doc = "How many workers it trains on."},
    {"status.launch.stepped", FIELD_INT, GENERATION, STATUS(launch.stepped), DURABLE,
     .doc = "The last generation that made a step."},
    {"status.launch.stalled", FIELD_INT, GENERATION, STATUS(launch.stalled), DURABLE,
     .doc = "The last generation that was killed because it made no progress."},
    {"status.restarts", FIELD_INT, COUNT, STATUS(restarts), DURABLE,
     .doc = "Restarts so far; the job fails when there would be more than backoffLimit."},
    {"status.disruptions", FIELD_INT, COUNT, STATUS(disruptions), DURABLE,
     .doc = "Pods that were evicted, preempted, deleted by others or lost with their node, and "
            "replaced; the job fails when there would be more than disruptionLimit."},
    {"status.backoffUntil", FIELD_TIME, TIME, STATUS(backoff_until_ms), DURABLE,
     .doc = "No pod is replaced before."},
    {"status.replicaStatuses", FIELD_OBJECT, .doc = "The processes by role."},
    ROLE_STATUS("chief", ROLE_CHIEF, "chief", LISTED(ROLE_CHIEF)),
    ROLE_STATUS("worker", ROLE_WORKER, "workers", ALWAYS),
    ROLE_STATUS("ps", ROLE_PS, "parameter servers", LISTED(ROLE_PS)),
    ROLE_STATUS("evaluator", ROLE_EVALUATOR, "evaluator", LISTED(ROLE_EVALUATOR)),
    {"status.progress", FIELD_OBJECT, TRAINING, STATUS(progress.present),
     .doc = "How far the training is; of built-in jobs."},
    {"status.progress.epoch", FIELD_INT, COUNT, STATUS(progress.epoch),
     .doc = "The current epoch, from 1."},
    {"status.progress.epochs", FIELD_INT, COUNT, STATUS(progress.epochs),
     .doc = "Epochs in all."},
    {"status.progress.step", FIELD_INT, COUNT, STATUS(progress.step),
     .doc = "Updates so far."},
    {"status.progress.loss", FIELD_FLOAT, REAL, STATUS(progress.loss),
     .doc = "The mean training loss of late."},
    {"status.progress.learningRate", FIELD_FLOAT, REAL, STATUS(progress.learning_rate), OPTIONAL,
     .doc = "The learning rate of the next update."},
    {"status.progress.accuracy", FIELD_FLOAT, METRIC(METRIC_ACCURACY),
     .doc = "Of the validation (else the test) samples after the last epoch; so are the following."},
    {"status.progress.perplexity", FIELD_FLOAT, METRIC(METRIC_PERPLEXITY), .doc = "Of a text."},
    {"status.progress.binaryAccuracy", FIELD_FLOAT, METRIC(METRIC_BINARY_ACCURACY),
     .doc = "Labels of 0 and 1: each by itself."},
    {"status.progress.mae", FIELD_FLOAT, METRIC(METRIC_MAE),
     .doc = "Labels that are numbers: the mean error."},
    {"status.progress.rmse", FIELD_FLOAT, METRIC(METRIC_RMSE),
     .doc = "The root of the mean squared error."},
    {"status.progress.r2", FIELD_FLOAT, METRIC(METRIC_R2),
     .doc = "The coefficient of determination."},
    {"status.progress.precision", FIELD_FLOAT, METRIC(METRIC_PRECISION),
     .doc = "The mean of the classes or outputs."},
    {"status.progress.recall", FIELD_FLOAT, METRIC(METRIC_RECALL), .doc = "Likewise."},
    {"status.progress.f1", FIELD_FLOAT, METRIC(METRIC_F1), .doc = "Likewise."},
    {"status.progress.samplesPerSecond", FIELD_FLOAT, REAL, STATUS(progress.samples_per_second),
     .doc = "Training samples per second, over all workers; at the end the mean over all steps."},
    {"status.progress.speedup", FIELD_FLOAT, REAL, OPTIONAL,
     .doc = "Samples per second against those of one worker."},
    {"status.progress.stoppedEarly", FIELD_INT, COUNT, STATUS(progress.early_epoch), OPTIONAL,
     .doc = "The epoch after which training.earlyStopping ended the training; absent: it did not."},
    {"status.progress.etaSeconds", FIELD_FLOAT, REAL, STATUS(progress.eta_seconds),
     .doc = "Seconds that are left."},
    {"status.strategy", FIELD_OBJECT, TRAINING,
     .doc = "What became of the switch; of StrategySwitch."},
    {"status.strategy.phase", FIELD_TEXT, WORD, STATUS(strategy.phase), OPTIONAL,
     .doc = "The strategy that trains: AllReduce or ParameterServer."},
    {"status.strategy.epoch", FIELD_INT, COUNT, STATUS(strategy.epoch), OPTIONAL,
     .doc = "The epoch after which the strategy changed; absent: it has not yet."},
    {"status.strategy.step", FIELD_INT, COUNT, STATUS(strategy.step), OPTIONAL,
     .doc = "The step after which it changed."},
    {"status.strategy.reason", FIELD_TEXT, WORD, STATUS(strategy.reason), OPTIONAL,
     .doc = "Why then: fraction, epoch, plateau, or fallback (at the latest)."},
    {"status.strategy.seconds", FIELD_FLOAT, REAL, STATUS(strategy.seconds), OPTIONAL,
     .doc = "How long the hand-over took; with how relaunch until the first step after it."},
    {"status.strategy.since", FIELD_TIME, TIME, STATUS(strategy.since_ms),
     .doc = "When the operator heard of it."},
    {"status.transferSeconds", FIELD_FLOAT, REAL, TRAINING, STATUS(transfer_s),
     .doc = "How long all parameters take from one worker to another, by a part of them that the "
            "engine sends before its first step; of strategies whose speedup is predicted."},
    {"status.scaling", FIELD_LIST, TRAINING, .offset = offsetof(struct tj_status, scaling),
     .size = sizeof(struct scaling), .n_offset = offsetof(struct tj_status, n_scaling),
     .max_items = SCALING_MAX,
     .doc = "What each number of workers reached."},
    {"status.scaling[].workers", FIELD_INT, REPLICAS, AT(struct scaling, workers), .required = true,
     .doc = "Number of workers."},
    {"status.scaling[].samplesPerSecond", FIELD_FLOAT, REAL, AT(struct scaling, samples_per_second),
     .doc = "Training samples per second."},
    {"status.scaling[].speedup", FIELD_FLOAT, REAL, OPTIONAL, .doc = "Against one worker."},
    {"status.scaling[].predicted", FIELD_FLOAT, REAL, OPTIONAL,
     .doc = "The same as the estimate for the strategy has it, once one worker was measured."},
};
/* clang-format on */
const size_t n_status_fields = ARRAY_LEN(status_fields);

bool status_field_is_below(const struct field *f, const struct field *above)
{
    size_t len = strlen(above->path);

    return f < status_fields + n_status_fields && strncmp(f->path, above->path, len) == 0 &&
           (f->path[len] == '.' || f->path[len] == '[');
}

const struct field *status_field_end(const struct field *f)
{
    const struct field *next = f + 1;

    if (f->kind == FIELD_OBJECT || f->kind == FIELD_LIST || f->kind == FIELD_CONDITIONS)
        while (status_field_is_below(next, f))
            next++;
    return next;
}

const struct field *status_field_next(const struct field *f)
{
    return f->kind == FIELD_OBJECT ? f + 1 : status_field_end(f);
}
