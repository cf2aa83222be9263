/*
 * A net in double precision, written from the definitions of its layers and nothing else: plain
 * [C][H][W]. Only the dropout masks are the engine's.
 */
#ifndef PACELINE_TEST_NET_REFERENCE_H
#define PACELINE_TEST_NET_REFERENCE_H

#include <math.h>

#include "worker/model/model.h"

struct reference {
    const struct model *model; /* for its masks */
    bool training;             /* else dropout changes nothing */
    double **params;           /* in the model's order, each as model_export gives it */
    double **measured;         /* of running statistics: what the last pass would add to them */
    int lanes;
};

static inline size_t shape_values(struct shape s)
{
    return (size_t)s.c * (size_t)s.h * (size_t)s.w;
}

static inline void reference_init(struct reference *r, const struct model *m)
{
    *r = (struct reference){m, true, xcalloc((size_t)m->n_params, sizeof *r->params),
                            xcalloc((size_t)m->n_params, sizeof *r->params), 1};
    for (int i = 0; i < m->n_params; i++) {
        const struct param *p = &m->params[i];
        size_t n = param_elements(p);
        AUTO(auto_free) float *flat = xmalloc(n * sizeof *flat);
        model_export(m, p, flat, m->weights);
        r->params[i] = xmalloc(n * sizeof **r->params);
        r->measured[i] = xcalloc(n, sizeof **r->measured);
        for (size_t e = 0; e < n; e++)
            r->params[i][e] = (double)flat[e];
    }
}

static inline void reference_release(struct reference *r)
{
    for (int i = 0; i < r->model->n_params; i++) {
        free(r->params[i]);
        free(r->measured[i]);
    }
    free(r->params);
    free(r->measured);
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

/* The place at which the engine has value f of a plain [C][H][W] output. */
static inline size_t value_index(const struct layer *l, size_t f)
{
    const size_t rows = (size_t)l->rows;

    return rows > 1 ? f % rows * (l->out_floats / rows) + f / rows : map_index(l->out, f);
}

/* 1/(1-rate) where the engine's last pass kept value f of sample i, else 0. */
static inline double reference_kept(const struct model *m, size_t number, uint32_t i, size_t f)
{
    for (int k = 0; k < m->n_layers; k++) {
        const struct layer *l = &m->layers[k];
        if (!l->mask || l->number != number)
            continue;
        size_t at = i * l->out_floats + value_index(l, f);
        return l->mask[at / 16] >> at % 16 & 1 ? 1 / (1 - l->rate) : 0;
    }
    return NAN;
}

/* Of one channel, by the moments of all of its position. */
static inline double reference_layernorm(const struct net_layer *l, double *const *params,
                                         const double *x, int c, int position)
{
    const int positions = l->in.h * l->in.w, n = l->in.c;
    double mean = 0, variance = 0;

    for (int k = 0; k < n; k++)
        mean += x[k * positions + position] / n;
    for (int k = 0; k < n; k++)
        variance += pow(x[k * positions + position] - mean, 2) / n;
    return params[0][c] * (x[c * positions + position] - mean) / sqrt(variance + l->spec.epsilon) +
           params[1][c];
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
            sum += r->params[param][c * l->in.c + k] * x[k * l->in.w + v];
        return sum + (l->spec.bias ? r->params[param + 1][c] : 0);
    case LAYER_EMBEDDING:
        return r->params[param][(int)x[v] * l->out.c + c];
    case LAYER_MAXPOOL:
    case LAYER_AVGPOOL:
        return reference_pool(l, x, c, h, v);
    case LAYER_LRN:
        for (int k = c - l->spec.size / 2; k <= c + l->spec.size / 2; k++)
            sum += k >= 0 && k < l->in.c ? pow(x[(k * l->in.h + h) * l->in.w + v], 2) : 0;
        return x[f] / pow(l->spec.k + l->spec.alpha * sum, l->spec.beta);
    case LAYER_RELU:
        return x[f] > 0 ? x[f] : 0;
    case LAYER_SIGMOID:
        return 1 / (1 + exp(-x[f]));
    case LAYER_LAYERNORM:
        return reference_layernorm(l, &r->params[param], x, c, h * l->out.w + v);
    case LAYER_GELU:
        return x[f] * erfc(-x[f] / sqrt(2)) / 2;
    case LAYER_TANH:
        return tanh(x[f]);
    case LAYER_DROPOUT:
        return r->training ? x[f] * reference_kept(r->model, number, i, f) : x[f];
    case LAYER_FLATTEN:
        return x[f];
    case LAYER_SLICE:
        return x[f + (size_t)(l->spec.first * l->in.h * l->in.w)];
    case LAYER_INPUT:
        return x[f + (size_t)l->spec.first];
    case LAYER_PADCHANNELS:
        return f < shape_values(l->in) ? x[f] : 0;
    case LAYER_GLOBALAVGPOOL:
        for (int k = 0; k < l->in.h * l->in.w; k++)
            sum += x[(int)f * l->in.h * l->in.w + k];
        return sum / (l->in.h * l->in.w);
    default:
        return NAN; /* not of one sample, or not of one input */
    }
}

/* Batch normalisation of channel c of samples [begin, end): by their own moments, or, where these
 * do not count, by the running ones. */
static inline void reference_norm(const struct reference *r, size_t number, int c, uint32_t begin,
                                  uint32_t end, uint32_t n, double *y, const double *x, int param)
{
    const struct net_layer *l = &r->model->net->layers[number];
    const size_t pixels = (size_t)(l->in.h * l->in.w), row = shape_values(l->in);
    const double values = (double)((end - begin) * pixels), share = (double)(end - begin) / n;
    double mean = 0, variance = 0,
           *running[] = {&r->params[param + 2][c], &r->params[param + 3][c]};

    for (size_t i = 0; i < (end - begin) * pixels; i++)
        mean += x[(begin + i / pixels) * row + (size_t)c * pixels + i % pixels] / values;
    for (size_t i = 0; i < (end - begin) * pixels; i++) {
        double d = x[(begin + i / pixels) * row + (size_t)c * pixels + i % pixels] - mean;
        variance += d * d / values;
    }
    r->measured[param + 2][c] += share * l->spec.momentum * (mean - *running[0]);
    r->measured[param + 3][c] +=
        share * l->spec.momentum *
        (variance * (l->spec.unbiased && values > 1 ? values / (values - 1) : 1) - *running[1]);
    if (!r->training || l->spec.frozen) {
        mean = *running[0];
        variance = *running[1];
    }
    for (size_t i = 0; i < (end - begin) * pixels; i++) {
        size_t at = (begin + i / pixels) * row + (size_t)c * pixels + i % pixels;
        y[at] = r->params[param][c] * (x[at] - mean) / sqrt(variance + l->spec.epsilon) +
                r->params[param + 1][c];
    }
}

/* Lane by lane, each in as many groups as it has room for. */
static inline void reference_batchnorm(const struct reference *r, size_t number, uint32_t n,
                                       double *y, const double *x, int param)
{
    const struct net_layer *l = &r->model->net->layers[number];
    const uint32_t lanes = (uint32_t)r->lanes, group = (uint32_t)l->spec.group;

    for (int k = 2; k < 4; k++)
        memset(r->measured[param + k], 0, (size_t)l->in.c * sizeof(double));
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t begin = lane * n / lanes, size = (lane + 1) * n / lanes - begin;
        uint32_t groups = size / group > 1 ? size / group : 1;
        for (uint32_t g = 0; size && g < groups; g++)
            for (int c = 0; c < l->in.c; c++)
                reference_norm(r, number, c, begin + g * size / groups,
                               begin + (g + 1) * size / groups, n, y, x, param);
    }
}

/* One position of an LSTM: h and c become the next ones, x (with a stride) is the input. */
static inline void reference_cell(const struct net_layer *l, double *const *params, const double *x,
                                  size_t stride, double *h, double *c)
{
    const int units = l->out.c;
    double a[4 * 64];

    for (int o = 0; o < 4 * units; o++) {
        a[o] = params[2][o];
        for (int k = 0; k < l->in.c; k++)
            a[o] += params[0][o * l->in.c + k] * x[(size_t)k * stride];
        for (int k = 0; k < units; k++)
            a[o] += params[1][o * units + k] * h[k];
        a[o] = o / units == 2 ? tanh(a[o]) : 1 / (1 + exp(-a[o]));
    }
    for (int u = 0; u < units; u++) {
        c[u] = a[units + u] * c[u] + a[u] * a[2 * units + u];
        h[u] = a[3 * units + u] * tanh(c[u]);
    }
}

/* The states are parameters; in evaluation what the last training pass has ended with. */
static inline void reference_lstm(const struct reference *r, size_t number, uint32_t n, double *y,
                                  const double *x, int param)
{
    const struct net_layer *l = &r->model->net->layers[number];
    const size_t units = (size_t)l->out.c, rows = (size_t)l->out.w, in = shape_values(l->in);
    double **begin = r->training ? r->params : r->measured, h[64], c[64];

    for (uint32_t i = 0; i < n; i++) {
        memcpy(h, begin[param + 3] + i * units, units * sizeof *h);
        memcpy(c, begin[param + 4] + i * units, units * sizeof *c);
        for (size_t t = 0; t < rows; t++) {
            reference_cell(l, r->params + param, x + i * in + t, rows, h, c);
            for (size_t u = 0; u < units; u++)
                y[(i * units + u) * rows + t] = h[u];
        }
        if (!r->training)
            continue;
        memcpy(r->measured[param + 3] + i * units, h, units * sizeof *h);
        memcpy(r->measured[param + 4] + i * units, c, units * sizeof *c);
    }
}

/* Value f of a sum of inputs or of their channels one after the other. */
static inline double reference_joined(const struct net *net, size_t number, double *const *out,
                                      uint32_t i, size_t f)
{
    const struct net_layer *l = &net->layers[number];
    double sum = 0;

    for (int k = 0; k < l->n_inputs; k++) {
        size_t from = (size_t)(l->inputs[k] + 1);
        size_t row = shape_values(from ? net->layers[from - 1].out : net->in);
        if (l->spec.type == LAYER_ADD)
            sum += out[from][i * row + f];
        else if (f < row)
            return out[from][i * row + f];
        else
            f -= row;
    }
    return sum;
}

/* The outputs of the net's layer `layer` for the n samples of the engine's last pass; the caller
 * owns them. */
static inline double *reference_layer(const struct reference *r, const float *images, uint32_t n,
                                      size_t layer)
{
    const struct net *net = r->model->net;
    double **out = xcalloc(net->n_layers + 1, sizeof *out), *last; /* out[0]: the samples */
    int param = 0;

    out[0] = xmalloc(n * shape_values(net->in) * sizeof **out);
    for (size_t f = 0; f < n * shape_values(net->in); f++)
        out[0][f] = (double)images[f];
    for (size_t k = 0; k < net->n_layers; k++) {
        const struct net_layer *l = &net->layers[k];
        const size_t row = shape_values(l->out), in = shape_values(l->in);
        const double *x = out[l->inputs[0] + 1];
        double *y = out[k + 1] = xmalloc(n * row * sizeof *y);
        if (l->spec.type == LAYER_BATCHNORM)
            reference_batchnorm(r, k, n, y, x, param);
        if (l->spec.type == LAYER_LSTM)
            reference_lstm(r, k, n, y, x, param);
        const bool done = l->spec.type == LAYER_BATCHNORM || l->spec.type == LAYER_LSTM;
        for (uint32_t i = 0; i < n && !done; i++)
            for (size_t f = 0; f < row; f++)
                y[i * row + f] = l->n_inputs > 1 ? reference_joined(net, k, out, i, f)
                                                 : reference_value(r, k, i, x + i * in, param, f);
        param += (l->weights > 0) + (l->biases > 0) + 2 * (l->spec.type == LAYER_BATCHNORM) +
                 3 * (l->spec.type == LAYER_LSTM);
    }
    last = out[layer + 1];
    for (size_t k = 0; k <= net->n_layers; k++)
        if (k != layer + 1)
            free(out[k]);
    free(out);
    return last;
}

/* Those of the network. */
static inline double *reference_forward(const struct reference *r, const float *images, uint32_t n)
{
    return reference_layer(r, images, n, r->model->net->n_layers - 1);
}

/* The mean over the outputs of a loss of numbers or bits, by libm. */
static inline double reference_values(enum loss_type type, double delta, const double *y, int n,
                                      const float *t)
{
    double sum = 0;

    for (int k = 0; k < n; k++) {
        const double d = fabs(y[k] - (double)t[k]);

        if (type == LOSS_MSE)
            sum += d * d;
        else if (type == LOSS_MAE)
            sum += d;
        else if (type == LOSS_HUBER)
            sum += d < delta ? 0.5 * d * d : delta * d - 0.5 * delta * delta;
        else
            sum += t[k] > 0 ? log1p(exp(-y[k])) : log1p(exp(y[k]));
    }
    return sum / n;
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
