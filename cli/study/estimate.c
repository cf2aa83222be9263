#include "cli/study/estimate.h"

#include <math.h>

/* A number, or null where there is none. */
static void study_estimate_add(cJSON *object, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

void study_estimate(struct history *h, const struct job *job, const struct history *calibration,
                    const size_t *tensors, size_t n_tensors)
{
    const double batch = (double)job->training.batch_size;
    const int workers = (int)job->replicas[ROLE_WORKER].replicas;
    struct estimate_costs costs = {
        .gradient_s = event_number(calibration->done, "gradientSeconds"),
        .transfer_s = event_number(calibration->done, "transferSeconds"),
        .batches = (double)job->training.steps, /* async only, where a step is a batch */
    };
    const double alone = batch / costs.gradient_s; /* samples per second */
    struct estimate e = {NAN, NAN, NAN};
    enum estimate_server server;
    enum estimate_type type;
    cJSON *estimate;

    if (!h->done)
        return;
    if (predict_case(job, &type, &server))
        e = estimate_training(&costs, type, server, workers);
    costs.tensors = tensors;
    costs.n_tensors = n_tensors;
    estimate = cJSON_AddObjectToObject(h->done, "estimate");
    study_estimate_add(estimate, "speedup", estimate_speedup(&costs, e.mean_s));
    study_estimate_add(estimate, "best", estimate_speedup(&costs, e.best_s));
    study_estimate_add(estimate, "worst", estimate_speedup(&costs, e.worst_s));
    study_estimate_add(estimate, "predicted", predict_rate(job, &costs) / alone);
    study_estimate_add(estimate, "measured", event_number(h->done, "samplesPerSecond") / alone);
}
