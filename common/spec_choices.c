/* Fields that apply only where another one has a certain value, and their defaults there. */
#include "common/spec_table.h"

#include "paceline/layer_types.h"
#include "paceline/mem.h"
#include "paceline/named_sets.h"

#define OPTIMIZER(key, values, default)                                                 \
    {                                                                                   \
        "spec.training.optimizer." key, "spec.training.optimizer.name", values, default \
    }
#define SCHEDULE(key, values, default)                                                        \
    {                                                                                         \
        "spec.training.learningRateSchedule." key, "spec.training.learningRateSchedule.type", \
            values, default                                                                   \
    }
#define MEAN(values, mean, std) {"spec.dataset.normalize.mean", "spec.dataset.name", values, mean},
#define STD(values, mean, std) {"spec.dataset.normalize.std", "spec.dataset.name", values, std},
#define OF_SETS(key, values, default) {"spec.dataset." key, "spec.dataset.name", values, default},
#define DISTRIBUTION(key, values, default)                                                  \
    {                                                                                       \
        "spec.dataset.distribution." key, "spec.dataset.distribution.kind", values, default \
    }
#define LAYER_CHOICE(key, values, default) \
    {"spec.model.layers[]." key, "spec.model.layers[].type", values, default},

const struct choice spec_choices[] = {
    {"spec.model.hidden", "spec.model.name", "mlp", "[256, 128]"},
    {"spec.model.huberDelta", "spec.model.loss", "huber", "1"},
    {"spec.model.layers[].range", "spec.model.layers[].initializer", "uniform", "0.1"},
    LAYER_FIELDS(LAYER_CHOICE) DISTRIBUTION("alpha", "dirichlet", "0.5"),
    DISTRIBUTION("sizes", "iid contiguous byLabel dirichlet", NULL),
    DISTRIBUTION("reshuffleEveryEpochs", "iid dirichlet", "0"),
    {"spec.dataset.normalize", "spec.dataset.normalizeBy", "given", NULL},
    SETS_NORMALIZE(MEAN) SETS_NORMALIZE(STD)
        SETS_FIELDS(OF_SETS){"spec.dataset.cache", "spec.dataset.staging", "stream", "true"},
    OPTIMIZER("learningRate", "sgd", "0.05"),
    OPTIMIZER("learningRate", "adam adamw rmsprop", "0.001"),
    OPTIMIZER("learningRate", "adagrad", "0.01"),
    OPTIMIZER("learningRate", "adadelta", "1.0"),
    OPTIMIZER("momentum", "sgd", "0.9"),
    OPTIMIZER("momentum", "rmsprop", "0"),
    OPTIMIZER("dampening", "sgd", "0"),
    OPTIMIZER("nesterov", "sgd", "false"),
    OPTIMIZER("beta1", "adam adamw", "0.9"),
    OPTIMIZER("beta2", "adam adamw", "0.999"),
    OPTIMIZER("rho", "adadelta", "0.95"),
    OPTIMIZER("rho", "rmsprop", "0.9"),
    OPTIMIZER("epsilon", "adam adamw adagrad rmsprop", "1e-8"),
    OPTIMIZER("epsilon", "adadelta", "1e-7"),
    OPTIMIZER("epsilonInside", "adam adamw adagrad rmsprop", "false"),
    OPTIMIZER("epsilonHat", "adam adamw", "false"),
    OPTIMIZER("rateInVelocity", "sgd rmsprop", "false"),
    OPTIMIZER("centered", "rmsprop", "false"),
    OPTIMIZER("initialAccumulator", "adagrad", "0"),
    OPTIMIZER("weightDecay", "adamw", "0.01"),
    SCHEDULE("boundaries", "piecewise", NULL),
    SCHEDULE("values", "piecewise", NULL),
    SCHEDULE("decayRate", "exponential", "0.9"),
    SCHEDULE("decayEpochs", "exponential", "1"),
    SCHEDULE("minFactor", "cosine", "0"),
    {"spec.strategy.mode", "spec.strategy.type", "ParameterServer", "sync"},
    {"spec.strategy.mode", "spec.strategy.type", "StrategySwitch", "async"},
    {"spec.strategy.backupWorkers", "spec.strategy.type", "ParameterServer", "0"},
    {"spec.strategy.staleness", "spec.strategy.mode", "bounded", "3"},
    {"spec.strategy.maxStaleness", "spec.strategy.mode", "bounded", "0"},
    {"spec.strategy.groups", "spec.strategy.mode", "async bounded", "0"},
    {"spec.strategy.divideLearningRate", "spec.strategy.mode", "async bounded", "false"},
    {"spec.strategy.divideLearningRate", "spec.strategy.type", "StrategySwitch", "false"},
    {"spec.strategy.waitSeconds", "spec.strategy.type",
     "ParameterServer LocalSGD ElasticAveraging ModelParallel StrategySwitch", "600"},
    {"spec.strategy.averageEvery", "spec.strategy.type", "LocalSGD ElasticAveraging", "8"},
    {"spec.strategy.elasticForce", "spec.strategy.type", "ElasticAveraging", "0"},
    {"spec.strategy.localFrom", "spec.strategy.type", "LocalSGD", "0"},
    {"spec.strategy.microBatches", "spec.strategy.type", "ModelParallel", "1"},
    {"spec.strategy.layerPlacement", "spec.strategy.type", "ModelParallel", NULL},
    {"spec.strategy.placement", "spec.strategy.type", "ParameterServer StrategySwitch", "balanced"},
    {"spec.strategy.algorithm", "spec.strategy.type", "AllReduce StrategySwitch", "tree"},
    {"spec.strategy.wire", "spec.strategy.type", "AllReduce StrategySwitch", "fp32"},
    {"spec.strategy.switch", "spec.strategy.type", "StrategySwitch", NULL},
    {"spec.strategy.switch.fraction", "spec.strategy.switch.when", "fraction plateau", NULL},
    {"spec.strategy.switch.epoch", "spec.strategy.switch.when", "epoch", NULL},
    {"spec.strategy.switch.window", "spec.strategy.switch.when", "plateau", "6"},
    {"spec.strategy.switch.threshold", "spec.strategy.switch.when", "plateau", "0.01"},
    {"spec.strategy.switch.factor", "spec.strategy.switch.momentum", "scale", NULL},
    {"spec.strategy.switch.factor", "spec.strategy.switch.momentum", "ramp", "0"},
    {"spec.strategy.switch.rampEpochs", "spec.strategy.switch.momentum", "ramp", "5"},
    {"spec.strategy.transferSemaphore", "spec.strategy.mode", "async bounded", "false"},
    {"spec.runPolicy.schedulingPolicy.queue", "spec.runPolicy.schedulingPolicy.gang",
     "Volcano Kueue", NULL},
    {"spec.runPolicy.schedulingPolicy.minAvailable", "spec.runPolicy.schedulingPolicy.gang",
     "Volcano SchedulerPlugins Kueue", NULL},
};
const size_t n_spec_choices = ARRAY_LEN(spec_choices);
