#include "paceline/net.h"

#include <float.h>
#include <math.h>

#include "common/net_names.h"
#include "paceline/mem.h"

/* Larger sizes are mistakes, and products of three of them still fit an int64_t. */
#define MAX_SIZE NET_INPUT_MAX
#define MAX_VALUES INT32_MAX

const char *const layer_type_names[] = {
    [LAYER_CONV] = "conv",
    [LAYER_DENSE] = "dense",
    [LAYER_MAXPOOL] = "maxpool",
    [LAYER_AVGPOOL] = "avgpool",
    [LAYER_GLOBALAVGPOOL] = "globalavgpool",
    [LAYER_BATCHNORM] = "batchnorm",
    [LAYER_LRN] = "lrn",
    [LAYER_ADD] = "add",
    [LAYER_CONCAT] = "concat",
    [LAYER_PADCHANNELS] = "padchannels",
    [LAYER_SLICE] = "slice",
    [LAYER_INPUT] = "input",
    [LAYER_RELU] = "relu",
    [LAYER_SIGMOID] = "sigmoid",
    [LAYER_TANH] = "tanh",
    [LAYER_DROPOUT] = "dropout",
    [LAYER_FLATTEN] = "flatten",
    [LAYER_EMBEDDING] = "embedding",
    [LAYER_LSTM] = "lstm",
    [LAYER_LSTM + 1] = NULL,
};

static bool is_join(enum layer_type type) { return type == LAYER_ADD || type == LAYER_CONCAT; }

/* One axis of a windowed layer. */
struct net_axis {
    int size, kernel, stride; /* given */
    int out, pad;             /* pad: before the image */
    int64_t taps;             /* kernel positions inside the image, over all outputs */
};

/* How many positions of windows lie beyond one end, where the outermost lies `most` beyond it and
 * each further one a stride less. */
static int64_t axis_overhang(const struct net_axis *a, int64_t most)
{
    int64_t n = most > 0 ? (most + a->stride - 1) / a->stride : 0;

    n = n < a->out ? n : a->out;
    return n * most - a->stride * (n * (n - 1) / 2);
}

static void axis_derive(struct net_axis *a, enum padding padding)
{
    int total = 0;

    if (padding == PAD_SAME) {
        a->out = (a->size + a->stride - 1) / a->stride;
        total = (a->out - 1) * a->stride + a->kernel - a->size;
    } else {
        a->out = (a->size - a->kernel) / a->stride + 1;
    }
    a->pad = total > 0 ? total / 2 : 0;
    /* By the spec one job has hundreds of windows over a million positions: never one by one. */
    a->taps = (int64_t)a->out * a->kernel - axis_overhang(a, a->pad) -
              axis_overhang(a, (int64_t)(a->out - 1) * a->stride + a->kernel - a->pad - a->size);
}

/* n is a double because the product may be beyond any integer. */
static int set_weights(struct net_layer *l, double n, struct err *err)
{
    if (n > MAX_VALUES)
        return err_set(err, ERR_INVALID, "layer %s: found %.0f weights; at most %d are allowed",
                       l->spec.name, n, MAX_VALUES);
    l->weights = (size_t)n;
    return 0;
}

static int window_derive(struct net_layer *l, struct err *err)
{
    struct layer_spec *s = &l->spec;
    struct net_axis y, x;

    for (int i = 0; i < 2; i++) {
        if (s->stride[i] == 0)
            s->stride[i] = s->type == LAYER_CONV ? 1 : s->kernel[i];
        if (s->kernel[i] < 1 || s->kernel[i] > MAX_SIZE || s->stride[i] < 1 ||
            s->stride[i] > MAX_SIZE)
            return err_set(
                err, ERR_INVALID, "layer %s: found kernel %dx%d, stride %dx%d; allowed are 1 to %d",
                s->name, s->kernel[0], s->kernel[1], s->stride[0], s->stride[1], MAX_SIZE);
    }
    if (s->padding == PAD_VALID && (s->kernel[0] > l->in.h || s->kernel[1] > l->in.w))
        return err_set(err, ERR_INVALID,
                       "layer %s: its %dx%d kernel does not fit into the %dx%d image it gets; "
                       "a smaller kernel or padding: same would",
                       s->name, s->kernel[0], s->kernel[1], l->in.h, l->in.w);
    y = (struct net_axis){.size = l->in.h, .kernel = s->kernel[0], .stride = s->stride[0]};
    x = (struct net_axis){.size = l->in.w, .kernel = s->kernel[1], .stride = s->stride[1]};
    axis_derive(&y, s->padding);
    axis_derive(&x, s->padding);
    l->pad_top = y.pad;
    l->pad_left = x.pad;
    l->out = (struct shape){s->type == LAYER_CONV ? s->units : l->in.c, y.out, x.out};
    if (s->type != LAYER_CONV)
        return 0;
    l->flops_forward = 2.0 * s->units * l->in.c * (double)y.taps * (double)x.taps;
    return set_weights(l, (double)s->units * l->in.c * s->kernel[0] * s->kernel[1], err);
}

/* A dense layer of a text works on each of its positions. */
static int dense_derive(struct net_layer *l, struct err *err)
{
    if (l->rows) {
        l->out = (struct shape){l->spec.units, 1, l->in.w};
        l->flops_forward = 2.0 * l->spec.units * l->in.c * l->in.w;
        return set_weights(l, (double)l->spec.units * l->in.c, err);
    }
    if (l->in.h != 1 || l->in.w != 1)
        return err_set(err, ERR_INVALID,
                       "layer %s: a dense layer gets a %dx%dx%d image; it takes a flat vector, "
                       "so a flatten layer must come before it",
                       l->spec.name, l->in.c, l->in.h, l->in.w);
    l->out = (struct shape){l->spec.units, 1, 1};
    l->flops_forward = 2.0 * l->spec.units * l->in.c;
    return set_weights(l, (double)l->spec.units * l->in.c, err);
}

static int embedding_derive(struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    if (l->inputs[0] >= 0 || l->in.c != 1 || l->in.h != 1)
        return err_set(err, ERR_INVALID,
                       "layer %s: an embedding gets %dx%dx%d values; it takes the samples "
                       "themselves, of a text",
                       s->name, l->in.c, l->in.h, l->in.w);
    if (s->vocabulary < 1 || s->vocabulary > MAX_SIZE)
        return err_set(err, ERR_INVALID, "layer %s: found a vocabulary of %d; allowed are 1 to %d",
                       s->name, s->vocabulary, MAX_SIZE);
    l->rows = true;
    l->out = (struct shape){s->units, 1, l->in.w};
    return set_weights(l, (double)s->units * s->vocabulary, err);
}

/* Four gates, each of the input and of the hidden state. */
static int lstm_derive(struct net_layer *l, struct err *err)
{
    const double weights = 4.0 * l->spec.units * ((double)l->in.c + l->spec.units);

    if (!l->rows)
        return err_set(err, ERR_INVALID,
                       "layer %s: an lstm gets a %dx%dx%d image; it takes a sequence, so an "
                       "embedding must come before it",
                       l->spec.name, l->in.c, l->in.h, l->in.w);
    l->out = (struct shape){l->spec.units, 1, l->in.w};
    l->biases = 4 * (size_t)l->spec.units;
    l->flops_forward = 2 * weights * l->in.w;
    return set_weights(l, weights, err);
}

/* The layers that may follow an embedding. */
static bool takes_rows(enum layer_type type)
{
    return type == LAYER_DENSE || type == LAYER_DROPOUT || type == LAYER_ADD ||
           type == LAYER_RELU || type == LAYER_SIGMOID || type == LAYER_TANH || type == LAYER_LSTM;
}

/* Whether the layer's inputs are rows; -1: some are. */
static int rows_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    for (int i = 0; i < l->n_inputs; i++) {
        const bool rows = l->inputs[i] >= 0 && net->layers[l->inputs[i]].rows;

        if (i > 0 && rows != l->rows)
            return err_set(err, ERR_INVALID,
                           "layer %s: one of its inputs is a sequence and another one is not",
                           l->spec.name);
        l->rows = rows;
    }
    if (l->rows && !takes_rows(l->spec.type))
        return err_set(err, ERR_INVALID,
                       "layer %s: it gets a sequence of %d positions; allowed there: lstm, dense, "
                       "dropout, relu, sigmoid, tanh, add",
                       l->spec.name, l->in.w);
    return 0;
}

static double values(struct shape s) { return (double)s.c * s.h * s.w; }

static struct shape output_of(const struct net *net, int layer)
{
    return layer < 0 ? net->in : net->layers[layer].out;
}

/* What several inputs become: as many channels as all have, or a sum of equal shapes. */
static int join_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const bool concat = l->spec.type == LAYER_CONCAT;
    int64_t channels = l->in.c;

    for (int i = 1; i < l->n_inputs; i++) {
        struct shape s = output_of(net, l->inputs[i]);

        if (s.h != l->in.h || s.w != l->in.w || (!concat && s.c != l->in.c))
            return err_set(err, ERR_INVALID, "layer %s: its inputs are %dx%dx%d and %dx%dx%d; %s",
                           l->spec.name, l->in.c, l->in.h, l->in.w, s.c, s.h, s.w,
                           concat ? "concat takes images of one height and width"
                                  : "add takes equal shapes");
        channels += s.c;
    }
    if (concat && channels > MAX_SIZE)
        return err_set(err, ERR_INVALID, "layer %s: found %lld channels; at most %d are allowed",
                       l->spec.name, (long long)channels, MAX_SIZE);
    if (concat)
        l->in.c = (int)channels;
    return 0;
}

static int batchnorm_derive(struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    if (!(s->epsilon > 0) || !(s->momentum >= 0 && s->momentum <= 1) || s->group < 1)
        return err_set(err, ERR_INVALID,
                       "layer %s: found epsilon %g, momentum %g, group %d; allowed: epsilon above "
                       "0, momentum 0 to 1, group at least 1",
                       s->name, s->epsilon, s->momentum, s->group);
    l->weights = l->biases = (size_t)l->in.c;
    return 0;
}

static int lrn_derive(struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    if (s->size < 1 || s->size > LRN_MAX || s->size % 2 == 0)
        return err_set(err, ERR_INVALID,
                       "layer %s: found size %d; allowed: an odd number from 1 to %d, as many "
                       "channels before a channel as after it and itself",
                       s->name, s->size, LRN_MAX);
    if (!(s->alpha >= 0) || !(s->beta >= 0) || !(s->k > 0))
        return err_set(err, ERR_INVALID,
                       "layer %s: found alpha %g, beta %g, k %g; allowed: alpha and beta of at "
                       "least 0, k above 0",
                       s->name, s->alpha, s->beta, s->k);
    if (!(pow(s->k, -s->beta) <= FLT_MAX) || !((float)s->k > 0)) /* what divides an input of 0 */
        return err_set(err, ERR_INVALID,
                       "layer %s: found k %g and beta %g; allowed: k, and k to the power of -beta, "
                       "that a float of 32 bits can be",
                       s->name, s->k, s->beta);
    return 0;
}

static int padchannels_derive(struct net_layer *l, struct err *err)
{
    if (l->spec.units < l->in.c)
        return err_set(err, ERR_INVALID,
                       "layer %s: found filters %d for an input of %d channels; needed: as many at "
                       "least, for it adds channels of zeros",
                       l->spec.name, l->spec.units, l->in.c);
    l->out.c = l->spec.units;
    return 0;
}

static int slice_derive(struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    if (s->first < 0 || s->first > l->in.c - s->units)
        return err_set(err, ERR_INVALID,
                       "layer %s: found first %d, filters %d for an input of %d channels, which "
                       "are counted from 0; needed: channels that are there",
                       s->name, s->first, s->units, l->in.c);
    l->out.c = s->units;
    return 0;
}

struct shape net_input_shape(const struct layer_spec *s)
{
    struct shape shape = {0};
    double n = s->n_shape == 1 || s->n_shape == 3;

    for (size_t i = 0; i < s->n_shape; i++)
        n = s->shape[i] < 1 ? 0 : n * (double)s->shape[i];
    if (n < 1 || n > MAX_SIZE)
        return shape;
    shape = (struct shape){(int)s->shape[0], 1, 1};
    if (s->n_shape == 3) {
        shape.h = (int)s->shape[1];
        shape.w = (int)s->shape[2];
    }
    return shape;
}

/* The next values of a sample: input layers share them out in their order. */
static int input_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const struct shape shape = net_input_shape(&l->spec);
    double first = 0;

    if (shape.c == 0)
        return err_set(
            err, ERR_INVALID,
            "layer %s: found a shape that no input has; needed: the size of a vector, or "
            "channels, height and width, of at most %d values",
            l->spec.name, MAX_SIZE);
    if (l->inputs[0] >= 0)
        return err_set(err, ERR_INVALID,
                       "layer %s: found an input with `inputs`; it takes what the samples have",
                       l->spec.name);
    for (size_t i = 0; i + 1 < net->n_layers; i++)
        if (net->layers[i].spec.type == LAYER_INPUT)
            first += values(net->layers[i].out);
    if (first + values(shape) > values(l->in))
        return err_set(err, ERR_INVALID,
                       "layer %s: found an input of %.0f values after %.0f; samples of %dx%dx%d "
                       "have no more than %.0f",
                       l->spec.name, values(shape), first, l->in.c, l->in.h, l->in.w,
                       values(l->in));
    l->spec.first = (int)first;
    l->out = shape;
    return 0;
}

static int flatten_derive(struct net_layer *l, struct err *err)
{
    (void)err;
    l->out = (struct shape){l->in.c * l->in.h * l->in.w, 1, 1};
    return 0;
}

static int globalavgpool_derive(struct net_layer *l, struct err *err)
{
    (void)err;
    l->out = (struct shape){l->in.c, 1, 1};
    return 0;
}

/* What the layer's own fields allow. */
static int fields_derive(struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;
    const bool filters =
        s->type == LAYER_CONV || s->type == LAYER_PADCHANNELS || s->type == LAYER_SLICE;
    const bool units =
        s->type == LAYER_DENSE || s->type == LAYER_EMBEDDING || s->type == LAYER_LSTM;

    if ((filters || units) && (s->units < 1 || s->units > MAX_SIZE))
        return err_set(err, ERR_INVALID, "layer %s: found %d %s; allowed are 1 to %d", s->name,
                       s->units, filters ? "filters" : "units", MAX_SIZE);
    if (s->type == LAYER_DROPOUT && !(s->rate >= 0 && s->rate < 1))
        return err_set(err, ERR_INVALID, "layer %s: found rate %g; allowed is 0 to below 1",
                       s->name, s->rate);
    if ((s->type == LAYER_CONV || s->type == LAYER_DENSE) && s->bias)
        l->biases = (size_t)s->units;
    return 0;
}

/* The layer's output shape, counts and FLOPs from its input shape. */
static int layer_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    static int (*const derive[])(struct net_layer * l, struct err * err) = {
        [LAYER_CONV] = window_derive,
        [LAYER_DENSE] = dense_derive,
        [LAYER_MAXPOOL] = window_derive,
        [LAYER_AVGPOOL] = window_derive,
        [LAYER_GLOBALAVGPOOL] = globalavgpool_derive,
        [LAYER_BATCHNORM] = batchnorm_derive,
        [LAYER_LRN] = lrn_derive,
        [LAYER_PADCHANNELS] = padchannels_derive,
        [LAYER_SLICE] = slice_derive,
        [LAYER_FLATTEN] = flatten_derive,
        [LAYER_EMBEDDING] = embedding_derive,
        [LAYER_LSTM] = lstm_derive,
    };
    const size_t type = l->spec.type;

    if (rows_derive(net, l, err) || fields_derive(l, err))
        return -1;
    if (is_join(l->spec.type) && join_derive(net, l, err))
        return -1;
    l->out = l->in;
    if (l->spec.type == LAYER_INPUT && input_derive(net, l, err))
        return -1;
    if (type < ARRAY_LEN(derive) && derive[type] && derive[type](l, err))
        return -1;
    if (values(l->out) > MAX_VALUES)
        return err_set(err, ERR_INVALID,
                       "layer %s: found an output of %dx%dx%d; at most %d values are allowed",
                       l->spec.name, l->out.c, l->out.h, l->out.w, MAX_VALUES);
    return 0;
}

/* The number of the layer of this name; -1: the samples; -2: none. */
static int layer_number(const struct net_names *names, const struct net *net, const char *name)
{
    int number = net_names_find(names, net, name);

    return number < 0 && strcmp(name, NET_INPUT) != 0 ? -2 : number;
}

/* Finds the inputs of the last layer. */
static int inputs_add(struct net *net, const struct net_names *names, const struct layer_spec *spec,
                      struct err *err)
{
    struct net_layer *l = &net->layers[net->n_layers - 1];
    const size_t n = spec->n_inputs ? spec->n_inputs : 1;

    if (is_join(spec->type) ? n < 2 || n > NET_INPUTS_MAX : n > 1)
        return err_set(err, ERR_INVALID, "layer %s: found %zu inputs; allowed for %s: %s",
                       l->spec.name, n, layer_type_names[spec->type],
                       is_join(spec->type) ? "2 to 64, named by `inputs`" : "one");
    l->inputs = xcalloc(n, sizeof *l->inputs);
    l->n_inputs = (int)n;
    l->inputs[0] = spec->type == LAYER_INPUT ? -1 : (int)net->n_layers - 2;
    for (size_t i = 0; i < spec->n_inputs; i++) {
        l->inputs[i] = layer_number(names, net, spec->inputs[i]);
        if (l->inputs[i] < -1)
            return err_set(
                err, ERR_INVALID,
                "layer %s: its input %s is no layer before it; allowed: the name of one, "
                "or " NET_INPUT " for the samples",
                l->spec.name, spec->inputs[i]);
    }
    for (int i = 0; i < l->n_inputs; i++)
        if (l->inputs[i] >= 0)
            net->layers[l->inputs[i]].n_users++;
    l->in = output_of(net, l->inputs[0]);
    return 0;
}

static int layer_add(struct net *net, struct net_names *names, const struct layer_spec *spec,
                     struct err *err)
{
    struct net_layer *l = &net->layers[net->n_layers];
    int twin;

    *l = (struct net_layer){.spec = *spec};
    l->spec.name = net_names_new(net, spec);
    l->spec.inputs = NULL;
    l->spec.n_inputs = 0;
    net->n_layers++;
    twin = net_names_find(names, net, l->spec.name);
    if (twin >= 0)
        return err_set(err, ERR_INVALID,
                       "layer %s: layers %d and %zu have this name; names must be unique",
                       l->spec.name, twin + 1, net->n_layers);
    if (inputs_add(net, names, spec, err) || layer_derive(net, l, err))
        return -1;
    net_names_add(names, net);
    net->out = l->out;
    net->rows = l->rows;
    net->n_sides += l->spec.loss_weight > 0;
    net->params += l->weights + l->biases;
    return 0;
}

/* Backward: the weights' gradient unless frozen, the data's when a layer below is trained. */
static double flops_train(const struct net *net)
{
    AUTO(auto_free) bool *trained = xcalloc(net->n_layers, sizeof *trained); /* up to there */
    double flops = 0;

    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *l = &net->layers[i];
        const bool itself = !l->spec.frozen && l->weights + l->biases > 0;
        bool below = false;

        for (int k = 0; k < l->n_inputs; k++)
            below |= l->inputs[k] >= 0 && trained[l->inputs[k]];
        trained[i] = itself || below;
        flops += l->flops_forward * (1 + itself + below);
    }
    return flops;
}

/* A side output is scored as the network's is. */
static int check_side(const struct net *net, const struct net_layer *l, struct err *err)
{
    const double weight = l->spec.loss_weight;
    const struct shape a = l->out, b = net->out;

    if (!(weight > 0 && weight < INFINITY))
        return err_set(err, ERR_INVALID, "layer %s: found lossWeight %g; allowed: above 0",
                       l->spec.name, weight);
    if (l == &net->layers[net->n_layers - 1])
        return err_set(err, ERR_INVALID,
                       "layer %s: found lossWeight %g on the last layer, whose loss counts once; "
                       "allowed: on layers before it",
                       l->spec.name, weight);
    if (l->n_users)
        return err_set(err, ERR_INVALID,
                       "layer %s: found lossWeight %g, but a layer takes its output; allowed: "
                       "where none does",
                       l->spec.name, weight);
    if (a.c != b.c || a.h != b.h || a.w != b.w || l->rows != net->rows)
        return err_set(err, ERR_INVALID,
                       "layer %s: its output with a lossWeight is %dx%dx%d; needed: %dx%dx%d, as "
                       "the last layer's, since both are scored alike",
                       l->spec.name, a.c, a.h, a.w, b.c, b.h, b.w);
    return 0;
}

/* Values that no input layer takes are a mistake in the shapes. */
static int check_inputs(const struct net *net, struct err *err)
{
    double taken = 0;

    for (size_t i = 0; i < net->n_layers; i++)
        if (net->layers[i].spec.type == LAYER_INPUT)
            taken += values(net->layers[i].out);
    if (taken == 0 || taken == values(net->in))
        return 0;
    return err_set(err, ERR_INVALID,
                   "layers of type input: found %.0f values in all; samples of %dx%dx%d have %.0f",
                   taken, net->in.c, net->in.h, net->in.w, values(net->in));
}

/* A layer whose output no layer takes would be computed for nothing: a mistake in the names. */
static int net_check_outputs(const struct net *net, struct err *err)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *l = &net->layers[i];

        if (l->spec.loss_weight != 0 && check_side(net, l, err) != 0)
            return -1;
        if (!l->n_users && i + 1 < net->n_layers && l->spec.loss_weight == 0)
            return err_set(err, ERR_INVALID,
                           "layer %s: no layer takes its output; needed: one that names it in "
                           "`inputs`, as only the last layer's output is the network's, or a "
                           "lossWeight for a loss of its own",
                           l->spec.name);
    }
    return 0;
}

int net_build(struct net *net, const struct layer_spec *layers, size_t n_layers, struct shape in,
              struct err *err)
{
    AUTO(net_names_release) struct net_names names = {0};

    *net = (struct net){.in = in, .out = in, .layers = xcalloc(n_layers, sizeof *net->layers)};
    if (in.c < 1 || in.h < 1 || in.w < 1 || in.c > MAX_SIZE || in.h > MAX_SIZE || in.w > MAX_SIZE ||
        values(in) > MAX_VALUES) {
        net_release(net);
        return err_set(err, ERR_INVALID, "samples of shape %dx%dx%d; sizes of 1 to %d are allowed",
                       in.c, in.h, in.w, MAX_SIZE);
    }
    net_names_init(&names, n_layers);
    for (size_t i = 0; i < n_layers; i++) {
        if (layer_add(net, &names, &layers[i], err)) {
            net_release(net);
            return -1;
        }
    }
    if (check_inputs(net, err) || net_check_outputs(net, err)) {
        net_release(net);
        return -1;
    }
    net->flops_train = flops_train(net);
    return 0;
}

void net_release(struct net *net)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        free(net->layers[i].spec.name);
        free(net->layers[i].inputs);
    }
    free(net->layers);
    *net = (struct net){0};
}

bool net_follows(const struct net *net, size_t i)
{
    const struct net_layer *next = &net->layers[i + 1];

    return i + 1 < net->n_layers && next->n_inputs == 1 && next->inputs[0] == (int)i &&
           net->layers[i].n_users == 1;
}

const struct net_layer *net_branch(const struct net *net)
{
    for (size_t i = 0; i + 1 < net->n_layers; i++)
        if (!net_follows(net, i))
            return &net->layers[net->layers[i].n_users > 1 ? i : i + 1];
    return NULL;
}
