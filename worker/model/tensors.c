#include "worker/model/tensors.h"

/* A tensor of the layer that is being made. */
static struct param *add_param(struct model *m, const struct net_layer *n, const char *suffix,
                               enum param_kind kind, size_t floats)
{
    const bool remote = m->layers[m->n_layers].remote;
    struct param *p = &m->params[m->n_params++];

    p->layer = m->n_layers;
    p->kind = kind;
    snprintf(p->name, sizeof p->name, "%.64s.%s", n->spec.name, suffix);
    p->offset = m->n_floats;
    p->floats = remote ? 0 : floats;
    p->frozen = n->spec.frozen;
    p->initializer = n->spec.initializer;
    p->range = n->spec.range;
    m->n_floats += p->floats;
    return p;
}

static struct param *add_per_channel(struct model *m, const struct net_layer *n, const char *suffix,
                                     enum param_kind kind, enum initializer initializer)
{
    struct param *p = add_param(m, n, suffix, kind, (size_t)blocks_of(n->out.c) * 16);

    p->n_dims = 1;
    p->dims[0] = n->out.c;
    p->initializer = initializer;
    return p;
}

/* Of a convolution or a dense layer. */
static void add_linear_params(struct model *m, struct layer *l, const struct net_layer *n)
{
    bool conv = n->spec.type == LAYER_CONV;
    int taps = conv ? n->spec.kernel[0] * n->spec.kernel[1] : 1;
    int in = conv || n->rows ? n->in.c : n->in.c * n->in.h * n->in.w;

    l->weight =
        add_param(m, n, "weight", PARAM_WEIGHT,
                  conv ? conv_weight_floats(&l->conv) : (size_t)l->dense.in * (size_t)l->dense.out);
    l->weight->fan_in = in * taps;
    l->weight->fan_out = n->out.c * taps;
    l->weight->n_dims = conv ? 4 : 2;
    l->weight->dims[0] = n->out.c;
    l->weight->dims[1] = in;
    if (conv) {
        l->weight->dims[2] = n->spec.kernel[0];
        l->weight->dims[3] = n->spec.kernel[1];
    }
    if (n->spec.bias)
        l->bias = add_per_channel(m, n, "bias", PARAM_BIAS, INIT_ZERO);
}

/* A row for each word. */
static void add_embedding_params(struct model *m, struct layer *l, const struct net_layer *n)
{
    l->weight = add_param(m, n, "weight", PARAM_WEIGHT,
                          (size_t)n->spec.vocabulary * (size_t)blocks_of(n->out.c) * 16);
    l->weight->fan_in = n->spec.vocabulary;
    l->weight->fan_out = n->out.c;
    l->weight->n_dims = 2;
    l->weight->dims[0] = n->spec.vocabulary;
    l->weight->dims[1] = n->out.c;
}

/* PyTorch's, but for one bias instead of two, and [i, f, g, o] as there. */
static void add_lstm_params(struct model *m, struct layer *l, const struct net_layer *n,
                            uint32_t batch)
{
    const int ins[] = {n->in.c, n->out.c};
    const size_t units = (size_t)blocks_of(n->out.c) * 16;
    struct param *weights[2], *bias, **states[] = {&l->hidden, &l->cell};

    for (int i = 0; i < 2; i++) {
        const struct dense d = layer_lstm_dense(l, i);

        weights[i] =
            add_param(m, n, i ? "recurrent" : "weight", PARAM_WEIGHT, (size_t)d.in * (size_t)d.out);
        weights[i]->fan_in = ins[i];
        weights[i]->fan_out = n->out.c;
        weights[i]->n_dims = 2;
        weights[i]->dims[0] = 4 * n->out.c;
        weights[i]->dims[1] = ins[i];
    }
    bias = add_param(m, n, "bias", PARAM_BIAS, 4 * units);
    bias->n_dims = 1;
    bias->dims[0] = 4 * n->out.c;
    bias->initializer = INIT_ZERO;
    bias->forget = n->spec.forget_bias;
    layer_lstm_params(l, weights[0], weights[1], bias);
    for (int i = 0; i < 2; i++) {
        struct param *state = add_param(m, n, i ? "cell" : "hidden", PARAM_STATE, batch * units);

        state->n_dims = 2;
        state->dims[0] = batch;
        state->dims[1] = n->out.c;
        state->initializer = INIT_ZERO;
        *states[i] = state;
    }
}

/* As the layer wants them: one after the other. */
static void add_norm_params(struct model *m, struct layer *l, const struct net_layer *n)
{
    l->weight = add_per_channel(m, n, "weight", PARAM_BIAS, INIT_ONE);
    l->bias = add_per_channel(m, n, "bias", PARAM_BIAS, INIT_ZERO);
    l->mean = add_per_channel(m, n, "running_mean", PARAM_STATISTIC, INIT_ZERO);
    l->variance = add_per_channel(m, n, "running_var", PARAM_STATISTIC, INIT_ONE);
}

void tensors_add(struct model *m, struct layer *l, const struct net_layer *n, uint32_t batch)
{
    switch (n->spec.type) {
    case LAYER_CONV:
    case LAYER_DENSE:
        add_linear_params(m, l, n);
        break;
    case LAYER_EMBEDDING:
        add_embedding_params(m, l, n);
        break;
    case LAYER_LSTM:
        add_lstm_params(m, l, n, batch);
        break;
    case LAYER_BATCHNORM:
        add_norm_params(m, l, n);
        break;
    default:
        break; /* the others have none */
    }
}
