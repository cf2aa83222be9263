#include "paceline/net_parts.h"

#include "paceline/mem.h"

static bool is_type(const struct net *net, size_t i, enum layer_type type)
{
    return net->layers[i].spec.type == type;
}

/* Whether layer i + 1 is of this type and could be computed with layer i. */
static bool next_is(const struct net *net, size_t i, enum layer_type type)
{
    return net_follows(net, i) && is_type(net, i + 1, type);
}

static bool pool2_next(const struct net *net, size_t i)
{
    if (!next_is(net, i++, LAYER_MAXPOOL))
        return false;
    const struct net_layer *n = &net->layers[i];
    const int *k = n->spec.kernel, *s = n->spec.stride;
    bool whole = n->spec.padding == PAD_VALID || (n->in.h % 2 == 0 && n->in.w % 2 == 0);
    return k[0] == 2 && k[1] == 2 && s[0] == 2 && s[1] == 2 && whole;
}

/* Convolution, ReLU and 2x2 pooling in either order of the last two: the values are the same. */
struct fusion net_fusion(const struct net *net, size_t i)
{
    struct fusion f = {.taken = 1};

    if (!is_type(net, i, LAYER_CONV)) {
        f.relu = (layer_type_traits[net->layers[i].spec.type] & TRAIT_RELU) != 0 &&
                 next_is(net, i, LAYER_RELU);
        f.taken += f.relu;
        return f;
    }
    for (int round = 0; round < 2; round++) {
        const size_t last = i + (size_t)f.taken - 1;

        if (!f.relu && next_is(net, last, LAYER_RELU)) {
            f.relu = true;
            f.taken++;
        } else if (!f.pool && pool2_next(net, last)) {
            f.pool = true;
            f.taken++;
        }
    }
    return f;
}

static size_t map_floats(struct shape s)
{
    return (size_t)((s.c + 15) / 16 * 16) * (size_t)s.h * (size_t)s.w;
}

/* Layers first .. first + taken, computed as one, join the part. */
static void part_add(struct net_part *p, struct split_part *cost, const struct net *net,
                     size_t first, int taken, bool trained_below)
{
    const struct net_layer *l = &net->layers[first], *last = &l[taken - 1];
    const bool trained = !l->spec.frozen && l->weights + l->biases > 0;

    p->n += (size_t)taken;
    p->parameters += l->weights + l->biases;
    p->trained |= trained;
    cost->load += l->flops_forward * (1 + trained + trained_below);
    if (l->spec.type == LAYER_FLATTEN) {
        if (p->n == (size_t)taken) /* by itself it hands on what it takes, as it lies */
            p->out = map_floats(l->in);
        return;
    }
    p->out = map_floats(last->out);
    if (l->spec.type != LAYER_DROPOUT) /* works in place */
        p->floats += p->out;
}

/* An edge from each part whose output the layer takes, once. */
static void edges_add(struct net_parts *p, const int *part_of, const struct net_layer *l, int to)
{
    for (int k = 0; k < l->n_inputs; k++) {
        const int from = l->inputs[k] < 0 ? to : part_of[l->inputs[k]];
        bool there = from == to;

        for (int e = p->n_edges; e-- > 0 && p->edges[e].to == to;)
            there |= p->edges[e].from == from;
        if (!there)
            p->edges[p->n_edges++] = (struct split_edge){from, to};
    }
}

static size_t count_inputs(const struct net *net)
{
    size_t n = 1;

    for (size_t i = 0; i < net->n_layers; i++)
        n += (size_t)net->layers[i].n_inputs;
    return n;
}

/* Whether a part or one below it has parameters to train; gradients then come back to it. */
static bool is_trained(const struct net_parts *p, int part)
{
    bool trained = p->items[part].trained;

    for (int e = 0; e < p->n_edges; e++)
        if (p->edges[e].to == part)
            trained |= p->items[p->edges[e].from].back;
    return trained;
}

void net_parts_init(struct net_parts *p, const struct net *net)
{
    AUTO(auto_free) int *part_of = xcalloc(net->n_layers, sizeof *part_of);
    bool computes = false, trained = false; /* the layers so far */

    *p = (struct net_parts){.items = xcalloc(net->n_layers, sizeof *p->items),
                            .costs = xcalloc(net->n_layers, sizeof *p->costs),
                            .edges = xcalloc(count_inputs(net), sizeof *p->edges)};
    for (size_t i = 0; i < net->n_layers;) {
        const bool joins = is_type(net, i, LAYER_FLATTEN) && (i == 0 || net_follows(net, i - 1));
        const int taken = net_fusion(net, i).taken;

        if (p->n == 0 || (!joins && computes))
            p->items[p->n++].first = i;
        part_add(&p->items[p->n - 1], &p->costs[p->n - 1], net, i, taken, trained);
        edges_add(p, part_of, &net->layers[i], p->n - 1);
        for (int k = 0; k < taken; k++)
            part_of[i + (size_t)k] = p->n - 1;
        computes |= !is_type(net, i, LAYER_FLATTEN);
        trained |= p->items[p->n - 1].trained;
        i += (size_t)taken;
    }
    for (int i = 0; i < p->n; i++) {
        p->items[i].back = is_trained(p, i);
        p->costs[i].bytes = (double)(p->items[i].out * sizeof(float)) * (p->items[i].back ? 2 : 1);
    }
}

void net_parts_release(struct net_parts *p)
{
    free(p->items);
    free(p->costs);
    free(p->edges);
    *p = (struct net_parts){0};
}
