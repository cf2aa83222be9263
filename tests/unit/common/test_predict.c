// LINK: common
/* The throughput that a job should have: each strategy's formula, with what the job says. */
#include "paceline/predict.h"

#include <math.h>

#include "tests/unit/spec_text.h"

/* A batch of 64 samples in 16 lanes: a gradient of 0.8 s, a transfer of 0.1 s. */
static const struct estimate_costs costs = {.gradient_s = 0.8, .transfer_s = 0.1};

static const struct predict_example {
    const char *spec;
    double seconds; /* per batch */
} examples[] = {
    {"replicas: {worker: {replicas: 1}}", 0.8},
    {"replicas: {worker: {replicas: 4}}", 0.2 + 0.15},
    {"replicas: {worker: {replicas: 3}}", 0.3 + 0.1 * 8 / 3}, /* 6 lanes; sums: 2, 3 and 2 */
    {"replicas: {worker: {replicas: 3}}\n  strategy: {algorithm: ring}", 0.3 + 0.1 * 4 / 3},
    {"replicas: {worker: {replicas: 4}}\n  strategy: {algorithm: mpi}", 0.2 + 0.15},
    {"replicas: {worker: {replicas: 4}}\n  strategy: {algorithm: recursiveDoubling}", 0.2 + 0.2},
    {"replicas: {worker: {replicas: 4}}\n  strategy: {algorithm: naive}", 0.2 + 0.3},
    /* 4 batches on 3 workers: 1, 1 and 2 */
    {"replicas: {worker: {replicas: 3}}\n  strategy: {algorithm: ring, batch: join}\n"
     "  training: {accumulate: 4}",
     (1.6 + 0.1 * 4 / 3) / 4},
    /* 8 batches on 3 workers: 2, 3 and 3, in 1, 2 and 2 sums */
    {"replicas: {worker: {replicas: 3}}\n  strategy: {batch: join}\n  training: {accumulate: 8}",
     (2.4 + 0.2) / 8},
    {"replicas: {worker: {replicas: 4}}\n  strategy: {type: ParameterServer}", 0.2 + 0.15},
    {"replicas: {worker: {replicas: 4}, ps: {replicas: 1}}\n  strategy: {type: ParameterServer}",
     0.2 + 0.5},
    {"replicas: {worker: {replicas: 4}, ps: {replicas: 2}}\n  strategy: {type: ParameterServer}",
     0.2 + 0.25},
    {"replicas: {worker: {replicas: 2}, ps: {replicas: 1}}\n"
     "  strategy: {type: ParameterServer, mode: async}",
     (0.4 + 0.8) / 2},
    {"replicas: {worker: {replicas: 2}, ps: {replicas: 1}}\n"
     "  strategy: {type: ParameterServer, mode: async, transferSemaphore: true}\n"
     "  training: {steps: 4}",
     ((0.1 + 2 * 1.0) + 2 * 1.2) / 2 / 4},
#define JOIN                                                                                \
    "replicas: {worker: {replicas: 4}, ps: {replicas: 1}}\n  training: {accumulate: 4}\n  " \
    "strategy: "
    {JOIN "{type: ParameterServer, batch: join, schedule: oneAtATime}", (0.8 + 5 * 0.1) / 4},
    {JOIN "{type: ParameterServer, batch: join, schedule: allAtOnce}", (0.8 + 8 * 0.1) / 4},
    /* SGD with momentum: one slot */
    {"replicas: {worker: {replicas: 4}}\n  strategy: {type: LocalSGD, averageEvery: 8}",
     (8 * 0.8 + 2 * 0.15) / 32},
    {"replicas: {worker: {replicas: 16}, ps: {replicas: 1}}\n"
     "  strategy: {type: ParameterServer, mode: bounded, transferSemaphore: true}",
     (0.1 + 0.25) / 2},
};

static struct job *job_of(const char *spec)
{
    AUTO(auto_free) char *text = xasprintf(MODEL "  %s\n", spec);

    struct job *job = parse(text, NULL, 0);

    job->training.batch_size = 64;
    return job;
}

static void check_rates(void)
{
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        AUTO(auto_job) struct job *job = job_of(examples[i].spec);
        double seconds = 64 / predict_rate(job, &costs);

        if (fabs(seconds - examples[i].seconds) > 1e-5)
            TEST_FAIL("%s: %.6f s a batch, not %.6f", examples[i].spec, seconds,
                      examples[i].seconds);
    }
    CHECK(ARRAY_LEN(examples) > 0);
}

/* Tensors matter where they stay whole. */
static void check_tensors(void)
{
    static const size_t tensors[] = {30, 10};
    struct estimate_costs uneven = costs;
    AUTO(auto_job)
    struct job *job = job_of("replicas: {worker: {replicas: 2}}\n"
                             "  strategy: {type: ParameterServer}");

    uneven.tensors = tensors;
    uneven.n_tensors = 2;
    CHECK_NEAR(64 / predict_rate(job, &uneven), 0.4 + 0.1, 1e-9);
    job->strategy.placement = PLACEMENT_GREEDY;
    CHECK_NEAR(64 / predict_rate(job, &uneven), 0.4 + 0.15, 1e-9);
}

/* The speed of one worker with a server includes its transfers. */
static void check_gradient(void)
{
    AUTO(auto_job) struct job *alone = job_of("replicas: {worker: {replicas: 1}}");
    AUTO(auto_job)
    struct job *served = job_of("replicas: {worker: {replicas: 1}, ps: {replicas: 1}}\n"
                                "  strategy: {type: ParameterServer}");

    CHECK_NEAR(predict_gradient(alone, &costs, 80), 0.8, 1e-9);
    CHECK_NEAR(predict_gradient(served, &costs, 64), 0.8, 1e-9);
    CHECK(isnan(predict_gradient(served, &costs, 640)));
}

int main(void)
{
    check_rates();
    check_tensors();
    check_gradient();
    return test_result();
}
