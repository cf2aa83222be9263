/*
 * Output shapes, parameters and FLOPs of layers, by type; see layer_types.h. Each function finds
 * l->in, l->rows and l->out = l->in set, and changes what its layer makes of them.
 */
#include "common/layer_shapes.h"

#include <float.h>
#include <math.h>

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
    if (n > NET_VALUES_MAX)
        return err_set(err, ERR_INVALID, "layer %s: found %.0f weights; at most %d are allowed",
                       l->spec.name, n, NET_VALUES_MAX);
    l->weights = (size_t)n;
    return 0;
}

static int check_units(const struct net_layer *l, const char *field, struct err *err)
{
    if (l->spec.units >= 1 && l->spec.units <= NET_INPUT_MAX)
        return 0;
    return err_set(err, ERR_INVALID, "layer %s: found %d %s; allowed are 1 to %d", l->spec.name,
                   l->spec.units, field, NET_INPUT_MAX);
}

/* stride: by default. taps: of all windows, inside the image. */
static int window_derive(struct net_layer *l, const int stride[2], double *taps, struct err *err)
{
    struct layer_spec *s = &l->spec;
    struct net_axis y, x;

    for (int i = 0; i < 2; i++) {
        if (s->stride[i] == 0)
            s->stride[i] = stride[i];
        if (s->kernel[i] < 1 || s->kernel[i] > NET_INPUT_MAX || s->stride[i] < 1 ||
            s->stride[i] > NET_INPUT_MAX)
            return err_set(
                err, ERR_INVALID, "layer %s: found kernel %dx%d, stride %dx%d; allowed are 1 to %d",
                s->name, s->kernel[0], s->kernel[1], s->stride[0], s->stride[1], NET_INPUT_MAX);
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
    l->out.h = y.out;
    l->out.w = x.out;
    *taps = (double)y.taps * (double)x.taps;
    return 0;
}

static int conv_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;
    double taps = 0;

    (void)net;
    if (check_units(l, "filters", err) || window_derive(l, (const int[]){1, 1}, &taps, err))
        return -1;
    l->out.c = s->units;
    l->biases = s->bias ? (size_t)s->units : 0;
    l->flops_forward = 2.0 * s->units * l->in.c * taps;
    return set_weights(l, (double)s->units * l->in.c * s->kernel[0] * s->kernel[1], err);
}

static int pool_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    double taps = 0;

    (void)net;
    return window_derive(l, l->spec.kernel, &taps, err);
}

/* A dense layer of a text works on each of its positions. */
static int dense_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    (void)net;
    if (check_units(l, "units", err))
        return -1;
    if (!l->rows && (l->in.h != 1 || l->in.w != 1))
        return err_set(err, ERR_INVALID,
                       "layer %s: a dense layer gets a %dx%dx%d image; it takes a flat vector, "
                       "so a flatten layer must come before it",
                       s->name, l->in.c, l->in.h, l->in.w);
    l->out = (struct shape){s->units, 1, l->in.w};
    l->biases = s->bias ? (size_t)s->units : 0;
    l->flops_forward = 2.0 * s->units * l->in.c * l->in.w;
    return set_weights(l, (double)s->units * l->in.c, err);
}

static int embedding_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    (void)net;
    if (check_units(l, "units", err))
        return -1;
    if (l->inputs[0] >= 0 || l->in.c != 1 || l->in.h != 1)
        return err_set(err, ERR_INVALID,
                       "layer %s: an embedding gets %dx%dx%d values; it takes the samples "
                       "themselves, of a text",
                       s->name, l->in.c, l->in.h, l->in.w);
    if (s->vocabulary < 1 || s->vocabulary > NET_INPUT_MAX)
        return err_set(err, ERR_INVALID, "layer %s: found a vocabulary of %d; allowed are 1 to %d",
                       s->name, s->vocabulary, NET_INPUT_MAX);
    l->rows = true;
    l->out = (struct shape){s->units, 1, l->in.w};
    return set_weights(l, (double)s->units * s->vocabulary, err);
}

/* Four gates, each of the input and of the hidden state. */
static int lstm_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const double weights = 4.0 * l->spec.units * ((double)l->in.c + l->spec.units);

    (void)net;
    if (check_units(l, "units", err))
        return -1;
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

/* Equal heights and widths; channels: of all inputs together. */
static int several_derive(const struct net *net, const struct net_layer *l, bool equal,
                          const char *needed, int64_t *channels, struct err *err)
{
    *channels = 0;
    for (int i = 0; i < l->n_inputs; i++) {
        const struct shape s = l->inputs[i] < 0 ? net->in : net->layers[l->inputs[i]].out;

        if (s.h != l->in.h || s.w != l->in.w || (equal && s.c != l->in.c))
            return err_set(err, ERR_INVALID, "layer %s: its inputs are %dx%dx%d and %dx%dx%d; %s",
                           l->spec.name, l->in.c, l->in.h, l->in.w, s.c, s.h, s.w, needed);
        *channels += s.c;
    }
    return 0;
}

static int add_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    int64_t channels;

    return several_derive(net, l, true, "add takes equal shapes", &channels, err);
}

static int concat_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    int64_t channels;

    if (several_derive(net, l, false, "concat takes images of one height and width", &channels,
                       err))
        return -1;
    if (channels > NET_INPUT_MAX)
        return err_set(err, ERR_INVALID, "layer %s: found %lld channels; at most %d are allowed",
                       l->spec.name, (long long)channels, NET_INPUT_MAX);
    l->in.c = l->out.c = (int)channels;
    return 0;
}

static int same_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    (void)net, (void)l, (void)err;
    return 0;
}

static int dropout_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    (void)net;
    if (l->spec.rate >= 0 && l->spec.rate < 1)
        return 0;
    return err_set(err, ERR_INVALID, "layer %s: found rate %g; allowed is 0 to below 1",
                   l->spec.name, l->spec.rate);
}

static int batchnorm_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    (void)net;
    if (!(s->epsilon > 0) || !(s->momentum >= 0 && s->momentum <= 1) || s->group < 1)
        return err_set(err, ERR_INVALID,
                       "layer %s: found epsilon %g, momentum %g, group %d; allowed: epsilon above "
                       "0, momentum 0 to 1, group at least 1",
                       s->name, s->epsilon, s->momentum, s->group);
    l->weights = l->biases = (size_t)l->in.c;
    return 0;
}

static int layernorm_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    (void)net;
    if (!(l->spec.epsilon > 0))
        return err_set(err, ERR_INVALID, "layer %s: found epsilon %g; allowed: above 0",
                       l->spec.name, l->spec.epsilon);
    l->weights = l->biases = (size_t)l->in.c;
    return 0;
}

static int lrn_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    (void)net;
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

static int padchannels_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    (void)net;
    if (check_units(l, "filters", err))
        return -1;
    if (l->spec.units < l->in.c)
        return err_set(err, ERR_INVALID,
                       "layer %s: found filters %d for an input of %d channels; needed: as many at "
                       "least, for it adds channels of zeros",
                       l->spec.name, l->spec.units, l->in.c);
    l->out.c = l->spec.units;
    return 0;
}

static int slice_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    const struct layer_spec *s = &l->spec;

    (void)net;
    if (check_units(l, "filters", err))
        return -1;
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
    if (n < 1 || n > NET_INPUT_MAX)
        return shape;
    shape = (struct shape){(int)s->shape[0], 1, 1};
    if (s->n_shape == 3) {
        shape.h = (int)s->shape[1];
        shape.w = (int)s->shape[2];
    }
    return shape;
}

static double shape_size(struct shape s) { return (double)s.c * s.h * s.w; }

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
            l->spec.name, NET_INPUT_MAX);
    if (l->inputs[0] >= 0)
        return err_set(err, ERR_INVALID,
                       "layer %s: found an input with `inputs`; it takes what the samples have",
                       l->spec.name);
    for (size_t i = 0; i + 1 < net->n_layers; i++)
        if (net->layers[i].spec.type == LAYER_INPUT)
            first += shape_size(net->layers[i].out);
    if (first + shape_size(shape) > shape_size(l->in))
        return err_set(err, ERR_INVALID,
                       "layer %s: found an input of %.0f values after %.0f; samples of %dx%dx%d "
                       "have no more than %.0f",
                       l->spec.name, shape_size(shape), first, l->in.c, l->in.h, l->in.w,
                       shape_size(l->in));
    l->spec.first = (int)first;
    l->out = shape;
    return 0;
}

static int flatten_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    (void)net, (void)err;
    l->out = (struct shape){l->in.c * l->in.h * l->in.w, 1, 1};
    return 0;
}

static int globalavgpool_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    (void)net, (void)err;
    l->out = (struct shape){l->in.c, 1, 1};
    return 0;
}

layer_shape *const layer_shapes[] = {
#define LAYER_SHAPE(type, name, shape, arithmetic, traits) [LAYER_##type] = shape##_derive,
    LAYER_TYPES(LAYER_SHAPE)
#undef LAYER_SHAPE
};

const char *const layer_type_names[] = {
#define LAYER_TYPE_NAME(type, name, shape, arithmetic, traits) [LAYER_##type] = #name,
    LAYER_TYPES(LAYER_TYPE_NAME)
#undef LAYER_TYPE_NAME
        [N_LAYER_TYPES] = NULL,
};

const unsigned char layer_type_traits[] = {
#define LAYER_TYPE_TRAITS(type, name, shape, arithmetic, traits) [LAYER_##type] = (traits),
    LAYER_TYPES(LAYER_TYPE_TRAITS)
#undef LAYER_TYPE_TRAITS
};
