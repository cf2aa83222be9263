#include "paceline/net.h"

#include <math.h>

#include "common/layer_shapes.h"
#include "common/net_names.h"
#include "paceline/buf.h"
#include "paceline/mem.h"

static bool has_trait(enum layer_type type, enum layer_trait trait)
{
    return layer_type_traits[type] & trait;
}

static double values(struct shape s) { return (double)s.c * s.h * s.w; }

static struct shape output_of(const struct net *net, int layer)
{
    return layer < 0 ? net->in : net->layers[layer].out;
}

static int refuse_rows(const struct net_layer *l, struct err *err)
{
    AUTO(buf_release) struct buf allowed = {0};

    for (int type = 0; type < N_LAYER_TYPES; type++)
        if (has_trait(type, TRAIT_ROWS))
            buf_printf(&allowed, "%s%s", allowed.len ? ", " : "", layer_type_names[type]);
    return err_set(err, ERR_INVALID,
                   "layer %s: it gets a sequence of %d positions; allowed there: %s", l->spec.name,
                   l->in.w, allowed.data);
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
    return l->rows && !has_trait(l->spec.type, TRAIT_ROWS) ? refuse_rows(l, err) : 0;
}

/* The layer's output shape, counts and FLOPs from its input shape. */
static int layer_derive(const struct net *net, struct net_layer *l, struct err *err)
{
    if (rows_derive(net, l, err))
        return -1;
    l->out = l->in;
    if (layer_shapes[l->spec.type](net, l, err))
        return -1;
    if (values(l->out) > NET_VALUES_MAX)
        return err_set(err, ERR_INVALID,
                       "layer %s: found an output of %dx%dx%d; at most %d values are allowed",
                       l->spec.name, l->out.c, l->out.h, l->out.w, NET_VALUES_MAX);
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

    const bool several = has_trait(spec->type, TRAIT_SEVERAL);

    if (several ? n < 2 || n > NET_INPUTS_MAX : n > 1)
        return err_set(err, ERR_INVALID, "layer %s: found %zu inputs; allowed for %s: %s",
                       l->spec.name, n, layer_type_names[spec->type],
                       several ? "2 to 64, named by `inputs`" : "one");
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
    if (in.c < 1 || in.h < 1 || in.w < 1 || in.c > NET_INPUT_MAX || in.h > NET_INPUT_MAX ||
        in.w > NET_INPUT_MAX || values(in) > NET_VALUES_MAX) {
        net_release(net);
        return err_set(err, ERR_INVALID, "samples of shape %dx%dx%d; sizes of 1 to %d are allowed",
                       in.c, in.h, in.w, NET_INPUT_MAX);
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
