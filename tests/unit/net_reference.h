/*
 * A net in double precision, written from the definitions of its layers and nothing else: plain
 * [C][H][W], one sample at a time. Only the dropout masks are the engine's.
 */
#ifndef PACELINE_TEST_NET_REFERENCE_H
#define PACELINE_TEST_NET_REFERENCE_H

#include <math.h>

#include "worker/model/model.h"

struct reference {
    const struct model *model; /* for its masks */
    bool training;             /* else dropout changes nothing */
    double **params;           /* in the model's order, each as model_export gives it */
};

static inline size_t shape_values(struct shape s)
{
    return (size_t)s.c * (size_t)s.h * (size_t)s.w;
}

static inline void reference_init(struct reference *r, const struct model *m)
{
    *r = (struct reference){m, true, xcalloc((size_t)m->n_params, sizeof *r->params)};
    for (int i = 0; i < m->n_params; i++) {
        const struct param *p = &m->params[i];
        size_t n = param_elements(p);
        AUTO(auto_free) float *flat = xmalloc(n * sizeof *flat);
        model_export(m, p, flat, m->weights);
        r->params[i] = xmalloc(n * sizeof **r->params);
        for (size_t e = 0; e < n; e++)
            r->params[i][e] = (double)flat[e];
    }
}

static inline void reference_release(struct reference *r)
{
    for (int i = 0; i < r->model->n_params; i++)
        free(r->params[i]);
    free(r->params);
}

static inline double reference_conv(const struct net_layer *l, const double *x, const double *w,
                                    int k, int oh, int ow)
{
    const int *kernel = l->spec.kernel;
    double sum = 0;
    for (int i = 0; i < l->in.c * kernel[0] * kernel[1]; i++) {
        int c = i / (kernel[0] * kernel[1]), r = i / kernel[1] % kernel[0], s = i % kernel[1];
        int h = oh * l->spec.stride[0] - l->pad_top + r;
        int v = ow * l->spec.stride[1] - l->pad_left + s;
        if (h >= 0 && h < l->in.h && v >= 0 && v < l->in.w)
            sum += x[(c * l->in.h + h) * l->in.w + v] *
                   w[(size_t)k * (size_t)(l->in.c * kernel[0] * kernel[1]) + (size_t)i];
    }
    return sum;
}

static inline double reference_pool(const struct net_layer *l, const double *x, int c, int oh,
                                    int ow)
{
    double sum = 0, largest = -INFINITY;
    int n = 0;
    for (int i = 0; i < l->spec.kernel[0] * l->spec.kernel[1]; i++) {
        int h = oh * l->spec.stride[0] - l->pad_top + i / l->spec.kernel[1];
        int v = ow * l->spec.stride[1] - l->pad_left + i % l->spec.kernel[1];
        if (h < 0 || h >= l->in.h || v < 0 || v >= l->in.w)
            continue;
        double value = x[(c * l->in.h + h) * l->in.w + v];
        sum += value;
        largest = value > largest ? value : largest;
        n++;
    }
    return l->spec.type == LAYER_MAXPOOL ? largest : sum / n;
}

/* 1/(1-rate) where the engine's last pass kept value f of sample i, else 0. */
static inline double reference_kept(const struct model *m, size_t number, uint32_t i, size_t f)
{
    for (int k = 0; k < m->n_layers; k++) {
        const struct layer *l = &m->layers[k];
        if (!l->mask || l->number != number)
            continue;
        size_t at = i * l->out_floats + map_index(l->out, f);
        return l->mask[at / 16] >> at % 16 & 1 ? 1 / (1 - l->rate) : 0;
    }
    return NAN;
}

static inline double reference_value(const struct reference *r, size_t number, uint32_t i,
                                     const double *x, int param, size_t f)
{
    const struct net_layer *l = &r->model->net->layers[number];
    int c = (int)f / (l->out.h * l->out.w), h = (int)f / l->out.w % l->out.h;
    int v = (int)f % l->out.w;
    double sum = 0;
    switch (l->spec.type) {
    case LAYER_CONV:
        sum = reference_conv(l, x, r->params[param], c, h, v);
        return sum + (l->spec.bias ? r->params[param + 1][c] : 0);
    case LAYER_DENSE:
        for (int k = 0; k < l->in.c; k++)
            sum += r->params[param][f * (size_t)l->in.c + (size_t)k] * x[k];
        return sum + (l->spec.bias ? r->params[param + 1][f] : 0);
    case LAYER_MAXPOOL:
    case LAYER_AVGPOOL:
        return reference_pool(l, x, c, h, v);
    case LAYER_RELU:
        return x[f] > 0 ? x[f] : 0;
    case LAYER_SIGMOID:
        return 1 / (1 + exp(-x[f]));
    case LAYER_TANH:
        return tanh(x[f]);
    case LAYER_DROPOUT:
        return r->training ? x[f] * reference_kept(r->model, number, i, f) : x[f];
    case LAYER_FLATTEN:
        return x[f];
    }
    return NAN;
}

/* The outputs for sample i of the engine's last pass; the caller owns them. */
static inline double *reference_forward(const struct reference *r, const float *image, uint32_t i)
{
    const struct net *net = r->model->net;
    size_t n = shape_values(net->in);
    double *x = xmalloc(n * sizeof *x);
    int param = 0;

    for (size_t f = 0; f < n; f++)
        x[f] = (double)image[f];
    for (size_t k = 0; k < net->n_layers; k++) {
        const struct net_layer *l = &net->layers[k];
        n = shape_values(l->out);
        double *y = xmalloc(n * sizeof *y);
        for (size_t f = 0; f < n; f++)
            y[f] = reference_value(r, k, i, x, param, f);
        param += (l->weights > 0) + (l->biases > 0);
        free(x);
        x = y;
    }
    return x;
}

/* Softmax cross-entropy or half the squared distance, of one sample. */
static inline double reference_loss(enum loss_type type, const double *y, int n, int label)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        double d = y[k] - (k == label);
        sum += type == LOSS_SQUARED_ERROR ? 0.5 * d * d : exp(y[k] - y[label]);
    }
    return type == LOSS_SQUARED_ERROR ? sum : log(sum);
}

#endif
