/* Builds the runtime layers of a net and runs them; see model.h. */
#include "worker/model/model.h"

#include "paceline/mem.h"
#include "paceline/net_parts.h"

static struct param *add_param(struct model *m, const struct net_layer *n, const char *suffix,
                               size_t floats, bool elsewhere)
{
    struct param *p = &m->params[m->n_params++];
    snprintf(p->name, sizeof p->name, "%.64s.%s", n->spec.name, suffix);
    p->offset = m->n_floats;
    p->floats = elsewhere ? 0 : floats;
    p->frozen = n->spec.frozen;
    p->initializer = n->spec.initializer;
    m->n_floats += p->floats;
    return p;
}

static void add_params(struct model *m, struct layer *l, const struct net_layer *n)
{
    bool conv = n->spec.type == LAYER_CONV;
    int taps = conv ? n->spec.kernel[0] * n->spec.kernel[1] : 1;
    int in = conv ? n->in.c : n->in.c * n->in.h * n->in.w;

    l->weight =
        add_param(m, n, "weight",
                  conv ? conv_weight_floats(&l->conv) : (size_t)l->dense.in * (size_t)l->dense.out,
                  l->elsewhere);
    l->weight->is_weight = true;
    l->weight->fan_in = in * taps;
    l->weight->fan_out = n->out.c * taps;
    l->weight->n_dims = conv ? 4 : 2;
    l->weight->dims[0] = n->out.c;
    l->weight->dims[1] = in;
    if (conv) {
        l->weight->dims[2] = n->spec.kernel[0];
        l->weight->dims[3] = n->spec.kernel[1];
    }
    if (n->spec.bias) {
        l->bias = add_param(m, n, "bias", (size_t)blocks_of(n->out.c) * 16, l->elsewhere);
        l->bias->n_dims = 1;
        l->bias->dims[0] = n->out.c;
        l->bias->initializer = INIT_ZERO;
    }
}

static void make_layer(struct model *m, struct layer *l, size_t i, struct fusion f,
                       const struct model_config *config, bool image)
{
    const struct net_layer *n = &m->net->layers[i];
    const uint32_t samples = l->elsewhere ? 0 : config->max_samples;
    const int levels = l->elsewhere ? -1 : config->levels;
    struct conv_options o = {
        .relu = f.relu, .pool = f.pool, .image_input = image, .samples = samples, .levels = levels};
    l->number = (uint32_t)i;
    switch (n->spec.type) {
    case LAYER_CONV:
        layer_conv(l, n, &o);
        add_params(m, l, n);
        break;
    case LAYER_DENSE:
        layer_dense(l, n, f.relu, samples, levels);
        add_params(m, l, n);
        break;
    case LAYER_MAXPOOL:
    case LAYER_AVGPOOL:
        layer_pool(l, n);
        break;
    case LAYER_DROPOUT:
        layer_dropout(l, n, samples);
        break;
    case LAYER_FLATTEN:
        layer_flatten(l, n);
        break;
    default:
        layer_activation(l, n);
    }
}

/* Dropout may overwrite its input where nobody needs that input again: behind ReLU, pooling and
 * linear layers, but not behind sigmoid and tanh, whose gradients are taken from their outputs. */
static bool may_overwrite(const struct layer *below)
{
    return below->activation != LAYER_SIGMOID && below->activation != LAYER_TANH &&
           !below->image_input;
}

/* Flattening moves nothing where a dense layer comes next to read the map as it lies, behind layers
 * that work value by value at most. */
static bool flatten_moves(const struct net *net, size_t i, struct shape map)
{
    if (map.h * map.w == 1)
        return false;
    while (++i < net->n_layers) {
        enum layer_type type = net->layers[i].spec.type;
        if (type == LAYER_CONV || type == LAYER_MAXPOOL || type == LAYER_AVGPOOL)
            return true;
        if (type == LAYER_DENSE)
            return false;
    }
    return true;
}

static bool is_elsewhere(const struct model_config *config, size_t layer)
{
    return config->owners && config->owners[layer] != config->worker;
}

static void build_layers(struct model *m, const struct model_config *config)
{
    const struct net *net = m->net;
    enum layer_type first = net->layers[0].spec.type;

    m->layers = xcalloc(net->n_layers + 1, sizeof *m->layers);
    m->params = xcalloc(net->n_layers * 2, sizeof *m->params);
    if (first != LAYER_CONV) {
        m->layers[0].elsewhere = is_elsewhere(config, 0);
        layer_pack(&m->layers[m->n_layers++], net->in,
                   first == LAYER_FLATTEN || first == LAYER_DENSE);
    }
    for (size_t i = 0; i < net->n_layers;) {
        struct fusion f = net_fusion(net, i);
        bool flatten = net->layers[i].spec.type == LAYER_FLATTEN;
        if (!flatten || flatten_moves(net, i, m->layers[m->n_layers - 1].out)) {
            struct layer *l = &m->layers[m->n_layers];
            if (m->n_layers) {
                l->in_floats = l[-1].out_floats;
                l->out = l[-1].out;
            }
            l->elsewhere = is_elsewhere(config, i);
            make_layer(m, l, i, f, config, m->n_layers == 0);
            l->in_place = m->n_layers && l->mask && !l->elsewhere && may_overwrite(&l[-1]);
            m->n_layers++;
        }
        i += (size_t)f.taken;
    }
}

static float *take(struct model *m, size_t floats_per_sample)
{
    return xaligned(floats_per_sample * (m->max_samples ? m->max_samples : 1) * sizeof(float));
}

/* Whether the output is made or read here. */
static bool is_used(const struct model *m, int i)
{
    return !m->layers[i].elsewhere || (i + 1 < m->n_layers && !m->layers[i + 1].elsewhere);
}

static void take_memory(struct model *m)
{
    size_t widest = 0;
    m->activations = xcalloc((size_t)m->n_layers, sizeof *m->activations);
    m->lowest_trained = m->n_layers;
    for (int i = m->n_layers - 1; i >= 0; i--) {
        const struct layer *l = &m->layers[i];
        if (l->weight && !l->weight->frozen)
            m->lowest_trained = i;
        if (l->out_floats > widest && is_used(m, i))
            widest = l->out_floats;
        if (l->scratch_floats > m->scratch_floats && !l->elsewhere)
            m->scratch_floats = l->scratch_floats;
    }
    for (int i = 0; i < m->n_layers; i++) {
        const struct layer *l = &m->layers[i];
        if (is_used(m, i))
            m->activations[i] = l->in_place ? m->activations[i - 1] : take(m, l->out_floats);
    }
    m->gradients[0] = take(m, widest);
    m->gradients[1] = take(m, widest);
    m->scratch = xcalloc((size_t)threads_count(m->threads), sizeof *m->scratch);
    for (int i = 0; i < threads_count(m->threads); i++)
        m->scratch[i] = xaligned((m->scratch_floats + 16) * sizeof(float));
    m->weights = xaligned(m->n_floats * sizeof(float));
}

void model_init(struct model *m, const struct net *net, const struct model_config *config)
{
    memset(m, 0, sizeof *m);
    m->kernels = config->kernels;
    m->threads = config->threads;
    m->net = net;
    m->max_samples = config->max_samples;
    m->classes = net->out.c * net->out.h * net->out.w;
    build_layers(m, config);
    take_memory(m);
}

void model_release(struct model *m)
{
    for (int i = 0; i < m->n_layers; i++) {
        if (!m->layers[i].in_place)
            free(m->activations[i]);
        if (m->layers[i].ops->release)
            m->layers[i].ops->release(&m->layers[i]);
    }
    for (int i = 0; m->scratch && i < threads_count(m->threads); i++)
        free(m->scratch[i]);
    free(m->scratch);
    free(m->activations);
    free(m->gradients[0]);
    free(m->gradients[1]);
    free(m->weights);
    free(m->layers);
    free(m->params);
    memset(m, 0, sizeof *m);
}

size_t model_bytes(const struct model *m)
{
    size_t per_sample = 0, widest = 0, fixed = m->n_floats;
    for (int i = 0; i < m->n_layers; i++) {
        const struct layer *l = &m->layers[i];
        if (!is_used(m, i))
            continue;
        per_sample += l->in_place ? 0 : l->out_floats;
        per_sample += l->argmax ? l->out_floats / 4 : 0;
        widest = l->out_floats > widest ? l->out_floats : widest;
        fixed += l->transposed ? conv_weight_floats(&l->conv_back) : 0;
        fixed += l->elsewhere ? 0 : l->level_floats * 6;
    }
    fixed += m->scratch_floats * (size_t)threads_count(m->threads);
    return sizeof(float) * (fixed + (per_sample + 2 * widest) * m->max_samples);
}

float *model_output(const struct model *m, int i, const struct pass *p, const float *x)
{
    const size_t in = (size_t)(m->net->in.c * m->net->in.h * m->net->in.w);

    return i < 0 ? (float *)x + p->first * in
                 : m->activations[i] + p->first * m->layers[i].out_floats;
}

void model_forward_layer(struct model *m, struct pass *p, int i, const float *x)
{
    struct layer *l = &m->layers[i];

    p->kernels = m->kernels;
    p->threads = m->threads;
    p->scratch = m->scratch;
    p->params = m->weights;
    l->ops->forward(l, p, model_output(m, i, p, x), model_output(m, i - 1, p, x));
}

const float *model_forward(struct model *m, struct pass *p, const float *x)
{
    for (int i = 0; i < m->n_layers; i++)
        model_forward_layer(m, p, i, x);
    return model_output(m, m->n_layers - 1, p, x);
}

float *model_output_gradient(struct model *m) { return m->gradients[0]; }

void model_backward_layer(struct model *m, struct pass *p, int i, const float *x, float *dx,
                          float *dy)
{
    struct layer *l = &m->layers[i];

    l->ops->backward(l, p, dx, dy, model_output(m, i - 1, p, x), model_output(m, i, p, x));
}

void model_backward(struct model *m, struct pass *p, const float *x)
{
    float *dy = m->gradients[0], *dx = m->gradients[1];
    for (int i = m->n_layers - 1; i >= m->lowest_trained; i--) {
        float *below = i > m->lowest_trained ? dx : NULL;
        model_backward_layer(m, p, i, x, below, dy);
        dx = dy;
        dy = below;
    }
}

const char *model_first_nonfinite(const struct model *m, uint32_t n)
{
    for (int i = 0; i < m->n_layers; i++) {
        if (is_used(m, i) &&
            !m->kernels->reduce->all_finite(m->activations[i], n * m->layers[i].out_floats))
            return m->layers[i].name;
    }
    return NULL;
}
