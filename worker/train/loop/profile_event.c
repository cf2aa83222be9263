#include "worker/train/loop/profile_event.h"

#include <math.h>
#include <string.h>

#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/train/telemetry/events.h"

/* TensorFlow's names, which study 000's tables have. ReLU and pooling after a convolution are
 * fused into it. */
static const struct {
    enum layer_type type;
    const char *rows[PROFILE_UPDATE]; /* of each part; NULL: the table has none */
} profile_event[] = {
    {LAYER_CONV, {"_FusedConv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"}},
    {LAYER_DENSE, {"_FusedMatMul", "MatMul", "MatMul"}},
    {LAYER_BATCHNORM, {"FusedBatchNormV3", "FusedBatchNormGradV3", NULL}},
    {LAYER_MAXPOOL, {"MaxPool", "MaxPoolGrad", NULL}},
    {LAYER_AVGPOOL, {"AvgPool", "AvgPoolGrad", NULL}},
    {LAYER_GLOBALAVGPOOL, {"AvgPool", "AvgPoolGrad", NULL}},
    {LAYER_RELU, {"Relu", "ReluGrad", NULL}},
    {LAYER_ADD, {"AddV2", "AddN", NULL}},
};

static const char *const part_names[N_PROFILE_PARTS] = {
    [PROFILE_FORWARD] = "forward",
    [PROFILE_BACKWARD] = "backward",
    [PROFILE_WEIGHTS] = "weights",
    [PROFILE_UPDATE] = "update",
};

bool profile_event_wanted(const struct trainer *t)
{
    for (size_t i = 0; i < t->job->training.n_profile; i++)
        if (t->job->training.profile[i] == t->at.epoch + 1)
            return true;
    return false;
}

/* The type by which the net knows a runtime layer; -1: the engine's own (packing). */
static int type_of(const struct trainer *t, const struct layer *l)
{
    for (size_t i = 0; i < t->net.n_layers; i++)
        if (t->net.layers[i].spec.name == l->name)
            return (int)t->net.layers[i].spec.type;
    return -1;
}

static const char *profile_event_row_of(const struct trainer *t, int type, int part)
{
    if (part == PROFILE_UPDATE)
        return t->job->training.optimizer.type == OPT_ADADELTA ? "ResourceApplyAdadelta" : NULL;
    for (size_t i = 0; i < ARRAY_LEN(profile_event); i++)
        if ((int)profile_event[i].type == type)
            return profile_event[i].rows[part];
    return NULL;
}

static void add_to(cJSON *rows, const char *name, double us)
{
    cJSON *row = cJSON_GetObjectItemCaseSensitive(rows, name);

    if (row)
        cJSON_SetNumberValue(row, round(row->valuedouble + us));
    else
        cJSON_AddNumberToObject(rows, name, round(us));
}

static void add_layer(const struct trainer *t, int layer, cJSON *layers, cJSON *rows)
{
    const struct layer *l = &t->model.layers[layer];
    const int type = type_of(t, l);
    cJSON *one = cJSON_CreateObject();

    cJSON_AddStringToObject(one, "layer", l->name ? l->name : l->ops->kind);
    cJSON_AddStringToObject(one, "kind", type < 0 ? l->ops->kind : layer_type_names[type]);
    for (int part = 0; part < N_PROFILE_PARTS; part++) {
        const double us = profile_us(t->profile, layer, (enum profile_part)part);
        const char *row = profile_event_row_of(t, type, part);

        if (us <= 0)
            continue;
        cJSON_AddNumberToObject(one, part_names[part], round(us));
        if (row)
            add_to(rows, row, us);
    }
    if (cJSON_GetArraySize(layers) < PROFILE_EVENT_LAYERS_MAX)
        cJSON_AddItemToArray(layers, one);
    else
        cJSON_Delete(one);
}

void profile_event_send(const struct trainer *t, int64_t epoch, const struct measured *from,
                        const struct measured *to)
{
    cJSON *e = event_new("profile"), *rows, *layers;

    cJSON_AddNumberToObject(e, "epoch", (double)epoch);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    rows = cJSON_AddObjectToObject(e, "rows");
    layers = cJSON_AddArrayToObject(e, "layers");
    for (int i = 0; i < t->model.n_layers; i++)
        add_layer(t, i, layers, rows);
    add_to(rows, "Dataset", 1e6 * (to->values[PHASE_DATA] - from->values[PHASE_DATA]));
    add_to(rows, "AllReduce",
           1e6 * (to->values[PHASE_COMMUNICATION] - from->values[PHASE_COMMUNICATION]));
    if (t->job->dataset.row_convert && !t->net.rows)
        add_to(rows, "PyFunc", 1e6 * (to->values[MEASURE_CONVERT] - from->values[MEASURE_CONVERT]));
    event_send(e);
}
