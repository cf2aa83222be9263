#include "paceline/losses.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const struct loss_def loss_defs[N_LOSSES] = {
    [LOSS_SOFTMAX_CROSS_ENTROPY] = {"softmaxCrossEntropy", LABELS_CLASS},
    [LOSS_SQUARED_ERROR] = {"squaredError", LABELS_CLASS},
    [LOSS_MSE] = {"mse", LABELS_NUMBERS},
    [LOSS_MAE] = {"mae", LABELS_NUMBERS},
    [LOSS_HUBER] = {"huber", LABELS_NUMBERS},
    [LOSS_SIGMOID_CROSS_ENTROPY] = {"sigmoidCrossEntropy", LABELS_BITS},
};

#define CLASS (1u << LABELS_CLASS)
#define WORDS (1u << LABELS_WORDS)
#define NUMBERS (1u << LABELS_NUMBERS)
#define BITS (1u << LABELS_BITS)

const struct metric_def metric_defs[N_METRICS] = {
    [METRIC_LOSS] = {"loss", false, false, CLASS | WORDS | NUMBERS | BITS},
    [METRIC_ACCURACY] = {"accuracy", true, false, CLASS | WORDS | BITS},
    [METRIC_PERPLEXITY] = {"perplexity", false, false, WORDS},
    [METRIC_BINARY_ACCURACY] = {"binaryAccuracy", true, false, BITS},
    [METRIC_MAE] = {"mae", false, false, NUMBERS},
    [METRIC_RMSE] = {"rmse", false, false, NUMBERS},
    [METRIC_R2] = {"r2", true, true, NUMBERS},
    [METRIC_PRECISION] = {"precision", true, true, CLASS | BITS},
    [METRIC_RECALL] = {"recall", true, true, CLASS | BITS},
    [METRIC_F1] = {"f1", true, true, CLASS | BITS},
};

enum label_kind job_labels(const struct job *job)
{
    return job_named_set(job)->of == SAMPLES_WORDS ? LABELS_WORDS
                                                   : loss_defs[job->model.loss].labels;
}

struct metric_key metric_key(const char *set, enum metric metric)
{
    const char *name = metric_defs[metric].name;
    struct metric_key key;

    snprintf(key.s, sizeof key.s, "%s%c%s", set, *set ? toupper(*name) : *name, name + 1);
    return key;
}

enum metric metric_of_best(enum label_kind kind)
{
    return kind == LABELS_CLASS ? METRIC_ACCURACY : METRIC_LOSS;
}
