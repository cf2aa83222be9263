/* Builds the runtime layers of a net and runs them; see model.h. */
#include "worker/model/model.h"

#include "paceline/mem.h"
#include "paceline/net_parts.h"
#include "worker/layers/param_list.h"
#include "worker/model/memory_plan.h"

static bool model_has_trait(const struct net_layer *n, enum layer_trait trait)
{
    return layer_type_traits[n->spec.type] & trait;
}

static void make_layer(struct model *m, struct layer *l, size_t i, struct fusion f,
                       const struct model_config *config)
{
    const struct net_layer *n = &m->net->layers[i];
    const struct layer_options options = {.relu = f.relu,
                                          .pool = f.pool,
                                          .bf16 = config->bf16,
                                          .samples = l->remote ? 0 : config->max_samples,
                                          .levels = l->remote ? -1 : config->levels,
                                          .batch = l->remote ? 0 : config->batch,
                                          .threads = threads_count(m->threads),
                                          .made = m->layers};
    struct param_list list = {.items = m->params,
                              .n = m->n_params,
                              .n_floats = m->n_floats,
                              .layer = m->n_layers,
                              .remote = l->remote,
                              .batch = config->batch};

    l->ops = layer_table[n->spec.type];
    l->name = n->spec.name;
    l->number = (uint32_t)i;
    l->rows = n->rows ? n->out.w : 1;
    l->ops->init(l, n, &options);
    if (l->ops->add_params)
        l->ops->add_params(l, n, &list);
    m->n_params = list.n;
    m->n_floats = list.n_floats;
}

/* Whether layer i's output has to be in order: unless dense layers read it as it lies, after
 * layers that work value by value at most. */
static bool needs_order(const struct net *net, size_t i)
{
    for (; net_follows(net, i); i++) {
        if (net->layers[i + 1].spec.type == LAYER_DENSE)
            return false;
        if (!model_has_trait(&net->layers[i + 1], TRAIT_BY_VALUE))
            return true;
    }
    return true;
}

static bool flatten_moves(const struct net *net, size_t i, struct shape map)
{
    return map.h * map.w > 1 && needs_order(net, i);
}

/* Whether layer i's output is scored, and lies in no other runtime layer than the last one. */
static bool is_output(const struct model *m, size_t i)
{
    const bool last = i + 1 == m->net->n_layers;

    return m->net->layers[i].spec.loss_weight > 0 ||
           (last && m->layers[m->n_layers].inputs[0] != m->n_layers - 1);
}

static bool is_remote(const struct model_config *config, size_t layer)
{
    return config->owners && config->owners[layer] != config->worker;
}

/* Layer i of the net takes the outputs of these runtime layers. */
static void connect(struct model *m, struct layer *l, size_t i, const int *made)
{
    const struct net_layer *n = &m->net->layers[i];

    l->n_inputs = n->n_inputs;
    l->inputs = xcalloc((size_t)n->n_inputs, sizeof *l->inputs);
    for (int k = 0; k < n->n_inputs; k++) {
        l->inputs[k] = n->inputs[k] < 0 ? (model_has_trait(n, TRAIT_SAMPLES) ? -1 : made[-1])
                                        : made[n->inputs[k]];
        if (l->inputs[k] >= 0)
            m->layers[l->inputs[k]].n_users++;
    }
    if (l->inputs[0] >= 0) {
        l->in_floats = m->layers[l->inputs[0]].out_floats;
        l->out = m->layers[l->inputs[0]].out;
    }
}

/* The samples as blocked maps, for layers that do not take them as they come: a row of values where
 * a flatten or dense layer does. */
static void add_pack(struct model *m, const struct model_config *config)
{
    const struct net *net = m->net;

    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *n = &net->layers[i];
        const bool flat = n->spec.type == LAYER_FLATTEN || n->spec.type == LAYER_DENSE;
        struct layer *l = &m->layers[0];

        for (int k = 0; k < n->n_inputs; k++) {
            if (n->inputs[k] >= 0 || model_has_trait(n, TRAIT_SAMPLES) || m->n_layers)
                continue;
            l->remote = is_remote(config, i);
            l->number = (uint32_t)i;
            l->n_inputs = 1;
            l->inputs = xmalloc(sizeof *l->inputs);
            l->inputs[0] = -1;
            layer_pack(l, net->in, flat);
            m->n_layers++;
        }
    }
}

/* Dropout may overwrite its input where nobody needs that input again: after ReLU, pooling and
 * linear layers, but not after sigmoid, tanh and normalisation by neighbours. */
static bool may_overwrite(const struct layer *below)
{
    return !below->reads_output && !below->image_input && below->n_users == 1;
}

/* When all who take an output are known. */
static void find_in_place(struct model *m)
{
    for (int i = 0; i < m->n_layers; i++) {
        struct layer *l = &m->layers[i];

        l->in_place = l->mask && !l->remote && may_overwrite(&m->layers[l->inputs[0]]);
    }
}

static void build_layers(struct model *m, const struct model_config *config)
{
    const struct net *net = m->net;
    AUTO(auto_free) int *slab = xcalloc(net->n_layers + 1, sizeof *slab);
    int *made = slab + 1; /* the runtime layer of each of the net's; made[-1]: of the samples */

    m->layers = xcalloc(net->n_layers + 1, sizeof *m->layers);
    m->params = xcalloc(net->n_layers * 5, sizeof *m->params);
    add_pack(m, config);
    for (size_t i = 0; i < net->n_layers;) {
        struct fusion f = net_fusion(net, i);
        struct layer *l = &m->layers[m->n_layers];

        connect(m, l, i, made);
        if (net->layers[i].spec.type == LAYER_FLATTEN && !flatten_moves(net, i, l->out) &&
            !is_output(m, i)) {
            made[i++] = l->inputs[0];
            m->layers[l->inputs[0]].n_users--;
            free(l->inputs);
            memset(l, 0, sizeof *l);
            continue;
        }
        l->remote = is_remote(config, i);
        make_layer(m, l, i, f, config);
        for (int k = 0; k < f.taken; k++)
            made[i++] = m->n_layers;
        l->loss_weight = net->layers[i - 1].spec.loss_weight;
        m->n_layers++;
    }
    find_in_place(m);
}

static float *model_take(struct model *m, size_t floats_per_sample)
{
    return xaligned(floats_per_sample * (m->max_samples ? m->max_samples : 1) * sizeof(float));
}

/* Whether the output is made or read here. */
static bool is_used(const struct model *m, int i)
{
    bool used = !m->layers[i].remote;

    for (int user = i + 1; !used && user < m->n_layers; user++)
        for (int k = 0; k < m->layers[user].n_inputs; k++)
            used |= m->layers[user].inputs[k] == i && !m->layers[user].remote;
    return used;
}

/* Side outputs, and what leads to them alone. */
static void find_sides(struct model *m)
{
    m->sides = xcalloc((size_t)m->net->n_sides + 1, sizeof *m->sides);
    for (int i = 0; i < m->n_layers; i++) {
        m->layers[i].auxiliary = i + 1 < m->n_layers;
        if (m->layers[i].loss_weight > 0)
            m->sides[m->n_sides++] = i;
    }
    for (int i = m->n_layers - 1; i >= 0; i--)
        for (int k = 0; k < m->layers[i].n_inputs && !m->layers[i].auxiliary; k++)
            if (m->layers[i].inputs[k] >= 0)
                m->layers[m->layers[i].inputs[k]].auxiliary = false;
}

static bool takes_once(const struct layer *l, int from)
{
    int n = 0;

    for (int k = 0; k < l->n_inputs; k++)
        n += l->inputs[k] == from;
    return n == 1;
}

/* The needs of the way back, and which of them each layer has for the gradient of its output, and
 * for its part of a gradient that others have begun; -1: none. */
struct slab_plan {
    struct memory_need *needs;
    int n, *output, *apart;
};

/* The losses are step 0, the last layer's way back is step 1. */
static int model_step_of(const struct model *m, int layer) { return m->n_layers - layer; }

static int plan_add(struct slab_plan *p, const struct model *m, int layer, int from, int to)
{
    const size_t floats = is_used(m, layer) ? m->layers[layer].out_floats : 0;

    p->needs[p->n] =
        (struct memory_need){.floats = floats * m->max_samples, .from = from, .to = to};
    return p->n++;
}

/* What layer i needs for the gradients of its inputs. A sum that is made here leaves its own to one
 * of them. */
static void plan_inputs(struct slab_plan *p, const struct model *m, int i)
{
    const struct layer *l = &m->layers[i];
    bool left = !l->passes || l->remote || p->output[i] < 0; /* to nobody, then */

    for (int k = 0; k < l->n_inputs; k++) {
        const int from = l->inputs[k];

        if (from < m->lowest_trained)
            continue;
        if (p->output[from] >= 0) {
            if (!l->ops->backward_n)
                p->apart[i] = plan_add(p, m, from, model_step_of(m, i), model_step_of(m, i));
        } else if (!left && takes_once(l, from)) {
            p->output[from] = p->output[i];
            p->needs[p->output[i]].to = model_step_of(m, from);
            left = true;
        } else {
            p->output[from] = plan_add(p, m, from, model_step_of(m, i), model_step_of(m, from));
        }
    }
}

/*
 * Where the gradient of each layer's output lies on the way back. It is needed from where the last
 * layer that takes the output gives it, to where the layer itself is done with it.
 */
static void place_gradients(struct model *m)
{
    const size_t n = (size_t)m->n_layers;
    AUTO(auto_free) int *output = xcalloc(n, sizeof *output);
    AUTO(auto_free) int *apart = xcalloc(n, sizeof *apart);
    AUTO(auto_free) struct memory_need *needs = xcalloc(2 * n, sizeof *needs);
    struct slab_plan p = {.needs = needs, .output = output, .apart = apart};

    for (int i = 0; i < m->n_layers; i++)
        output[i] = apart[i] = -1;
    output[n - 1] = plan_add(&p, m, m->n_layers - 1, 0, 1);
    for (int i = m->n_layers - 1; i > m->lowest_trained; i--)
        plan_inputs(&p, m, i);
    for (int k = 0; k < m->n_sides; k++) /* theirs is nobody else's: for all parts of a batch */
        if (!m->layers[m->sides[k]].remote)
            output[m->sides[k]] = plan_add(&p, m, m->sides[k], 0, m->n_layers);
    m->way_back_floats = memory_plan(needs, p.n);
    m->way_back = xaligned(m->way_back_floats * sizeof(float));
    m->gradients = xcalloc(n, sizeof *m->gradients);
    m->apart = xcalloc(n, sizeof *m->apart);
    for (int i = 0; i < m->n_layers; i++) {
        m->gradients[i] = output[i] < 0 ? NULL : m->way_back + needs[output[i]].at;
        m->apart[i] = apart[i] < 0 ? NULL : m->way_back + needs[apart[i]].at;
    }
}

static size_t model_larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t levels_floats(const struct layer *l) { return l->level_floats * (size_t)l->n_levels; }

/* Layers are at work one after the other. */
static void share_memory(struct model *m)
{
    for (int i = 0; i < m->n_layers; i++) {
        const struct layer *l = &m->layers[i];

        m->packed_floats = model_larger(m->packed_floats, l->packed_floats);
        if (!l->levels)
            m->levels_floats = model_larger(m->levels_floats, levels_floats(l));
        if (!l->remote)
            m->scratch_floats = model_larger(m->scratch_floats, l->scratch_floats);
    }
    m->levels = xaligned(m->levels_floats * sizeof(float));
    m->packed = xaligned(m->packed_floats * sizeof(float));
    for (int i = 0; i < m->n_layers; i++) {
        struct layer *l = &m->layers[i];

        l->levels = l->levels ? l->levels : m->levels;
        l->packed = m->packed;
    }
    m->scratch = xcalloc((size_t)threads_count(m->threads), sizeof *m->scratch);
    for (int i = 0; i < threads_count(m->threads); i++)
        m->scratch[i] = xaligned((m->scratch_floats + 16) * sizeof(float));
}

static void take_memory(struct model *m)
{
    m->activations = xcalloc((size_t)m->n_layers, sizeof *m->activations);
    m->lowest_trained = m->n_layers;
    for (int i = m->n_layers - 1; i >= 0; i--)
        if (m->layers[i].weight && !m->layers[i].weight->frozen)
            m->lowest_trained = i;
    for (int i = 0; i < m->n_layers; i++) {
        const struct layer *l = &m->layers[i];
        if (is_used(m, i))
            m->activations[i] =
                l->in_place ? m->activations[l->inputs[0]] : model_take(m, l->out_floats);
    }
    place_gradients(m);
    m->given = xcalloc((size_t)m->n_layers, sizeof *m->given);
    share_memory(m);
    m->weights = xaligned(m->n_floats * sizeof(float));
}

void model_init(struct model *m, const struct net *net, const struct model_config *config)
{
    memset(m, 0, sizeof *m);
    m->kernels = config->kernels;
    m->threads = config->threads;
    m->net = net;
    m->max_samples = config->max_samples;
    m->positions = net->rows ? net->out.w : 1;
    m->classes = net->out.c * net->out.h * net->out.w / m->positions;
    build_layers(m, config);
    find_sides(m);
    take_memory(m);
}

void model_release(struct model *m)
{
    for (int i = 0; i < m->n_layers; i++) {
        if (!m->layers[i].in_place)
            free(m->activations[i]);
        if (m->layers[i].ops->release)
            m->layers[i].ops->release(&m->layers[i]);
        free(m->layers[i].inputs);
    }
    for (int i = 0; m->scratch && i < threads_count(m->threads); i++)
        free(m->scratch[i]);
    free(m->scratch);
    free(m->activations);
    free(m->gradients);
    free(m->apart);
    free(m->way_back);
    free(m->levels);
    free(m->packed);
    free(m->sides);
    free(m->weights);
    free(m->given);
    free(m->layers);
    free(m->params);
    memset(m, 0, sizeof *m);
}

struct model_bytes model_bytes(const struct model *m)
{
    size_t saved = 0, scratch = m->scratch_floats * (size_t)threads_count(m->threads);

    for (int i = 0; i < m->n_layers; i++) {
        const struct layer *l = &m->layers[i];
        if (!is_used(m, i))
            continue;
        saved += l->in_place ? 0 : l->out_floats;
        saved += l->argmax ? l->out_floats / 4 : 0;
        saved += l->mask && !l->remote ? l->out_floats / 32 : 0;
        saved += l->lstm && !l->remote ? layer_lstm_floats(l) : 0;
        scratch += l->levels == m->levels || l->remote ? 0 : levels_floats(l);
    }
    scratch += m->levels_floats + m->packed_floats;
    return (struct model_bytes){.parameters = sizeof(float) * m->n_floats,
                                .saved = sizeof(float) * saved * m->max_samples,
                                .way_back = sizeof(float) * m->way_back_floats,
                                .scratch = sizeof(float) * scratch};
}

float *model_output(const struct model *m, int i, const struct pass *p, const float *x)
{
    const size_t in = (size_t)(m->net->in.c * m->net->in.h * m->net->in.w);

    return i < 0 ? (float *)x + p->first * in
                 : m->activations[i] + p->first * m->layers[i].out_floats;
}

void model_forward_layer(struct model *m, struct pass *p, int i, const float *x)
{
    const int was = profile_enter(p->profile, i, PROFILE_FORWARD);
    struct layer *l = &m->layers[i];

    p->kernels = m->kernels;
    p->threads = m->threads;
    p->scratch = m->scratch;
    p->params = p->training && p->weights ? p->weights : m->weights;
    if (l->ops->forward) {
        l->ops->forward(l, p, model_output(m, i, p, x), model_output(m, l->inputs[0], p, x));
    } else {
        const float *from[NET_INPUTS_MAX];
        for (int k = 0; k < l->n_inputs; k++)
            from[k] = model_output(m, l->inputs[k], p, x);
        l->ops->forward_n(l, p, model_output(m, i, p, x), from);
    }
    profile_leave(p->profile, was);
}

const float *model_forward(struct model *m, struct pass *p, const float *x)
{
    for (int i = 0; i < m->n_layers; i++) {
        if (p->training || !m->layers[i].auxiliary)
            model_forward_layer(m, p, i, x);
        if (p->training)
            pass_poll(p);
    }
    return model_output(m, m->n_layers - 1, p, x);
}

float *model_output_gradient(struct model *m) { return m->gradients[m->n_layers - 1]; }

float *model_side_gradient(const struct model *m, int k) { return m->gradients[m->sides[k]]; }

/* The gradient of layer i's output; NULL where nothing trained is below. */
static float *gradient_of(const struct model *m, int i)
{
    return i < m->lowest_trained ? NULL : m->gradients[i];
}

/* Layer i's own in the pass. That of a side output is there of all samples at once. */
static float *given_to(const struct model *m, const struct pass *p, int i)
{
    float *dy = gradient_of(m, i);

    return m->layers[i].loss_weight > 0 ? dy + p->first * m->layers[i].out_floats : dy;
}

void model_add_gradient(struct model *m, int i, const float *dy, uint32_t n)
{
    const size_t floats = n * m->layers[i].out_floats;

    if (m->given[i])
        m->kernels->reduce->add(gradient_of(m, i), dy, floats);
    else
        memcpy(gradient_of(m, i), dy, floats * sizeof *dy);
    m->given[i] = true;
}

/* Where several layers take an output, the last of them gives its gradient, the others add theirs,
 * from a buffer of its own. */
static void backward_one(struct model *m, struct pass *p, int i, const float *x, float *const *away)
{
    struct layer *l = &m->layers[i];
    const int from = l->inputs[0];
    float *dx = gradient_of(m, from), *own = m->apart[i];
    const bool sent = away && away[0], fresh = !dx || !m->given[from];

    l->ops->backward(l, p,
                     sent    ? away[0]
                     : fresh ? dx
                             : own,
                     given_to(m, p, i), model_output(m, from, p, x), model_output(m, i, p, x));
    if (!sent && !fresh)
        m->kernels->reduce->add(dx, own, p->n * m->layers[from].out_floats);
    if (!sent && dx)
        m->given[from] = true;
}

static void backward_merge(struct model *m, struct pass *p, int i, float *const *away)
{
    struct layer *l = &m->layers[i];
    float *dx[NET_INPUTS_MAX];
    bool fresh[NET_INPUTS_MAX];

    for (int k = 0; k < l->n_inputs; k++) {
        const int from = l->inputs[k];
        const bool sent = away && away[k];

        dx[k] = sent ? away[k] : gradient_of(m, from);
        fresh[k] = sent || (dx[k] && !m->given[from]);
        if (dx[k] && !sent)
            m->given[from] = true;
    }
    l->ops->backward_n(l, p, dx, fresh, given_to(m, p, i), model_output(m, i, p, NULL));
}

void model_begin_backward(struct model *m)
{
    memset(m->given, 0, (size_t)m->n_layers * sizeof *m->given);
}

void model_backward_layer(struct model *m, struct pass *p, int i, const float *x,
                          float *const *away)
{
    const int was = profile_enter(p->profile, i, PROFILE_BACKWARD);

    if (m->layers[i].ops->backward_n)
        backward_merge(m, p, i, away);
    else
        backward_one(m, p, i, x, away);
    profile_leave(p->profile, was);
}

void model_backward(struct model *m, struct pass *p, const float *x)
{
    model_begin_backward(m);
    for (int i = m->n_layers - 1; i >= m->lowest_trained; i--)
        model_backward_layer(m, p, i, x, NULL);
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
