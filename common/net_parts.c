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

    if ((is_type(net, i, LAYER_DENSE) || is_type(net, i, LAYER_BATCHNORM)) &&
        next_is(net, i, LAYER_RELU))
        return (struct fusion){.taken = 2, .relu = true};
    if (!is_type(net, i, LAYER_CONV))
        return f;
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
    if (l->spec.type == LAYER_FLATTEN)
        return;
    p->out = map_floats(last->out);
    if (l->spec.type != LAYER_DROPOUT) /* works in place */
        p->floats += p->out;
}

void net_parts_init(struct net_parts *p, const struct net *net)
{
    bool computes = false, trained = false; /* the layers so far */

    *p = (struct net_parts){.items = xcalloc(net->n_layers, sizeof *p->items),
                            .costs = xcalloc(net->n_layers, sizeof *p->costs),
                            .edges = xcalloc(net->n_layers, sizeof *p->edges)};
    for (size_t i = 0; i < net->n_layers;) {
        const bool flatten = is_type(net, i, LAYER_FLATTEN);
        const int taken = net_fusion(net, i).taken;

        if (p->n == 0 || (!flatten && computes))
            p->items[p->n++].first = i;
        part_add(&p->items[p->n - 1], &p->costs[p->n - 1], net, i, taken, trained);
        computes |= !flatten;
        trained |= p->items[p->n - 1].trained;
        i += (size_t)taken;
    }
    trained = false;
    for (int i = 0; i < p->n; i++) {
        trained |= p->items[i].trained;
        p->costs[i].bytes = (double)(p->items[i].out * sizeof(float)) * (trained ? 2 : 1);
        if (i)
            p->edges[i - 1] = (struct split_edge){i - 1, i};
    }
}

void net_parts_release(struct net_parts *p)
{
    free(p->items);
    free(p->costs);
    free(p->edges);
    *p = (struct net_parts){0};
}
