/* Parameters: initial values, and the way between the slab's layout and the order others read. */
#include "paceline/mem.h"
#include "worker/model/model.h"

size_t param_elements(const struct param *p)
{
    size_t n = 1;
    for (int i = 0; i < p->n_dims; i++)
        n *= (size_t)p->dims[i];
    return n;
}

size_t model_largest(const struct model *m)
{
    size_t most = 0;
    for (int i = 0; i < m->n_params; i++) {
        size_t n = param_elements(&m->params[i]);
        most = n > most ? n : most;
    }
    return most;
}

static void export_dense(const struct model *m, const struct layer *l, float *flat, float *slab,
                         bool import)
{
    struct shape in = m->layers[l->inputs[0]].out; /* never the samples: see layer_pack */
    in.w /= l->rows;
    int inputs = in.c * in.h * in.w;

    for (int i = 0; i < inputs; i++) {
        int at = (int)map_index(in, (size_t)i);
        for (int o = 0; o < l->out.c; o++) {
            float *a = &flat[(size_t)o * (size_t)inputs + (size_t)i];
            float *b = &slab[dense_weight_index(&l->dense, o, at)];
            *(import ? b : a) = *(import ? a : b);
        }
    }
}

/* Rows that are padded in the slab: of words, of states, of gates. */
static void export_rows(const struct param *p, size_t rows, float *flat, float *slab, bool import)
{
    const size_t values = param_elements(p) / rows, width = p->floats / rows;

    for (size_t r = 0; r < rows; r++)
        memcpy(import ? slab + r * width : flat + r * values,
               import ? flat + r * values : slab + r * width, values * sizeof(float));
}

/* [4*units][inputs], in the slab's gates of padded units. */
static void export_gates(const struct layer *l, const struct param *p, float *flat, float *slab,
                         bool import)
{
    const struct dense d = layer_lstm_dense(l, p == l->recurrent);
    const int units = (int)p->dims[0] / 4, inputs = (int)p->dims[1];

    for (int o = 0; o < 4 * units; o++) {
        const int at = o / units * (d.out / 4) + o % units;
        for (int i = 0; i < inputs; i++) {
            float *a = &flat[(size_t)o * (size_t)inputs + (size_t)i];
            float *b = &slab[dense_weight_index(&d, at, i)];
            *(import ? b : a) = *(import ? a : b);
        }
    }
}

static void export_conv(const struct conv *c, float *flat, float *slab, bool import)
{
    int taps = c->r * c->s;
    for (int i = 0; i < c->k * c->c * taps; i++) {
        float *b = &slab[conv_weight_index(c, i / (c->c * taps), i / taps % c->c, i % taps / c->s,
                                           i % c->s)];
        *(import ? b : &flat[i]) = *(import ? &flat[i] : b);
    }
}

static void copy_param(const struct model *m, const struct param *p, float *flat, float *slab,
                       bool import)
{
    const struct layer *l = &m->layers[p->layer];
    if (p->kind == PARAM_STATE || l->embedding)
        export_rows(p, (size_t)p->dims[0], flat, slab, import);
    else if (l->lstm && p->kind == PARAM_BIAS)
        export_rows(p, 4, flat, slab, import);
    else if (l->lstm)
        export_gates(l, p, flat, slab, import);
    else if (p->kind != PARAM_WEIGHT)
        memcpy(import ? slab : flat, import ? flat : slab, param_elements(p) * sizeof(float));
    else if (p->n_dims == 4)
        export_conv(&l->conv, flat, slab, import);
    else
        export_dense(m, l, flat, slab, import);
}

void model_export(const struct model *m, const struct param *p, float *out, const float *slab)
{
    copy_param(m, p, out, (float *)slab + p->offset, false);
}

void model_import(const struct model *m, const struct param *p, float *slab, const float *in)
{
    copy_param(m, p, (float *)in, slab + p->offset, true);
}

/* He: normal with variance 2/fan_in. Glorot: uniform in +-sqrt(6/(fan_in + fan_out)); else in
 * +-range.
 */
static void params_draw(const struct model *m, const struct param *p, uint32_t tensor,
                        uint64_t seed, float *flat)
{
    const struct random_kernels *k = m->kernels->random;
    const struct random_key key = {.seed = seed, .purpose = RANDOM_INIT, .item = tensor};
    size_t n = param_elements(p);

    if (p->initializer == INIT_HE) {
        float scale = __builtin_sqrtf(2.0f / (float)p->fan_in);
        k->normal(flat, &key, 0, n);
        for (size_t i = 0; i < n; i++)
            flat[i] *= scale;
    } else if (p->initializer == INIT_GLOROT || p->initializer == INIT_UNIFORM) {
        float glorot = __builtin_sqrtf(6.0f / (float)(p->fan_in + p->fan_out));
        float limit = p->initializer == INIT_GLOROT ? glorot : (float)p->range;
        k->uniform(flat, &key, 0, n);
        for (size_t i = 0; i < n; i++)
            flat[i] = limit * (2.0f * flat[i] - 1.0f);
    } else if (p->forget != 0) {
        memset(flat, 0, n * sizeof *flat);
        for (size_t i = n / 4; i < n / 2; i++)
            flat[i] = (float)p->forget;
    } else if (p->initializer == INIT_ONE) {
        for (size_t i = 0; i < n; i++)
            flat[i] = 1.0f;
    }
}

void model_init_weights(struct model *m, uint64_t seed)
{
    memset(m->weights, 0, m->n_floats * sizeof(float));
    for (int i = 0; i < m->n_params; i++) {
        const struct param *p = &m->params[i];
        if ((p->initializer == INIT_ZERO && p->forget == 0) || !p->floats)
            continue;
        AUTO(auto_free) float *flat = xmalloc((param_elements(p) + 64) * sizeof(float));
        params_draw(m, p, (uint32_t)i, seed, flat);
        model_import(m, p, m->weights, flat);
    }
}
