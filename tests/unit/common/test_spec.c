// LINK: common
/* The TrainingJob: defaults, every kind of problem. */
#include "common/spec_table.h"
#include "paceline/json.h"
#include "tests/unit/spec_text.h"

static void test_defaults(void)
{
    AUTO(auto_job) struct job *job = parse(MODEL, NULL, 0);

    if (!job)
        return;
    CHECK_STR(job->name, "t");
    CHECK_STR(job->namespace_, "default");
    CHECK_STR(job->dataset.name, "fashion-mnist");
    CHECK_NEAR(job->dataset.mean, 0.2860, 0);
    CHECK_NEAR(job->dataset.std, 0.3530, 0);
    CHECK(job->dataset.shuffle);
    CHECK_INT(job->model.n_hidden, 2);
    CHECK_INT(job->model.hidden[1], 128);
    CHECK_INT(job->training.epochs, 5);
    CHECK_INT(job->training.batch_size, 128);
    CHECK_INT(job->training.seed, 1);
    CHECK_INT(job->training.last_batch, LAST_KEEP);
    CHECK_INT(job->training.optimizer.type, OPT_SGD);
    CHECK_NEAR(job->training.optimizer.learning_rate, 0.05, 0);
    CHECK_NEAR(job->training.optimizer.momentum, 0.9, 0);
    CHECK_INT(job->strategy.algorithm, ALGO_TREE);
    CHECK_INT(job->strategy.fusion_bytes, 4194304);
    CHECK_INT(job->replicas[ROLE_WORKER].replicas, 1);
    CHECK_INT(job->dataset.prefetch, 2);
    CHECK_INT(job->checkpoint.keep, 1);
    CHECK_INT(job->checkpoint.every_epochs, 1);
    CHECK_INT(job->run_policy.backoff_limit, 6);
    CHECK_INT(job->run_policy.ttl_seconds, -1);
    CHECK_INT(job_lanes(job), 32);
}

static void test_optimizer_defaults(void)
{
    static const struct {
        const char *name;
        double rate, rho, epsilon, beta2;
    } cases[] = {
        {"adam", 0.001, 0, 1e-8, 0.999},  {"adamw", 0.001, 0, 1e-8, 0.999},
        {"adagrad", 0.01, 0, 1e-8, 0},    {"adadelta", 1, 0.95, 1e-7, 0},
        {"rmsprop", 0.001, 0.9, 1e-8, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_free) char *set = xasprintf("training.optimizer.name=%s", cases[i].name);
        AUTO(auto_job) struct job *job = parse(MODEL, (const char *const[]){set}, 1);

        if (!job)
            continue;
        CHECK_NEAR(job->training.optimizer.learning_rate, cases[i].rate, 0);
        CHECK_NEAR(job->training.optimizer.rho, cases[i].rho, 0);
        CHECK_NEAR(job->training.optimizer.epsilon, cases[i].epsilon, 0);
        CHECK_NEAR(job->training.optimizer.beta2, cases[i].beta2, 0);
        CHECK_NEAR(job->training.optimizer.momentum, 0, 0);
    }
}

#define SWITCH "  strategy:\n    type: StrategySwitch"
#define SERVERS "  replicas: {ps: {replicas: 1}}\n"

/* Each text gives exactly the messages listed, in the order of its lines. */
static void test_problems(void)
{
    static const struct {
        const char *text;
        const char *wanted[6];
    } cases[] = {
        {"[1]", {"t.yaml: found no object"}},
        {"", {"t.yaml: found no object"}},
        {"a: [", {"t.yaml:2: not valid YAML"}},
        {"kind: Job\nspec: {a: 1}", {"t.yaml:1: kind: found \"Job\"; allowed: TrainingJob"}},
        {"kind: TrainingJob\n",
         {"t.yaml:1: apiVersion: found nothing; needed: paceline.dev/v1", "metadata:", "spec:"}},
        {HEAD "  training: {epochs: 2}\n",
         {"t.yaml:4: spec.model: found nothing; needed: a network, as {name: mlp} or {layers: "}},
        {HEAD "  training: {epochs: 2}\n  replicas: {worker: {template: {}}}\n",
         {"t.yaml:5: spec.training: found, but it belongs to jobs with spec.model only",
          "worker.template: found no container, and replicas: 1; needed without spec.model: a "}},
        {HEAD "  dataset: {}\n  training: {}\n  checkpoint: {}\n  strategy: {}\n"
              "  replicas: {worker: {template: {spec: {containers: [{name: c, image: i}]}}}}\n",
         {"t.yaml:5: spec.dataset: found, but it belongs to jobs with spec.model only",
          "t.yaml:6: spec.training: found, but it belongs to jobs with spec.model only",
          "t.yaml:7: spec.checkpoint: found, but it belongs to jobs with spec.model only",
          "t.yaml:8: spec.strategy: found, but it belongs to jobs with spec.model only"}},
        {HEAD "  model: {layers: [{type: dense, units: 1, kernel: 2}]}\n",
         {"layers[0].kernel: found, but it belongs to type: conv|maxpool|avgpool only"}},
        {HEAD "  debug: {}\n  replicas: {worker: {template: {spec: {containers: []}}}}\n",
         {"t.yaml:5: spec.debug: found, but it belongs to jobs with spec.model only",
          "t.yaml:6: spec.replicas.worker.template: found no container, and replicas: 1"}},
        {HEAD "  replicas: {worker: {replicas: 0, template: {}}, ps: {replicas: 2}}\n",
         {"t.yaml:5: spec.replicas: found neither chief nor worker; needed: at least one of them",
          "t.yaml:5: spec.replicas.ps.template: found no container, and replicas: 2; needed "
          "without"}},
        {HEAD "  mpi: {}\n  runPolicy: {scalePolicy: Dynamic}\n"
              "  replicas: {worker: {template: {spec: {containers: [{name: c, image: i, args: [a], "
              "command: []}]}}},\n"
              "    ps: {replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}}\n",
         {"t.yaml:6: spec.runPolicy.scalePolicy: found Dynamic; allowed with spec.mpi: Recreate, ",
          "t.yaml:7: spec.replicas: found processes beside the workers; allowed with spec.mpi: "
          "workers alone",
          "t.yaml:7: spec.replicas.worker.template: found a first container without a command; "
          "needed with spec.mpi: its command, for what an image runs by itself is not known"}},
        {MODEL "  mpi: {ranksPerWorker: 0}\n",
         {"mpi.ranksPerWorker: found 0; allowed: an integer from 1 to 65536",
          "mpi: found it beside spec.model; allowed: one of the two"}},
        {HEAD "  mpi: {}\n  replicas: {worker: {replicas: 0}, chief: {replicas: 1, template: "
              "{spec: {containers: [{name: c, image: i}]}}}}\n",
         {"worker.replicas: found 0; needed with spec.mpi: at least 1",
          "spec.replicas: found processes beside"}},
        {HEAD
         "  replicas:\n    worker: {template: {spec: {containers: [{name: a, image: i}, {name: "
         "b}]}}}\n"
         "    chief: {replicas: 1, template: {spec: {containers: [{image: i}]}}}\n"
         "    ps: {template: {spec: {containers: [{name: a, image: i}], initContainers: [{name: b, "
         "image: ''}]}}}\n"
         "    evaluator: {replicas: 1, template: {spec: {containers: [{name: '', image: i}]}}}\n",
         {"t.yaml:6: spec.replicas.worker.template: found a container without a name or an image; "
          "needed: a name and an image in each init container and, without spec.model",
          "t.yaml:7: spec.replicas.chief.template: found",
          "t.yaml:8: spec.replicas.ps.template: found",
          "t.yaml:9: spec.replicas.evaluator.template: found a container without"}},
        {MODEL "  runPolicy: {managedBy: other}\n",
         {"managedBy: found \"other\"; allowed: a domain, '/' and a path"}},
        {MODEL "  runPolicy: {managedBy: Other.example/one}\n", {"managedBy: found"}},
        {MODEL "  runPolicy: {managedBy: other.example/}\n", {"managedBy: found"}},
        {HEAD "  mpi: {}\n",
         {"spec.replicas.worker.template: found no container, and replicas: 1"}},
        {HEAD "  replicas: {worker: {replicas: 0, template: {}}, chief: {replicas: 2}, ps: "
              "{replicas: 1}}\n",
         {"chief.replicas: found 2; allowed: an integer from 0 to 1", "ps.template: found no con"}},
        {MODEL
         "  replicas: {worker: {replicas: 0}, chief: {replicas: 1}, evaluator: {replicas: 1}}\n",
         {"worker.replicas: found 0; needed with spec.model: at least 1",
          "chief.replicas: found 1; allowed with spec.model: 0",
          "evaluator.replicas: found 1; allowed with spec.model: 0"}},
        {MODEL "  replicas: {worker: {replicas: 3, minReplicas: 4, maxReplicas: 2}}\n",
         {"worker.replicas: found 3 with minReplicas 4; allowed: at least minReplicas",
          "worker.replicas: found 3 with maxReplicas 2; allowed: at most maxReplicas"}},
        {MODEL "  runPolicy: {schedulingPolicy: {gang: Volcano, minAvailable: 2}}\n",
         {"minAvailable: found 2 for 1 pods; allowed: at most the number of pods"}},
        {MODEL
         "  runPolicy: {schedulingPolicy: {minAvailable: 1, queue: 'a b', schedulerName: ''}}\n",
         {"queue: found \"a b\"; allowed: 1 to 63 letters",
          "schedulerName: found \"\"; allowed: a string of 1 to 253 characters",
          "queue: found, but it belongs to spec.runPolicy.schedulingPolicy.gang: Volcano|Kueue "
          "only",
          "minAvailable: found, but it belongs to spec.runPolicy.schedulingPolicy.gang: "
          "Volcano|SchedulerPlugins|Kueue only"}},
        {MODEL "  networkPolicy: {type: Jobs, extraIngress: [1]}\n",
         {"networkPolicy.type: found \"Jobs\" (did you mean Job?); allowed: one of Job, None",
          "extraIngress[0]: found 1; allowed: objects"}},
        {MODEL "  training:\n    batchSzie: 3\n    epochs: 0\n    seed: 1.5\n    l2: many\n"
               "    optimiser: {}\n",
         {"t.yaml:7: spec.training.batchSzie: unknown field; did you mean batchSize?",
          "t.yaml:8: spec.training.epochs: found 0; allowed: an integer from 1 to 1000000",
          "t.yaml:9: spec.training.seed: found 1.5; allowed: an integer from 0",
          "t.yaml:10: spec.training.l2: found \"many\"; allowed: a number from 0 to 1000000",
          "t.yaml:11: spec.training.optimiser: unknown field; did you mean optimizer?"}},
        {MODEL "  debug: {xyzzyplugh: 1}\n",
         {"spec.debug.xyzzyplugh: unknown field; allowed: checkReplicas, failNan, pushOrder, "
          "slowdown, gradientSeconds, jitter, bandwidth, latencySeconds"}},
        {MODEL "  training: 3\n", {"t.yaml:6: spec.training: found 3; allowed: an object"}},
        {MODEL "  training: {optimizer: {name: adma}}\n",
         {"found \"adma\" (did you mean adam?); allowed: one of sgd, adam, "}},
        {MODEL "  training: {optimizer: {name: sgd, beta1: 0.5}}\n",
         {"optimizer.beta1: found, but it belongs to spec.training.optimizer.name: adam|adamw "
          "only"}},
        {HEAD "  model: {name: fashion-cnn, hidden: [3]}\n",
         {"spec.model.hidden: found, but it belongs to spec.model.name: mlp only"}},
        {HEAD "  model: {name: mlp, hidden: [3, -1]}\n",
         {"spec.model.hidden[1]: found -1; allowed: integers from 1 to 1048576"}},
        {HEAD "  model: {name: mlp, hidden: [1,2,3,4,5,6,7,8,9]}\n", {"a list of 1 to 8 integers"}},
        {HEAD "  model: {}\n", {"t.yaml:5: spec.model: found neither name nor layers; needed"}},
        {HEAD "  model: {name: mlp, layers: [{type: relu}]}\n", {"found both name and layers"}},
        {HEAD "  model: {layers: []}\n", {"found []; allowed: a list of 1 to 256 layers"}},
        {HEAD "  model:\n    layers:\n    - {type: conv, kernel: [3, 3, 3]}\n    - 3\n"
              "    - {units: 3}\n    - {type: dense, units: 3, rate: 0.5}\n    - {type: dropout, "
              "rate: 1}\n",
         {"t.yaml:7: spec.model.layers[0].kernel: found [3,3,3]; allowed: an integer or a list of "
          "two",
          "t.yaml:7: spec.model.layers[0].filters: found nothing; needed: an integer from 1",
          "t.yaml:8: spec.model.layers[1]: found 3; allowed: an object with a type",
          "t.yaml:9: spec.model.layers[2].type: found nothing; needed: one of conv, dense",
          "t.yaml:10: spec.model.layers[3].rate: found, but it belongs to type: dropout only",
          "t.yaml:11: spec.model.layers[4].rate: found 1; allowed: a number from 0 to below 1"}},
        {MODEL "  dataset: {name: idx}\n",
         {"spec.dataset.path: found no path; needed with dataset.name idx"}},
        {MODEL "  dataset: {name: spectra, staging: stream}\n",
         {"t.yaml:6: spec.dataset.staging: found stream with something that needs every sample "
          "before the first step; allowed with stream: name images, idx, mnist, fashion-mnist, "
          "cifar10, cifar100, without maxDamaged, cachePath and a normalizeBy that is not given"}},
        {MODEL "  dataset: {name: arrays, path: d, staging: stream}\n",
         {"spec.dataset.staging: found stream with"}},
        {MODEL "  dataset: {name: cifar10, staging: stream, normalizeBy: pixel}\n",
         {"spec.dataset.staging: found stream with"}},
        {MODEL "  dataset: {rowConvert: false, normalizeBy: channel}\n",
         {"t.yaml:6: spec.dataset.rowConvert: found false with samples that are made anew in each "
          "batch; allowed with false: normalizeBy given, no augment and no name text or arrays"}},
        {MODEL "  dataset: {rowConvert: false, normalizeBy: pixel}\n", {"rowConvert: found false"}},
        {MODEL "  dataset: {rowConvert: false, augment: {flip: true}}\n",
         {"rowConvert: found false with samples"}},
        {MODEL "  dataset: {rowConvert: false, augment: {pad: 1}}\n",
         {"rowConvert: found false with samples"}},
        {HEAD "  model: {name: ptb-small}\n"
              "  dataset: {name: text, path: d, rowConvert: false}\n",
         {"rowConvert: found false with samples"}},
        {MODEL "  dataset: {name: arrays, path: d, rowConvert: false}\n",
         {"rowConvert: found false with samples"}},
        {MODEL "  dataset: {name: arrays, path: d, augment: {flip: true}}\n",
         {"spec.dataset.augment.flip: found what is done to pixels, with name arrays or csv; "
          "allowed there: none of it"}},
        {MODEL "  dataset: {name: images, path: d, cachePath: c, rowConvert: false}\n",
         {"spec.dataset.rowConvert: found false, and no place for floats; allowed with false: no "
          "cachePath, and no cache false"}},
        {MODEL
         "  dataset: {name: images, path: d, staging: stream, cache: false, rowConvert: false}\n",
         {"rowConvert: found false, and no place for floats"}},
        {MODEL "  dataset: {volume: {nfs: {}}}\n",
         {"t.yaml:6: spec.dataset.path: found no absolute path; needed with "
          "dataset.volume: an absolute path, where the volume is mounted"}},
        {MODEL "  dataset: {path: data, volume: {nfs: {}}}\n",
         {"spec.dataset.path: found no absolute path"}},
        {MODEL "  dataset: {path: /, volume: {nfs: {}}}\n",
         {"spec.dataset.path: found no absolute path"}},
        {MODEL "  dataset: {path: /d, volume: {nfs: {}, csi: {}}}\n",
         {"spec.dataset.volume: found {\"nfs\":{},\"csi\":{}}; allowed: an object with one of "
          "persistentVolumeClaim, hostPath,"}},
        {MODEL "  output: {volume: {}}\n", {"spec.output.volume: found {}; allowed: an object"}},
        {MODEL "  output: {volume: {emptyDir: {}}}\n", {"spec.output.volume: found {\"emptyDir\""}},
        {MODEL "  output: {subPath: a}\n",
         {"spec.output.subPath: found one without a volume; needed with it: spec.output.volume"}},
        {MODEL "  dataset: {normalize: {std: 0}}\n", {"found 0; allowed: a number above 0"}},
        {MODEL "  training: {lanes: 12}\n",
         {"spec.training.lanes: found 12; allowed: a power of two"}},
        {MODEL "  training: {batchSize: 2, lanes: 4}\n  replicas: {worker: {replicas: 3}}\n",
         {"t.yaml:6: spec.training.batchSize: found a batch of 2 for 3 workers"}},
        {MODEL "  training: {batchSize: 16}\n  replicas: {worker: {replicas: 5}}\n",
         {"t.yaml:7: spec.replicas.worker.replicas: found 5 workers for 4 lanes; allowed: at "
          "most"}},
        {MODEL "  replicas: {ps: {replicas: 1}}\n",
         {"ps.replicas: found 1; allowed with spec.model: 0, or strategy.type ParameterServer"}},
        {MODEL "  strategy: {type: ParameterServer}\n  training: {clipNorm: 2}\n",
         {"clipNorm: found a norm; allowed with ParameterServer and StrategySwitch: 0"}},
        {MODEL "  strategy: {type: ParameterServer, mode: async, groups: 1}\n",
         {"strategy.mode: found no servers; needed for StrategySwitch and for groups: "
          "replicas.ps"}},
        {MODEL "  strategy: {type: ParameterServer, mode: bounded, staleness: -1}\n"
               "  replicas: {ps: {replicas: 1}}\n",
         {"strategy.staleness: found -1; allowed: an integer from 0 to 1000000"}},
        {MODEL "  strategy: {type: ParameterServer, schedule: allAtOnce}\n"
               "  replicas: {ps: {replicas: 1}}\n",
         {"strategy.schedule: found one of servers; needed with oneAtATime and allAtOnce: "}},
        {MODEL "  strategy: {type: ParameterServer, mode: async, groups: 2}\n"
               "  replicas: {worker: {replicas: 3}, ps: {replicas: 1}}\n"
               "  debug: {bandwidth: 1Gi}\n",
         {"strategy.groups: found 2 for 3 workers, which 1, 3 divide; allowed: 0, or ",
          "strategy.algorithm: found mpi, ModelParallel or groups; allowed with debug.bandwidth "
          "or"}},
        {MODEL "  strategy: {type: ParameterServer, mode: bounded, maxStaleness: 2}\n"
               "  replicas: {ps: {replicas: 1}}\n",
         {"strategy.maxStaleness: found less than staleness; allowed: 0, or at least strategy."}},
        {MODEL "  strategy: {type: ParameterServer, mode: bounded}\n"
               "  replicas: {ps: {replicas: 1}}\n  training: {accumulate: 2}\n",
         {"strategy.mode: found join, or several batches per update; allowed for async"}},
        {MODEL "  strategy: {mode: async}\n",
         {"strategy.mode: found, but it belongs to spec.strategy.type: "
          "ParameterServer|StrategySwitch "
          "only"}},
        {MODEL "  strategy: {switch: {when: never, window: 3}}\n",
         {"spec.strategy.switch.when: found \"never\"; allowed: one of fraction, epoch, plateau",
          "spec.strategy.switch: found, but it belongs to spec.strategy.type: StrategySwitch "
          "only"}},
        {MODEL SWITCH "\n  replicas: {ps: {replicas: 1}}\n",
         {"spec.strategy.switch: found nothing; needed: an object"}},
        {MODEL SWITCH "\n    switch: {order: ServersFirst}\n  replicas: {ps: {replicas: 1}}\n",
         {"spec.strategy.switch.when: found nothing; needed: one of fraction, epoch"}},
        {MODEL SWITCH "\n    switch: {when: fraction, fraction: 0.5}\n",
         {"spec.strategy.mode: found no servers; needed for StrategySwitch and for groups: "
          "replicas.ps"}},
        {MODEL SWITCH "\n    mode: sync\n    switch: {when: fraction, fraction: 0.5}\n" SERVERS,
         {"spec.strategy.mode: found sync; allowed with StrategySwitch: async, bounded"}},
        {MODEL SWITCH "\n    switch: {when: fraction, fraction: 1}\n" SERVERS,
         {"spec.strategy.switch.fraction: found 1; allowed: a number above 0 to below 1"}},
        {MODEL SWITCH "\n    switch: {when: fraction, fraction: 0}\n" SERVERS,
         {"spec.strategy.switch.fraction: found 0; allowed: a number above 0 to below 1"}},
        {MODEL SWITCH "\n    switch: {when: plateau, window: 1}\n" SERVERS,
         {"spec.strategy.switch.fraction: found nothing; needed: a number above 0 to below 1",
          "spec.strategy.switch.window: found 1; allowed: an integer from 2 to 16"}},
        {MODEL SWITCH "\n    switch: {when: epoch, epoch: 5, threshold: 0.1}\n" SERVERS,
         {"switch.threshold: found, but it belongs to spec.strategy.switch.when: plateau only",
          "spec.strategy.switch.epoch: found too few epochs; needed: one before the switch and"}},
        {MODEL SWITCH "\n    switch: {when: fraction, fraction: 0.5}\n" SERVERS
                      "  training: {epochs: 1}\n",
         {"spec.strategy.switch.epoch: found too few epochs; needed: one before the switch and"}},
        {MODEL SWITCH "\n    switch: {when: epoch, epoch: 1, momentum: scale}\n" SERVERS,
         {"spec.strategy.switch.factor: found nothing; needed: a number from 0 to 1"}},
        {MODEL SWITCH
         "\n    switch: {when: epoch, epoch: 1, momentum: reset, rampEpochs: 1}\n" SERVERS
         "  training: {optimizer: {name: adam}}\n",
         {"switch.rampEpochs: found, but it belongs to spec.strategy.switch.momentum: ramp only",
          "spec.strategy.switch.momentum: found an optimiser without momentum; allowed then: "
          "keep"}},
        {MODEL SWITCH "\n    switch: {when: epoch, epoch: 1}\n" SERVERS
                      "  training: {clipNorm: 1, accumulate: 2}\n",
         {"spec.strategy.mode: found join, or several batches per update",
          "spec.training.clipNorm: found a norm; allowed with"}},
        {MODEL "  debug: {pushOrder: [0]}\n",
         {"debug.pushOrder: found another mode; allowed with strategy.mode async"}},
        {MODEL "  strategy: {type: LocalSGD}\n  training: {accumulate: 2}\n",
         {"strategy.type: found join, or several batches per update; allowed with LocalSGD"}},
        {MODEL "  strategy: {type: ParameterServer, backupWorkers: 1}\n"
               "  replicas: {worker: {replicas: 2}}\n",
         {"strategy.backupWorkers: found some without mode sync, a server or batch join; needed"}},
        {MODEL "  strategy: {type: ParameterServer, batch: join, backupWorkers: 2}\n"
               "  replicas: {worker: {replicas: 2}, ps: {replicas: 1}}\n",
         {"strategy.backupWorkers: found all workers, or more; allowed: fewer than workers"}},
        {MODEL "  strategy: {averageEvery: 2}\n",
         {"strategy.averageEvery: found, but it belongs to spec.strategy.type: LocalSGD|Elastic"}},
        {MODEL "  strategy: {type: ElasticAveraging, elasticForce: 0.3}\n"
               "  replicas: {worker: {replicas: 4}}\n",
         {"strategy.elasticForce: found more than its share for 4 workers; allowed: at most 1 / "}},
        {MODEL "  strategy: {batch: join}\n  training: {accumulate: 2}\n"
               "  replicas: {worker: {replicas: 3}}\n",
         {"strategy.batch: found 3 workers and 2 batches per update; allowed: split with"}},
        {MODEL "  training: {accumulate: 2}\n  replicas: {worker: {replicas: 2}}\n",
         {"strategy.batch: found 2 workers and 2 batches per update; allowed: split with"}},
        {MODEL "  training: {lastBatch: drop}\n  dataset: {limit: 100}\n",
         {"found a limit below a batch; allowed with drop"}},
        {MODEL "  training: {optimizer: {momentum: 0, nesterov: true}}\n",
         {"needed with nesterov"}},
        {MODEL "  training: {learningRateSchedule: {type: piecewise}}\n",
         {"boundaries: found nothing; needed", "values: found nothing; needed"}},
        {MODEL "  training: {learningRateSchedule: {type: piecewise, boundaries: [2, 2], "
               "values: [1, 2]}}\n",
         {"values: found 2 values for 2 boundaries", "boundaries: found 2 after 2; needed: each"}},
        {MODEL "  training: {epochs: 2, learningRateSchedule: {warmupEpochs: 2.5}}\n",
         {"warmupEpochs: found a longer warm-up; allowed: at most training.epochs"}},
        {MODEL "  strategy: {fusionBytes: 1Ki}\n", {"found \"1Ki\"; allowed: bytes"}},
        {MODEL "  strategy: {fusionBytes: 1e9Ki}\n", {"found \"1e9Ki\""}},
        {MODEL "  runPolicy: {suspend: 1}\n", {"found 1; allowed: true or false"}},
        {HEAD "  model: {name: mlp}\n  dataset: {path: ''}\n", {"a string that is not empty"}},
        {"apiVersion: paceline.dev/v1\nkind: TrainingJob\nmetadata: {name: A, labels: {a: 1}}\n"
         "spec: {model: {name: mlp}}",
         {"t.yaml:3: metadata.name: found \"A\"; allowed: 1 to 50 lower-case",
          "t.yaml:3: metadata.labels: found {\"a\":1}; allowed: an object whose values"}},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct problems problems = {0};
        struct job *job =
            job_parse(cases[i].text, strlen(cases[i].text), "t.yaml", NULL, 0, &problems);
        size_t wanted = 0;

        while (wanted < ARRAY_LEN(cases[i].wanted) && cases[i].wanted[wanted])
            wanted++;
        CHECK(job == NULL);
        CHECK_INT(problems.n, wanted);
        for (size_t k = 0; k < problems.n; k++)
            CHECK_CONTAINS(problems.items[k], k < wanted ? cases[i].wanted[k] : "nothing more");
        problems_release(&problems);
        job_free(job);
    }
}

/* It is there or not, and stays so in the effective spec. */
static void test_mpi(void)
{
#define COMMAND                                                                          \
    "  replicas: {worker: {template: {spec: {containers: [{name: c, image: i, command: " \
    "[a]}]}}}}\n"
    static const struct {
        const char *text, *wanted;
        int ranks;
    } cases[] = {
        {HEAD COMMAND, NULL, -1},
        {HEAD COMMAND "  mpi: {}\n", "\"mpi\":{},", -1},
        {HEAD COMMAND "  mpi: {ranksPerWorker: 4}\n", "\"mpi\":{\"ranksPerWorker\":4},", 4},
        {MODEL, NULL, -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_job) struct job *job = parse(cases[i].text, NULL, 0);
        AUTO(buf_release) struct buf out;

        buf_init(&out, 0);
        if (!job)
            continue;
        CHECK_INT(job->mpi.present, cases[i].wanted != NULL);
        CHECK_INT(job->mpi.ranks_per_worker, cases[i].ranks);
        CHECK_INT(job_launched(job), cases[i].wanted || job_builtin(job));
        job_to_json(job, &out);
        if (cases[i].wanted)
            CHECK_CONTAINS(out.data, cases[i].wanted);
        else
            CHECK(!strstr(out.data, "\"mpi\""));
    }
}

static void test_any_image(void)
{
    static const char text[] = HEAD "  replicas: {chief: {replicas: 1, template: {spec: "
                                    "{containers: [{name: c, image: i}]}}},\n"
                                    "    worker: {replicas: 0}}\n"
                                    "  networkPolicy: {extraIngress: [{from: []}]}\n";
    AUTO(auto_job) struct job *job = parse(text, NULL, 0);
    AUTO(buf_release) struct buf out;
    struct net net = {0};
    struct err err = {0};

    buf_init(&out, 0);
    if (!job)
        return;
    CHECK(!job_builtin(job));
    CHECK_INT(job->replicas[ROLE_CHIEF].replicas, 1);
    CHECK_INT(job->replicas[ROLE_CHIEF].restart, RESTART_NEVER);
    CHECK_INT(job->replicas[ROLE_WORKER].replicas, 0);
    CHECK_INT(job->min_workers, -1);
    CHECK_INT(job->max_workers, -1);
    CHECK_INT(job->run_policy.node_loss_seconds, 30);
    CHECK_INT(job->run_policy.fence_seconds, 30);
    CHECK(!job->run_policy.managed_by);
    CHECK_INT(job->scheduling.gang, GANG_NONE);
    CHECK_INT(job->scheduling.min_available, -1);
    CHECK(job->cluster_spec.list_evaluator);
    CHECK_INT(job->network.type, NETWORK_JOB);
    CHECK_STR(job->network.extra_ingress, "[{\"from\":[]}]");
    CHECK_INT(job_network(job, (struct shape){1, 28, 28}, 0, &net, &err), -1);
    CHECK_CONTAINS(err.msg, "spec.model: found nothing; needed: a network");
    job_to_json(job, &out);
    for (size_t i = 0; i < N_BUILTIN_SECTIONS; i++) {
        AUTO(auto_free) char *key = xasprintf("\"%s\":", spec_builtin_sections[i] + 5);

        CHECK(!strstr(out.data, key));
    }
    CHECK_CONTAINS(out.data, "\"chief\":{\"replicas\":1,");
}

static struct job *from_json(const char *text, struct problems *problems)
{
    AUTO(auto_json) cJSON *object = cJSON_Parse(text);

    CHECK(object != NULL);
    return job_from_json(object, problems);
}

/* A job from the API server, with its own fields, and with those of a later CRD. */
static void test_from_json(void)
{
    static const char good[] =
        "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"n\","
        "\"namespace\":\"ns\",\"uid\":\"u\",\"generateName\":\"n-\",\"deletionTimestamp\":\"t\","
        "\"selfLink\":1,\"labels\":{\"a\":\"b\"},\"managedFields\":[{}],\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\",\"c\":\"d\"}},"
        "\"spec\":{\"model\":{\"layers\":[{\"type\":\"flatten\"},{\"type\":\"dense\",\"units\":10,"
        "\"later\":1}]},\"training\":{\"epochs\":7,\"later\":{\"x\":1}},\"later\":[1]},"
        "\"status\":{\"world\":{}},\"more\":1}";
    static const char bad[] =
        "{\"apiVersion\":\"paceline.dev/"
        "v1\",\"kind\":\"TrainingJob\",\"metadata\":{\"name\":\"n\"},"
        "\"spec\":{\"model\":{\"name\":\"mlp\"},\"training\":{\"epochs\":0,\"lanes\":3},\"x\":1}}";
    static const char *const wanted[] = {
        "spec.training.epochs: found 0; allowed: an integer from 1 to 1000000",
        "spec.training.lanes: found 3; allowed: a power of two, or 0",
    };
    AUTO(problems_release) struct problems problems = {0};
    AUTO(auto_job) struct job *job = from_json(good, &problems);

    CHECK_INT(problems.n, 0);
    CHECK(job != NULL);
    if (job) {
        CHECK_STR(job->name, "n");
        CHECK_STR(job->namespace_, "ns");
        CHECK_STR(job->labels, "{\"a\":\"b\"}");
        CHECK_STR(job->annotations, "{\"c\":\"d\"}");
        CHECK_INT(job->training.epochs, 7);
        CHECK_INT(job->training.batch_size, 128);
        CHECK(job_builtin(job));
    }
    CHECK(from_json(bad, &problems) == NULL);
    CHECK_INT(problems.n, ARRAY_LEN(wanted));
    for (size_t i = 0; i < problems.n && i < ARRAY_LEN(wanted); i++) {
        CHECK_CONTAINS(problems.items[i], wanted[i]);
        CHECK(strncmp(problems.items[i], "spec.", 5) == 0);
    }
    problems_release(&problems);
    CHECK(from_json("[]", &problems) == NULL);
    CHECK_CONTAINS(problems.n ? problems.items[0] : NULL, "found no object");
    problems_release(&problems);
    CHECK(job_from_json(NULL, &problems) == NULL);
    CHECK_INT(problems.n, 1);
}

/* Servers are ranks, on one machine and on a cluster. */
static void test_servers(void)
{
    static const char *const sets[] = {"strategy.type=ParameterServer", "replicas.ps.replicas=2",
                                       "checkpoint.best=false"};
    AUTO(problems_release) struct problems problems = {0};
    AUTO(buf_release) struct buf json;
    AUTO(auto_job)
    struct job *job = job_parse(MODEL, strlen(MODEL), "t.yaml", sets, ARRAY_LEN(sets), &problems);
    AUTO(auto_job) struct job *again = NULL;

    buf_init(&json, 0);
    CHECK(job != NULL);
    CHECK_INT(problems.n, 0);
    if (!job)
        return;
    CHECK_INT(job_ranks(job), 3);
    job_warnings(job, &problems);
    job_to_json(job, &json);
    again = from_json(json.data, &problems);
    CHECK_INT(problems.n, 0);
    CHECK_INT(again ? job_ranks(again) : 0, 3);
}

/* Strings are counted in characters, as the API server does. */
static void test_lengths(void)
{
    static const struct {
        const char *character;
        int n;
        bool good;
    } cases[] = {
        {"a", 253, true}, {"a", 254, false}, {"\xc3\xa9", 253, true}, {"\xc3\xa9", 254, false}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_release) struct buf set;
        AUTO(problems_release) struct problems problems = {0};
        AUTO(auto_job) struct job *job = NULL;

        buf_init(&set, 0);
        buf_puts(&set, "runPolicy.schedulingPolicy.schedulerName=");
        for (int k = 0; k < cases[i].n; k++)
            buf_puts(&set, cases[i].character);
        job =
            job_parse(MODEL, sizeof MODEL - 1, "t", (const char *const[]){set.data}, 1, &problems);
        CHECK_INT(job != NULL, cases[i].good);
    }
}

/* Host names <job>-<role>-<index> fit a DNS label at the longest name and the highest index. */
static void test_host_names(void)
{
    AUTO(auto_free) char *name = xasprintf("%050d", 0);

    memset(name, 'a', 50);
    for (int role = 0; role < N_CLUSTER_ROLES; role++) {
        AUTO(auto_free)
        char *path = xasprintf("spec.replicas.%s.replicas", cluster_role_names[role]);
        const struct field *f = spec_field_find(path);
        AUTO(auto_free)
        char *host = xasprintf("%s-%s-%g", name, cluster_role_names[role], f->max - 1);
        AUTO(auto_free) char *set = xasprintf("metadata.name=%sa", name);
        AUTO(problems_release) struct problems problems = {0};

        CHECK(strlen(host) <= 63);
        CHECK(!job_parse(MODEL, sizeof MODEL - 1, "t", (const char *const[]){set}, 1, &problems));
    }
}

/* Selectors stand before the fields that depend on them; each default is allowed by its field. */
static void test_many_problems(void)
{
    AUTO(buf_release) struct buf text;
    struct problems problems = {0};

    buf_init(&text, 0);
    buf_puts(&text, MODEL);
    for (int i = 0; i < 150; i++)
        buf_printf(&text, "  unknownxyz%d: 1\n", i);
    CHECK(!job_parse(text.data, text.len, "t.yaml", NULL, 0, &problems));
    CHECK_INT(problems.n, 101);
    CHECK_STR(problems.n ? problems.items[100] : "", "t.yaml: 50 more problems");
    problems_release(&problems);
    CHECK(!job_load("/nonexistent/x.yaml", NULL, 0, &problems));
    CHECK_CONTAINS(problems.items[0], "/nonexistent/x.yaml: No such file");
    problems_release(&problems);
}

int main(void)
{
    test_defaults();
    test_optimizer_defaults();
    test_problems();
    test_any_image();
    test_mpi();
    test_from_json();
    test_servers();
    test_lengths();
    test_host_names();
    test_many_problems();
    return test_result();
}
