// LINK: common
/* Questions to a parsed job: its text, its network, its promise, its warnings. */
#include "paceline/json.h"
#include "tests/unit/spec_text.h"

/* Every field of the table away from its default, once per value of each selector. */
static void test_round_trip(void)
{
    static const char *const texts[] = {
        "apiVersion: paceline.dev/v1\nkind: TrainingJob\n"
        "metadata: {name: a-b, namespace: n, labels: {x: 'y'}, annotations: {d/e: \"f\\n\"}, "
        "creationTimestamp: null, uid: u}\n"
        "status: {anything: 1}\n"
        "spec:\n"
        "  model:\n"
        "    loss: squaredError\n"
        "    initialWeights: /a/b\n"
        "    layers:\n"
        "    - {type: conv, name: first, filters: 3, kernel: [3, 5], stride: [1, 2], padding: "
        "same,\n"
        "       initializer: glorot, bias: false, frozen: true}\n"
        "    - {type: avgpool, kernel: 2}\n"
        "    - {type: sigmoid}\n"
        "    - {type: dropout, rate: 0.30000000000000004}\n"
        "    - {type: dense, units: 10, initializer: zero}\n"
        "  dataset: {name: idx, path: '/x y', validationSplit: 0.1, normalize: {mean: 0.1, std: "
        "0.2},\n"
        "    prefetch: 0, shuffle: false, limit: 1000}\n"
        "  training: {epochs: 9, steps: 77, batchSize: 96, lanes: 16, lastBatch: drop,\n"
        "    seed: 9007199254740991, threads: 2, l2: 1e-4, clipNorm: 0.1,\n"
        "    optimizer: {name: rmsprop, learningRate: 0.0123456789012345678, rho: 0.7, momentum: "
        "0.2,\n"
        "      epsilon: 1e-300, epsilonInside: true, centered: true},\n"
        "    learningRateSchedule: {type: piecewise, boundaries: [1, 2.5], values: [1, 0.1, "
        "0.01],\n"
        "      warmupEpochs: 0.5, warmupFrom: 0.1}}\n"
        "  checkpoint: {everyEpochs: 0, everySteps: 5, everySeconds: 6, keep: 7, best: false}\n"
        "  strategy: {algorithm: ring, schedule: end, wire: bf16, fusionBytes: 1Mi,\n"
        "    communicationThread: true}\n"
        "  replicas: {worker: {replicas: 3, template: {spec: {containers: [{name: c, image: "
        "i}]}}},\n"
        "    ps: {template: {}, restartPolicy: Always}, chief: {replicas: 0}}\n"
        "  runPolicy: {cleanPodPolicy: All, backoffLimit: 0, ttlSecondsAfterFinished: 0,\n"
        "    activeDeadlineSeconds: 1, suspend: true}\n"
        "  debug: {checkReplicas: 4, failNan: true}\n",
        MODEL "  strategy: {type: LocalSGD, averageEvery: 3, localFrom: 2, waitSeconds: 9}\n",
        MODEL "  strategy: {type: ParameterServer, batch: join, backupWorkers: 1}\n"
              "  replicas: {worker: {replicas: 2}, ps: {replicas: 1}}\n  debug: {pushOrder: [0]}\n",
        MODEL "  strategy: {type: ElasticAveraging, averageEvery: 3, elasticForce: 0.25}\n",
        MODEL "  training: {optimizer: {name: adamw, weightDecay: 0.3}, "
              "learningRateSchedule: {type: exponential, decayRate: 0.7, decayEpochs: 2}}\n",
        HEAD "  model: {name: mlp, hidden: [7]}\n"
             "  training: {optimizer: {name: adagrad, initialAccumulator: 0.1}, "
             "learningRateSchedule: {type: cosine, minFactor: 0.25}}\n",
        HEAD
        "  replicas:\n"
        "    chief: {replicas: 1, restartPolicy: ExitCode, template: {spec: {containers: [{name: "
        "c, image: i}]}}}\n"
        "    worker: {replicas: 4, minReplicas: 2, maxReplicas: 4096, restartPolicy: OnFailure,\n"
        "      template: {spec: {containers: [{name: c, image: i}]}}}\n"
        "    ps: {replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}\n"
        "    evaluator: {replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}\n"
        "  runPolicy: {successPolicy: AllWorkers, scalePolicy: Dynamic, nodeLossSeconds: 0,\n"
        "    fenceSeconds: 7, managedBy: other/one, schedulingPolicy: {gang: Volcano, queue: q,\n"
        "      schedulerName: s, priorityClass: high, minAvailable: 8}}\n"
        "  clusterSpec: {listEvaluator: false}\n"
        "  networkPolicy: {type: None, extraIngress: [{from: []}, {}]}\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO(auto_job) struct job *job = parse(texts[i], NULL, 0);
        AUTO(auto_job) struct job *again = NULL;
        AUTO(buf_release) struct buf first, second;

        buf_init(&first, 0);
        buf_init(&second, 0);
        if (!job)
            continue;
        job_to_json(job, &first);
        again = parse(first.data, NULL, 0);
        if (!again)
            continue;
        job_to_json(again, &second);
        CHECK_STR(second.data, first.data);
        CHECK(again->training.optimizer.learning_rate == job->training.optimizer.learning_rate);
        CHECK(again->training.seed == job->training.seed);
        if (i != 0)
            continue;
        CHECK_CONTAINS(first.data, "\"seed\":9007199254740991");
        CHECK_CONTAINS(first.data, "\"rate\":0.30000000000000004");
        CHECK_CONTAINS(
            first.data,
            "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
        CHECK_CONTAINS(first.data, "\"labels\":{\"x\":\"y\"}");
        CHECK_CONTAINS(first.data, "\"kernel\":[3,5],\"stride\":[1,2]");
        CHECK_INT(again->run_policy.ttl_seconds, 0);
        CHECK_INT(again->strategy.fusion_bytes, 1048576);
        CHECK(!strstr(first.data, "beta1"));
    }
}

static void test_network(void)
{
    static const struct {
        const char *text, *message;
        size_t params;
    } cases[] = {
        {HEAD "  model: {name: fashion-cnn}\n", NULL, 3274634},
        {HEAD "  model: {name: mlp, hidden: [5]}\n", NULL, 785 * 5 + 60},
        {HEAD "  model: {layers: [{type: conv, filters: 3, kernel: 3}]}\n",
         "spec.model: the last layer gives a 3x26x26 image", 0},
        {HEAD "  model: {layers: [{type: flatten}]}\n", "no parameters to train", 0},
        {HEAD "  model: {layers: [{type: dense, units: 3}]}\n", "spec.model: layer dense1: ", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_job) struct job *job = parse(cases[i].text, NULL, 0);
        AUTO(net_release) struct net net = {0};
        struct err err = {0};

        if (!job)
            continue;
        CHECK_INT(job_network(job, (struct shape){1, 28, 28}, 0, &net, &err),
                  cases[i].message ? -1 : 0);
        CHECK_INT(net.params, cases[i].params);
        CHECK_CONTAINS(err.msg, cases[i].message ? cases[i].message : "");
    }
}

static void test_lanes_and_promise(void)
{
    static const struct {
        int batch, lanes;
    } cases[] = {{1, 1}, {7, 1}, {8, 2}, {32, 8}, {127, 16}, {128, 32}, {256, 64}, {4096, 64}};
    struct job job = {0};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        job.training.batch_size = cases[i].batch;
        CHECK_INT(job_lanes(&job), cases[i].lanes);
    }
    job.training.lanes = 512;
    CHECK_INT(job_lanes(&job), 512);
    CHECK_STR(job_promise(&job), "same bytes on any number of workers");
    job.strategy.wire = WIRE_BF16;
    CHECK_STR(job_promise(&job), "same bytes on every run at this number of workers");
    job.strategy.algorithm = ALGO_MPI;
    CHECK_STR(job_promise(&job), "all replicas equal");
    job.strategy.algorithm = ALGO_NAIVE;
    CHECK_STR(job_promise(&job), "same bytes on every run at this number of workers");
    job.strategy.wire = WIRE_FP32;
    CHECK_STR(job_promise(&job), "same bytes on any number of workers");
    job.strategy.algorithm = ALGO_RECURSIVE_DOUBLING;
    CHECK_STR(job_promise(&job), "same bytes on any number of workers");
    job.strategy.algorithm = ALGO_TREE;
    job.strategy.wire = WIRE_FP32;
    job.strategy.type = STRATEGY_LOCAL_SGD;
    CHECK_STR(job_promise(&job), "same bytes on every run at this number of workers");
}

static void test_warnings(void)
{
    static const char *const sets[] = {"checkpoint.best=false", "training.threads=4",
                                       "training.lanes=8", "replicas.worker.replicas=2"};

    for (size_t n = 3; n <= 4; n++) {
        AUTO(auto_job) struct job *job = parse(MODEL, sets, n);
        struct problems warnings = {0};

        if (job)
            job_warnings(job, &warnings);
        CHECK_INT(warnings.n, 0);
        problems_release(&warnings);
        if (job)
            job->training.lanes = 4;
        if (job)
            job_warnings(job, &warnings);
        CHECK_INT(warnings.n, n - 3);
        problems_release(&warnings);
    }
}

/* The best checkpoint is chosen by the test set where nothing else is there to choose by. */
static void test_best(void)
{
    static const struct {
        const char *sets[2];
        size_t n, warnings;
    } cases[] = {
        {{NULL}, 0, 1},
        {{"checkpoint.best=false"}, 1, 0},
        {{"dataset.validationSplit=0.1"}, 1, 0},
        {{"dataset.path=x", "dataset.name=text"}, 2, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_job) struct job *job = parse(MODEL, cases[i].sets, cases[i].n);
        AUTO(problems_release) struct problems warnings = {0};

        if (job)
            job_warnings(job, &warnings);
        CHECK_INT(warnings.n, cases[i].warnings);
        if (warnings.n)
            CHECK_CONTAINS(warnings.items[0], "spec.checkpoint.best: found true without a valid");
    }
}

int main(void)
{
    test_round_trip();
    test_network();
    test_lanes_and_promise();
    test_warnings();
    test_best();
    return test_result();
}
