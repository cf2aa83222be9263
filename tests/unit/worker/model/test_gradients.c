// LINK: worker/kernels common worker/layers worker/model/model.c worker/lanes/profile.c
// LINK: worker/model/params.c worker/model/loss.c worker/lanes/lanes.c
// LINK: worker/model/memory_plan.c worker/threads
// Finite differences: outputs and gradients of every kind of layer beside a net in double
// precision, over odd shapes, fused and not, in chains and with branches; and the same bytes on one
// thread, on three, and when gradients are applied as they come.
#include "paceline/spec.h"
#include "tests/test.h"
#include "tests/unit/fill.h"
#include "tests/unit/gradient_cases.h"
#include "tests/unit/net_reference.h"
#include "tests/unit/rank.h"
#include "worker/model/loss.h"

#define SAMPLES 6 /* of the four lanes two have two */
#define STEP 1e-5
#define PER_TENSOR 10
#define POSITIONS_MAX 8

static const uint32_t ids[SAMPLES] = {7, 0, 91, 12, 3, 60000};

struct trial {
    struct job *job;
    struct net net;
    float *x;
    int positions, labels[SAMPLES * POSITIONS_MAX];
    float *values; /* labels that are no classes, or NULL */
};

static bool is_text(const struct net_case *c) { return strstr(c->layers, "embedding"); }

static bool of_classes(const struct net_case *c)
{
    return strstr(c->loss, "softmax") || strstr(c->loss, "squared");
}

static void trial_init(struct trial *t, const struct net_case *c, uint32_t seed)
{
    struct problems problems = {0};
    struct err err = {0};
    AUTO(auto_free)
    char *text = xasprintf("apiVersion: paceline.dev/v1\nkind: TrainingJob\nmetadata: {name: t}\n"
                           "spec: {model: {loss: %s, layers: [%s]}%s}\n",
                           c->loss, c->layers,
                           is_text(c)      ? ", dataset: {name: text, path: x}"
                           : of_classes(c) ? ""
                                           : ", dataset: {name: arrays, path: x}");
    t->job = job_parse(text, strlen(text), "case", NULL, 0, &problems);
    for (size_t i = 0; i < problems.n; i++)
        TEST_FAIL("%s", problems.items[i]);
    problems_release(&problems);
    if (!t->job || job_network(t->job, c->in, 0, &t->net, &err) != 0) {
        fprintf(stderr, "%s: %s\n", c->layers, err.msg);
        exit(1);
    }
    size_t n = SAMPLES * shape_values(c->in);
    t->x = xmalloc(n * sizeof *t->x);
    fill_uniform(t->x, n, seed);
    for (size_t i = 0; is_text(c) && i < n; i++)
        t->x[i] = (float)(fill_u32(seed, (uint32_t)i) % (uint32_t)t->net.layers[0].spec.vocabulary);
    t->positions = is_text(c) ? c->in.w : 1;
    const uint32_t classes = (uint32_t)shape_values(t->net.out) / (uint32_t)t->positions;
    for (int i = 0; i < SAMPLES * t->positions; i++)
        t->labels[i] = (int)(fill_u32(seed + 1, (uint32_t)i) % classes);
    t->values = NULL;
    if (loss_defs[t->job->model.loss].labels == LABELS_CLASS)
        return;
    t->values = xmalloc(SAMPLES * classes * sizeof *t->values);
    fill_uniform(t->values, SAMPLES * classes, seed + 2);
    for (size_t i = 0; i < SAMPLES * classes; i++)
        t->values[i] = loss_defs[t->job->model.loss].labels == LABELS_BITS ? t->values[i] > 0
                                                                           : 2 * t->values[i];
}

static void trial_release(struct trial *t)
{
    free(t->x);
    free(t->values);
    net_release(&t->net);
    job_free(t->job);
}

static void apply_copy(void *arg, size_t offset, size_t n, const float *gradient,
                       enum param_kind kind)
{
    struct rank *r = arg;
    const struct param *p = r->model.params;
    while (offset >= p->offset + p->floats)
        p++;
    CHECK(p->kind == kind && offset + n <= p->offset + p->floats);
    memcpy(r->sink.blocks[0] + offset, gradient, n * sizeof *gradient);
}

static void set_weights(struct model *m, uint32_t seed)
{
    for (int i = 0; i < m->n_params; i++) {
        const struct param *p = &m->params[i];
        size_t n = param_elements(p);
        AUTO(auto_free) float *flat = xmalloc(n * sizeof *flat);
        fill_uniform(flat, n, seed + (uint32_t)i);
        for (size_t e = 0; p->kind == PARAM_WEIGHT && e < n; e++)
            flat[e] *= (float)sqrt(6.0 / p->fan_in);
        for (size_t e = 0; strstr(p->name, "running_var") && e < n; e++)
            flat[e] = 0.5f + flat[e] * flat[e];
        model_import(m, p, m->weights, flat);
    }
}

static const float *values_of(const struct trial *t, size_t i, int n)
{
    return t->values ? t->values + i * (size_t)n : NULL;
}

static void gradient_of(const struct trial *t, const struct model *m, size_t i, const float *y,
                        size_t row, float *dy)
{
    if (t->values)
        loss_values(t->job->model.loss, t->job->model.huber_delta, y, row, m->classes,
                    values_of(t, i, m->classes), SAMPLES, dy);
    else
        loss_sample(t->job->model.loss, m->kernels, y, row, m->classes, t->labels[i], SAMPLES, dy,
                    NULL);
}

/* Forward, loss and backward over all samples; the gradient is in r->sink.blocks[0]. */
static void run(struct rank *r, const struct trial *t, struct threads *threads, bool apply,
                uint32_t seed)
{
    rank_init(r, &t->net, kernels_select(NULL), threads, SAMPLES, 0, 1);
    r->sink.apply = apply ? apply_copy : NULL;
    r->sink.arg = r;
    r->pass.ids = ids;
    r->pass.seed = seed;
    r->pass.n_update = SAMPLES;
    r->pass.epoch = 3;
    set_weights(&r->model, seed);

    struct model *m = &r->model;
    const size_t row = m->layers[m->n_layers - 1].out_floats / (size_t)m->positions;
    const float *y = model_forward(m, &r->pass, t->x);
    float *dy = model_output_gradient(m);
    for (size_t i = 0; i < SAMPLES * (size_t)m->positions; i++)
        gradient_of(t, m, i, y + i * row, row, dy + i * row);
    for (int k = 0; k < m->n_sides; k++) {
        const struct layer *l = &m->layers[m->sides[k]];
        const size_t side = l->out_floats / (size_t)m->positions;
        for (size_t i = 0; i < SAMPLES * (size_t)m->positions; i++) {
            float *side_dy = model_side_gradient(m, k) + i * side;

            gradient_of(t, m, i, m->activations[m->sides[k]] + i * side, side, side_dy);
            loss_weigh(side_dy, m->classes, l->loss_weight);
        }
    }
    model_backward(m, &r->pass, t->x);
}

/* Of the scores that the net's layer `layer` gives. */
static double layer_loss(const struct reference *ref, const struct trial *t, size_t layer)
{
    AUTO(auto_free) double *y = reference_layer(ref, t->x, SAMPLES, layer);
    const int classes = ref->model->classes, positions = t->positions;
    double sum = 0, scores[128];
    for (int i = 0; i < SAMPLES * positions; i++) {
        for (int k = 0; k < classes; k++)
            scores[k] = y[(i / positions * classes + k) * positions + i % positions];
        sum += t->values ? reference_values(t->job->model.loss, t->job->model.huber_delta, scores,
                                            classes, values_of(t, (size_t)i, classes))
                         : reference_loss(t->job->model.loss, scores, classes, t->labels[i]);
    }
    return sum / SAMPLES;
}

static double mean_loss(const struct reference *ref, const struct trial *t)
{
    double sum = layer_loss(ref, t, t->net.n_layers - 1);
    for (size_t i = 0; i < t->net.n_layers; i++)
        if (t->net.layers[i].spec.loss_weight > 0)
            sum += t->net.layers[i].spec.loss_weight * layer_loss(ref, t, i);
    return sum;
}

static void check_outputs(const struct reference *ref, const struct trial *t)
{
    const struct model *m = ref->model;
    const float *y = m->activations[m->n_layers - 1];
    const struct layer *last = &m->layers[m->n_layers - 1];
    const size_t values = shape_values(m->net->out);
    AUTO(auto_free) double *want = reference_forward(ref, t->x, SAMPLES);

    for (size_t i = 0; i < SAMPLES * values; i++)
        CHECK_NEAR((double)y[i / values * last->out_floats + value_index(last, i % values)],
                   want[i], 1e-5 * (1 + fabs(want[i])));
}

static double numeric(struct reference *ref, const struct trial *t, int param, size_t e)
{
    double *w = &ref->params[param][e], was = *w;
    *w = was + STEP;
    double above = mean_loss(ref, t);
    *w = was - STEP;
    double below = mean_loss(ref, t);
    *w = was;
    return (above - below) / (2 * STEP);
}

static void check_tensor(struct reference *ref, const struct trial *t, int param, const float *slab)
{
    const struct param *p = &ref->model->params[param];
    size_t n = param_elements(p), stride = n > PER_TENSOR ? (n / PER_TENSOR) | 1 : 1;
    AUTO(auto_free) float *got = xmalloc(n * sizeof *got);
    double largest = 0;

    model_export(ref->model, p, got, slab);
    for (size_t e = 0; e < n; e++)
        largest = fabs((double)got[e]) > largest ? fabs((double)got[e]) : largest;
    CHECK(p->frozen ? largest == 0 : largest > 0);
    for (size_t i = 0; !p->frozen && i < PER_TENSOR && i < n; i++) {
        const size_t e = i * stride % n;
        const double want =
            p->kind >= PARAM_STATISTIC ? ref->measured[param][e] : numeric(ref, t, param, e);
        CHECK_NEAR((double)got[e], want, 2e-5 * largest + 1e-8);
    }
}

/* The padding of a slab stays zero: what is not exported is counted. */
static void check_padding(const struct model *m, const float *slab)
{
    size_t inside = 0, all = 0;
    for (size_t i = 0; i < m->n_floats; i++)
        all += slab[i] != 0;
    for (int i = 0; i < m->n_params; i++) {
        size_t n = param_elements(&m->params[i]);
        AUTO(auto_free) float *flat = xmalloc(n * sizeof *flat);
        model_export(m, &m->params[i], flat, slab);
        for (size_t e = 0; e < n; e++)
            inside += flat[e] != 0;
    }
    CHECK_INT(all, inside);
}

static void check_same(const struct trial *t, const struct rank *want, int n_threads, bool apply,
                       uint32_t seed)
{
    struct threads *threads = threads_new(n_threads);
    struct rank r;
    run(&r, t, threads, apply, seed);
    CHECK_BYTES(r.sink.blocks[0], want->sink.blocks[0], r.model.n_floats * sizeof(float));
    rank_release(&r);
    threads_free(threads);
}

static void test_case(const struct net_case *c, uint32_t seed)
{
    struct threads *one = threads_new(1);
    struct reference ref;
    struct trial t;
    struct rank r;
    int before = test_failed;

    trial_init(&t, c, seed);
    run(&r, &t, one, false, seed);
    reference_init(&ref, &r.model);
    ref.lanes = LANES;
    check_outputs(&ref, &t);
    for (int i = 0; i < r.model.n_params; i++)
        check_tensor(&ref, &t, i, r.sink.blocks[0]);
    check_padding(&r.model, r.sink.blocks[0]);
    r.pass.training = ref.training = false;
    for (int k = 0; k < r.model.n_sides; k++)
        *r.model.activations[r.model.sides[k]] = 77;
    model_forward(&r.model, &r.pass, t.x);
    for (int k = 0; k < r.model.n_sides; k++) /* left out of evaluation */
        CHECK_NEAR((double)*r.model.activations[r.model.sides[k]], 77, 0);
    check_outputs(&ref, &t);
    check_same(&t, &r, 3, false, seed);
    check_same(&t, &r, 1, true, seed);
    check_same(&t, &r, 2, true, seed);
    if (test_failed > before)
        fprintf(stderr, "  of %dx%dx%d: %s\n", c->in.c, c->in.h, c->in.w, c->layers);
    reference_release(&ref);
    rank_release(&r);
    trial_release(&t);
    threads_free(one);
}

int main(void)
{
    kernels_thread_init();
    for (uint32_t i = 0; i < ARRAY_LEN(cases); i++)
        test_case(&cases[i], 100 * (i + 1));
    return test_result();
}
