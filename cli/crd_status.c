/* The fields of a TrainingJob's status, as operator/api writes them. */
#include "cli/crd.h"
#include "paceline/mem.h"

#define COUNT .max = 9007199254740991.0
#define SHORT .max = 1024
#define REAL .min = -1e300, .max = 1e300
#define TIME .pattern = "", .max = 64
#define ROLE_STATUS(key, who)                                                                      \
    {"status.replicaStatuses." key, FIELD_OBJECT, .doc = "The " who "."},                          \
        {"status.replicaStatuses." key ".active", FIELD_INT, COUNT, .doc = "Pods that run."},      \
        {"status.replicaStatuses." key ".ready", FIELD_INT, COUNT, .doc = "Pods that are ready."}, \
        {"status.replicaStatuses." key ".succeeded", FIELD_INT, COUNT,                             \
         .doc = "Processes that ended well."},                                                     \
        {"status.replicaStatuses." key ".failed", FIELD_INT, COUNT,                                \
         .doc = "Processes that failed for good."},                                                \
        {"status.replicaStatuses." key ".restarts", FIELD_INT, COUNT,                              \
         .doc = "How often their pods were replaced and their containers restarted."},             \
        {"status.replicaStatuses." key ".completed", FIELD_STRING, .max = 32768,                   \
         .doc = "Indices that completed and never run again: 0-3,7."},                             \
        {"status.replicaStatuses." key ".lost", FIELD_STRING, .max = 32768,                        \
         .doc = "Indices that failed and that the job goes on without."},                          \
    {                                                                                              \
        "status.replicaStatuses." key ".incarnations", FIELD_STRING,                               \
            .max = 131072, .doc = "How often an index was replaced in this generation: 3:1,5-7:2." \
    }

/* clang-format off */
const struct field crd_status_fields[] = {
    {"status", FIELD_OBJECT, .doc = "What the operator has seen and done."},
    {"status.state", FIELD_STRING, .max = 64,
     .doc = "The job in one word: Pending, Running, Restarting, Blocked, Suspended, Succeeded or "
            "Failed."},
    {"status.message", FIELD_STRING, .max = 32768,
     .doc = "Why it is in this state, such as what stands in the way of a pod; `kubectl get tj -o "
            "wide` shows it."},
    {"status.conditions", FIELD_LAYERS, .max_items = 32,
     .doc = "What is true of the job: Created, Running, Restarting, Suspended, Stalled, PodsBlocked, "
            "Durable (checkpoints and the model outlive the pods; of built-in jobs), and at its end "
            "exactly one of Succeeded and Failed."},
    {"status.conditions[].type", FIELD_STRING, .max = 316, .required = true,
     .doc = "The name of the condition."},
    {"status.conditions[].status", FIELD_STRING, .max = 16, .required = true,
     .doc = "True, False or Unknown."},
    {"status.conditions[].reason", FIELD_STRING, SHORT, .doc = "Why, in one word."},
    {"status.conditions[].message", FIELD_STRING, .max = 32768,
     .doc = "Why, and what to do, in a sentence."},
    {"status.conditions[].lastTransitionTime", FIELD_STRING, TIME,
     .doc = "When the condition last changed."},
    {"status.conditions[].observedGeneration", FIELD_INT, COUNT,
     .doc = "The generation of the spec that the condition is about."},
    {"status.observedGeneration", FIELD_INT, COUNT,
     .doc = "The generation of the spec that the operator has acted on."},
    {"status.startTime", FIELD_STRING, TIME, .doc = "When the job was first started."},
    {"status.completionTime", FIELD_STRING, TIME, .doc = "When the job succeeded or failed."},
    {"status.activeSince", FIELD_STRING, TIME,
     .doc = "Since when the clock of activeDeadlineSeconds runs; absent: it stands."},
    {"status.activeMilliseconds", FIELD_INT, COUNT,
     .doc = "What that clock counted before it last stood still."},
    {"status.selector", FIELD_STRING, SHORT,
     .doc = "The label selector of the workers, for `kubectl scale` and autoscalers."},
    {"status.world", FIELD_OBJECT,
     .doc = "The processes of the current generation: what their cluster spec lists."},
    {"status.world.generation", FIELD_INT, COUNT,
     .doc = "Counts cluster specs; names the ConfigMap with the effective job."},
    {"status.world.incarnation", FIELD_INT, COUNT,
     .doc = "Where this generation's incarnations of pods begin."},
    {"status.world.chief", FIELD_INT, COUNT, .doc = "Chiefs in the cluster spec."},
    {"status.world.worker", FIELD_INT, COUNT, .doc = "Workers in the cluster spec."},
    {"status.world.ps", FIELD_INT, COUNT, .doc = "Parameter servers in the cluster spec."},
    {"status.world.evaluator", FIELD_INT, COUNT, .doc = "Evaluators in the cluster spec."},
    {"status.launch", FIELD_OBJECT,
     .doc = "What the first worker's agent was told to run; of built-in jobs."},
    {"status.launch.generation", FIELD_INT, COUNT, .doc = "Counts launches."},
    {"status.launch.world", FIELD_INT, COUNT,
     .doc = "Stands for the pods that it runs on; 0: it has ended."},
    {"status.launch.chief", FIELD_INT, COUNT, .doc = "Stands for the pod that leads it."},
    {"status.launch.step", FIELD_INT, COUNT,
     .doc = "How far the training was when a launch last ended."},
    {"status.launch.failures", FIELD_INT, COUNT,
     .doc = "Launches in a row that failed without progress; the job fails when there are more "
            "than backoffLimit."},
    {"status.launch.forgiven", FIELD_INT, COUNT,
     .doc = "Restarts before the last progress: they no longer count towards backoffLimit."},
    {"status.launch.outlived", FIELD_INT, COUNT,
     .doc = "Disruptions before the last progress: they no longer count towards "
            "disruptionLimit."},
    {"status.launch.without", FIELD_STRING, .max = 32768,
     .doc = "The workers that it goes on without, since their pods do not run: 3,5-7."},
    {"status.launch.since", FIELD_STRING, TIME,
     .doc = "Since when nothing trains, where a launch has ended."},
    {"status.launch.reason", FIELD_STRING, .max = 64,
     .doc = "Why it was begun: Start, Resume (after a suspension), Loss (of a pod or a rank), "
            "Rescale (the one before was stopped), Switch (it stopped to change its strategy)."},
    {"status.launch.cause", FIELD_STRING, SHORT, .doc = "What it follows, in words."},
    {"status.launch.from", FIELD_STRING, TIME, .doc = "When that was."},
    {"status.launch.trained", FIELD_STRING, TIME,
     .doc = "When its first step was heard of; absent: it has not trained yet."},
    {"status.launch.resumed", FIELD_INT, COUNT, .doc = "The step that it resumed from."},
    {"status.launch.workers", FIELD_INT, COUNT, .doc = "How many workers it trains on."},
    {"status.launch.stepped", FIELD_INT, COUNT, .doc = "The last generation that made a step."},
    {"status.launch.stalled", FIELD_INT, COUNT,
     .doc = "The last generation that was killed because it made no progress."},
    {"status.restarts", FIELD_INT, COUNT,
     .doc = "Restarts so far; the job fails when there would be more than backoffLimit."},
    {"status.disruptions", FIELD_INT, COUNT,
     .doc = "Pods that were evicted, preempted, deleted by others or lost with their node, and "
            "replaced; the job fails when there would be more than disruptionLimit."},
    {"status.backoffUntil", FIELD_STRING, TIME, .doc = "No pod is replaced before."},
    {"status.replicaStatuses", FIELD_OBJECT, .doc = "The processes by role."},
    ROLE_STATUS("chief", "chief"),
    ROLE_STATUS("worker", "workers"),
    ROLE_STATUS("ps", "parameter servers"),
    ROLE_STATUS("evaluator", "evaluator"),
    {"status.progress", FIELD_OBJECT, .doc = "How far the training is; of built-in jobs."},
    {"status.progress.epoch", FIELD_INT, COUNT, .doc = "The current epoch, from 1."},
    {"status.progress.epochs", FIELD_INT, COUNT, .doc = "Epochs in all."},
    {"status.progress.step", FIELD_INT, COUNT, .doc = "Updates so far."},
    {"status.progress.loss", FIELD_FLOAT, REAL, .doc = "The mean training loss of late."},
    {"status.progress.accuracy", FIELD_FLOAT, REAL,
     .doc = "Of the validation (else the test) samples after the last epoch; so are the following."},
    {"status.progress.perplexity", FIELD_FLOAT, REAL, .doc = "Of a text."},
    {"status.progress.binaryAccuracy", FIELD_FLOAT, REAL, .doc = "Labels of 0 and 1: each by itself."},
    {"status.progress.mae", FIELD_FLOAT, REAL, .doc = "Labels that are numbers: the mean error."},
    {"status.progress.rmse", FIELD_FLOAT, REAL, .doc = "The root of the mean squared error."},
    {"status.progress.r2", FIELD_FLOAT, REAL, .doc = "The coefficient of determination."},
    {"status.progress.precision", FIELD_FLOAT, REAL, .doc = "The mean of the classes or outputs."},
    {"status.progress.recall", FIELD_FLOAT, REAL, .doc = "Likewise."},
    {"status.progress.f1", FIELD_FLOAT, REAL, .doc = "Likewise."},
    {"status.progress.samplesPerSecond", FIELD_FLOAT, REAL,
     .doc = "Training samples per second, over all workers; at the end the mean over all steps."},
    {"status.progress.speedup", FIELD_FLOAT, REAL,
     .doc = "Samples per second against those of one worker."},
    {"status.progress.stoppedEarly", FIELD_INT, COUNT,
     .doc = "The epoch behind which training.earlyStopping ended the training; absent: it did not."},
    {"status.progress.etaSeconds", FIELD_FLOAT, REAL, .doc = "Seconds that are left."},
    {"status.strategy", FIELD_OBJECT, .doc = "What became of the switch; of StrategySwitch."},
    {"status.strategy.phase", FIELD_STRING, .max = 64,
     .doc = "The strategy that trains: AllReduce or ParameterServer."},
    {"status.strategy.epoch", FIELD_INT, COUNT,
     .doc = "Behind which epoch the strategy changed; absent: it has not yet."},
    {"status.strategy.step", FIELD_INT, COUNT, .doc = "Behind which step."},
    {"status.strategy.reason", FIELD_STRING, .max = 64,
     .doc = "Why then: fraction, epoch, plateau, or fallback (at the latest)."},
    {"status.strategy.seconds", FIELD_FLOAT, REAL,
     .doc = "How long the hand-over took; with how relaunch until the first step behind it."},
    {"status.strategy.since", FIELD_STRING, TIME, .doc = "When the operator heard of it."},
    {"status.transferSeconds", FIELD_FLOAT, REAL,
     .doc = "How long all parameters take from one worker to another, by a part of them that the "
            "engine sends before its first step; of strategies whose speedup is predicted."},
    {"status.scaling", FIELD_LAYERS, .max_items = 256,
     .doc = "What each number of workers reached."},
    {"status.scaling[].workers", FIELD_INT, COUNT, .required = true, .doc = "Number of workers."},
    {"status.scaling[].samplesPerSecond", FIELD_FLOAT, REAL, .doc = "Training samples per second."},
    {"status.scaling[].speedup", FIELD_FLOAT, REAL, .doc = "Against one worker."},
    {"status.scaling[].predicted", FIELD_FLOAT, REAL,
     .doc = "The same as the estimate for the strategy has it, once one worker was measured."},
};
/* clang-format on */
const size_t n_crd_status_fields = ARRAY_LEN(crd_status_fields);
