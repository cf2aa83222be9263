// LINK: cli/study/estimate.c cli/report/history.c cli/base/format.c common
/* The speeds that a study expects of a run: the curves of study 003, section 3.3. */
#include "cli/study/estimate.h"

#include <math.h>

#include "tests/unit/spec_text.h"

static void add(struct history *h, char *line)
{
    enum event_type type;
    cJSON *event = event_parse(line, strlen(line), &type);

    CHECK(event);
    history_add(h, type, event);
    free(line);
}

/* Table 6.1 in; the estimate of the study's report, and what was measured. */
static const struct estimate_example {
    double g, c;
    const char *spec;
    double speedup, samples_per_second, measured;
} examples[] = {
#define N(n, rest) "replicas: {worker: {replicas: " #n "}" rest
#define SERVER(n, accumulate, rest)                                                               \
    N(n, ", ps: {replicas: 1}}\n  training: {batchSize: 64, steps: 128, accumulate: " #accumulate \
         "}\n  strategy: {type: ParameterServer, " rest "}")
#define WORKERS(n, accumulate, rest)                                           \
    N(n, "}\n  training: {batchSize: 64, steps: 128, accumulate: " #accumulate \
         "}\n  strategy: {type: ParameterServer, " rest "}")
    {0.763, 0.210, SERVER(4, 4, "batch: join"), 1.43, 64 / 0.763, 1},
    {0.758, 0.033, SERVER(8, 8, "batch: join"), 5.18, 128 / 0.758, 2},
    {0.821, 0.811, WORKERS(8, 8, "batch: join"), 2.93, 64 / 0.821, 1},
    {0.758, 0.033, SERVER(4, 1, "batch: split"), 1.88, 32 / 0.758, 0.5},
    {0.763, 0.210, WORKERS(4, 1, "batch: split"), 1.51, 64 / 0.763, 1},
    {0.763, 0.210, SERVER(4, 1, "mode: async"), 1.67, 64 / 0.763, 1},
    {0.719, 5.153, SERVER(4, 1, "mode: async"), 0.09, 64 / 0.719, 1},
    {0.719, 5.153, "training: {batchSize: 64, steps: 128}", 1, 64 / 0.719, 1},
    {0.8, 0.1, N(2, "}\n  strategy: {type: LocalSGD}"), NAN, 64 / 0.8, NAN},
};

static void check_example(const struct estimate_example *x)
{
    AUTO(auto_free) char *text = xasprintf(MODEL "  %s\n", x->spec);
    AUTO(auto_job) struct job *job = parse(text, NULL, 0);
    AUTO(history_release) struct history run, times;
    const cJSON *estimate;

    history_init(&run);
    history_init(&times);
    add(&times, xasprintf("{\"event\":\"done\",\"gradientSeconds\":%g,\"transferSeconds\":%g}",
                          x->g, x->c));
    add(&run, xasprintf("{\"event\":\"done\",\"samplesPerSecond\":%.17g}", x->samples_per_second));
    CHECK(job);
    study_estimate(&run, job, &times, NULL, 0);
    estimate = cJSON_GetObjectItem(run.done, "estimate");
    CHECK(fabs(event_number(estimate, "speedup") - x->speedup) < 0.0051 ||
          (isnan(x->speedup) && isnan(event_number(estimate, "speedup"))));
    if (isfinite(x->measured))
        CHECK(fabs(event_number(estimate, "measured") - x->measured) < 1e-9);
    CHECK(isnan(x->speedup) || event_number(estimate, "best") >= event_number(estimate, "worst"));
}

/* Whole tensors, one of them most of the network: the study's curve is of equal shards, ours is
 * not. */
static void test_tensors(void)
{
    static const size_t tensors[] = {90, 5, 5};
    AUTO(auto_job)
    struct job *job = parse(MODEL "  replicas: {worker: {replicas: 2}}\n"
                                  "  training: {batchSize: 64, steps: 4}\n"
                                  "  strategy: {type: ParameterServer, placement: greedy}\n",
                            NULL, 0);
    AUTO(history_release) struct history run, times;
    const cJSON *estimate;

    history_init(&run);
    history_init(&times);
    add(&times, xstrdup("{\"event\":\"done\",\"gradientSeconds\":1,\"transferSeconds\":1}"));
    study_estimate(&run, job, &times, tensors, 3);
    CHECK(run.done == NULL); /* no run, no estimate */
    add(&run, xstrdup("{\"event\":\"done\",\"samplesPerSecond\":64}"));
    study_estimate(&run, job, &times, tensors, 3);
    estimate = cJSON_GetObjectItem(run.done, "estimate");
    CHECK(fabs(event_number(estimate, "speedup") - 1 / 1.5) < 1e-9);
    CHECK(fabs(event_number(estimate, "predicted") - 1 / 2.3) < 1e-9);
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_LEN(examples); i++)
        check_example(&examples[i]);
    test_tensors();
    return test_result();
}
