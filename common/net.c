#include "paceline/net.h"

#include "paceline/mem.h"

/* Larger sizes are mistakes, and products of three of them still fit an int64_t. */
#define MAX_SIZE (1 << 20)
#define MAX_VALUES INT32_MAX

#define CONV(filters, k, pad)                                                           \
    {                                                                                   \
        .type = LAYER_CONV, .units = (filters), .kernel = {(k), (k)}, .padding = (pad), \
        .bias = true                                                                    \
    }
#define DENSE(outputs)                                        \
    {                                                         \
        .type = LAYER_DENSE, .units = (outputs), .bias = true \
    }
#define MAXPOOL                                                     \
    {                                                               \
        .type = LAYER_MAXPOOL, .kernel = {2, 2}, .stride = { 2, 2 } \
    }
#define DROPOUT(share)                         \
    {                                          \
        .type = LAYER_DROPOUT, .rate = (share) \
    }
#define RELU               \
    {                      \
        .type = LAYER_RELU \
    }
#define FLATTEN               \
    {                         \
        .type = LAYER_FLATTEN \
    }

static const struct layer_spec fashion_cnn[] = {
    CONV(32, 5, PAD_SAME),
    RELU,
    MAXPOOL,
    CONV(64, 5, PAD_SAME),
    RELU,
    MAXPOOL,
    FLATTEN,
    DENSE(1024),
    RELU,
    DROPOUT(0.4),
    DENSE(10),
};
static const struct layer_spec mnist_cnn[] = {
    CONV(32, 3, PAD_VALID),
    RELU,
    CONV(64, 3, PAD_VALID),
    RELU,
    MAXPOOL,
    DROPOUT(0.25),
    FLATTEN,
    DENSE(128),
    RELU,
    DROPOUT(0.5),
    DENSE(10),
};
static const struct layer_spec mlp[] = {
    FLATTEN, DENSE(256), RELU, DENSE(128), RELU, DENSE(10),
};

const struct net_def net_defs[] = {
    {"fashion-cnn",
     "two 5x5 convolutions and a dense layer of 1024, for Fashion-MNIST",
     {1, 28, 28},
     fashion_cnn,
     ARRAY_LEN(fashion_cnn)},
    {"mnist-cnn",
     "two 3x3 convolutions and a dense layer of 128, for MNIST",
     {1, 28, 28},
     mnist_cnn,
     ARRAY_LEN(mnist_cnn)},
    {"mlp",
     "dense layers with ReLU; spec.model.hidden gives their sizes",
     {1, 28, 28},
     mlp,
     ARRAY_LEN(mlp)},
};
const size_t n_net_defs = ARRAY_LEN(net_defs);

const struct net_def *net_def_find(const char *name)
{
    for (size_t i = 0; i < n_net_defs; i++)
        if (strcmp(net_defs[i].name, name) == 0)
            return &net_defs[i];
    return NULL;
}

const char *const layer_type_names[] = {
    [LAYER_CONV] = "conv",       [LAYER_DENSE] = "dense",     [LAYER_MAXPOOL] = "maxpool",
    [LAYER_AVGPOOL] = "avgpool", [LAYER_RELU] = "relu",       [LAYER_SIGMOID] = "sigmoid",
    [LAYER_TANH] = "tanh",       [LAYER_DROPOUT] = "dropout", [LAYER_FLATTEN] = "flatten",
    [LAYER_FLATTEN + 1] = NULL,
};

static bool has_window(enum layer_type type)
{
    return type == LAYER_CONV || type == LAYER_MAXPOOL || type == LAYER_AVGPOOL;
}

/* One axis of a windowed layer. */
struct axis {
    int size, kernel, stride; /* given */
    int out, pad;             /* pad: before the image */
    int64_t taps;             /* kernel positions inside the image, over all outputs */
};

static void axis_derive(struct axis *a, enum padding padding)
{
    int total = 0;

    if (padding == PAD_SAME) {
        a->out = (a->size + a->stride - 1) / a->stride;
        total = (a->out - 1) * a->stride + a->kernel - a->size;
    } else {
        a->out = (a->size - a->kernel) / a->stride + 1;
    }
    a->pad = total > 0 ? total / 2 : 0;
    for (int o = 0; o < a->out; o++) {
        int first = o * a->stride - a->pad, last = first + a->kernel;

        a->taps += (last < a->size ? last : a->size) - (first > 0 ? first : 0);
    }
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
    struct axis y, x;

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
    y = (struct axis){.size = l->in.h, .kernel = s->kernel[0], .stride = s->stride[0]};
    x = (struct axis){.size = l->in.w, .kernel = s->kernel[1], .stride = s->stride[1]};
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

static int dense_derive(struct net_layer *l, struct err *err)
{
    if (l->in.h != 1 || l->in.w != 1)
        return err_set(err, ERR_INVALID,
                       "layer %s: a dense layer gets a %dx%dx%d image; it takes a flat vector, "
                       "so a flatten layer must come before it",
                       l->spec.name, l->in.c, l->in.h, l->in.w);
    l->out = (struct shape){l->spec.units, 1, 1};
    l->flops_forward = 2.0 * l->spec.units * l->in.c;
    return set_weights(l, (double)l->spec.units * l->in.c, err);
}

static double values(struct shape s) { return (double)s.c * s.h * s.w; }

/* The layer's output shape, counts and FLOPs from its input shape. */
static int layer_derive(struct net_layer *l, struct err *err)
{
    struct layer_spec *s = &l->spec;
    bool has_units = s->type == LAYER_CONV || s->type == LAYER_DENSE;

    if (has_units && (s->units < 1 || s->units > MAX_SIZE))
        return err_set(err, ERR_INVALID, "layer %s: found %d %s; allowed are 1 to %d", s->name,
                       s->units, s->type == LAYER_CONV ? "filters" : "units", MAX_SIZE);
    if (s->type == LAYER_DROPOUT && !(s->rate >= 0 && s->rate < 1))
        return err_set(err, ERR_INVALID, "layer %s: found rate %g; allowed is 0 to below 1",
                       s->name, s->rate);
    l->out = l->in;
    if (s->type == LAYER_FLATTEN)
        l->out = (struct shape){l->in.c * l->in.h * l->in.w, 1, 1};
    if (has_window(s->type) && window_derive(l, err))
        return -1;
    if (s->type == LAYER_DENSE && dense_derive(l, err))
        return -1;
    l->biases = has_units && s->bias ? (size_t)s->units : 0;
    if (values(l->out) > MAX_VALUES)
        return err_set(err, ERR_INVALID,
                       "layer %s: found an output of %dx%dx%d; at most %d values are allowed",
                       s->name, l->out.c, l->out.h, l->out.w, MAX_VALUES);
    return 0;
}

/* The user's name, or the type and its number among the layers of that type: conv1, conv2. */
static char *layer_name(const struct net *net, const struct layer_spec *s)
{
    int number = 1;

    if (s->name)
        return xstrdup(s->name);
    for (size_t i = 0; i < net->n_layers; i++)
        number += net->layers[i].spec.type == s->type;
    return xasprintf("%s%d", layer_type_names[s->type], number);
}

static int layer_add(struct net *net, const struct layer_spec *spec, struct err *err)
{
    struct net_layer *l = &net->layers[net->n_layers];

    *l = (struct net_layer){.spec = *spec, .in = net->out};
    l->spec.name = layer_name(net, spec);
    net->n_layers++;
    for (size_t i = 0; i + 1 < net->n_layers; i++)
        if (strcmp(net->layers[i].spec.name, l->spec.name) == 0)
            return err_set(err, ERR_INVALID,
                           "layer %s: layers %zu and %zu have this name; names must be unique",
                           l->spec.name, i + 1, net->n_layers);
    if (layer_derive(l, err))
        return -1;
    net->out = l->out;
    net->params += l->weights + l->biases;
    return 0;
}

/* Backward: the weights' gradient unless frozen, the data's when a layer below is trained. */
static double flops_train(const struct net *net)
{
    double flops = 0;
    bool trained_below = false;

    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *l = &net->layers[i];
        bool trained = !l->spec.frozen && l->weights + l->biases > 0;

        flops += l->flops_forward * (1 + trained + trained_below);
        trained_below |= trained;
    }
    return flops;
}

int net_build(struct net *net, const struct layer_spec *layers, size_t n_layers, struct shape in,
              struct err *err)
{
    *net = (struct net){.in = in, .out = in, .layers = xcalloc(n_layers, sizeof *net->layers)};
    if (in.c < 1 || in.h < 1 || in.w < 1 || in.c > MAX_SIZE || in.h > MAX_SIZE || in.w > MAX_SIZE ||
        values(in) > MAX_VALUES) {
        net_release(net);
        return err_set(err, ERR_INVALID, "samples of shape %dx%dx%d; sizes of 1 to %d are allowed",
                       in.c, in.h, in.w, MAX_SIZE);
    }
    for (size_t i = 0; i < n_layers; i++) {
        if (layer_add(net, &layers[i], err)) {
            net_release(net);
            return -1;
        }
    }
    net->flops_train = flops_train(net);
    return 0;
}

void net_release(struct net *net)
{
    for (size_t i = 0; i < net->n_layers; i++)
        free(net->layers[i].spec.name);
    free(net->layers);
    *net = (struct net){0};
}
