// LINK: worker/kernels common worker/layers worker/model/model.c worker/lanes/profile.c
// LINK: worker/model/params.c worker/model/loss.c worker/lanes/lanes.c
// LINK: worker/model/memory_plan.c worker/threads
// LINK: worker/optim/optimizer.c worker/optim/schedule.c worker/checkpoint/safetensors.c
// Whole models against PyTorch (tests/vectors): outputs, losses, gradients and three updates, and
// outputs by running statistics; words whose state is carried; and the same bytes on every
// instruction set, thread count and cut of the lanes over ranks. Memory that layers share holds NaN
// before each of them.
#include "tests/test.h"
#include "tests/unit/fill.h"
#include "tests/unit/rank.h"
#include "worker/checkpoint/safetensors.h"
#include "worker/model/loss.h"
#include "worker/optim/optim.h"

static void spoil(float *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = NAN;
}

/* Layers share what they need at work: none may find there what another has left. */
static void backward_spoilt(struct model *m, struct pass *p, const float *x)
{
    model_begin_backward(m);
    for (int i = m->n_layers - 1; i >= m->lowest_trained; i--) {
        spoil(m->levels, m->levels_floats);
        spoil(m->packed, m->packed_floats);
        for (int t = 0; t < threads_count(m->threads); t++)
            spoil(m->scratch[t], m->scratch_floats);
        model_backward_layer(m, p, i, x, NULL);
    }
}

/* Forward, loss, backward; returns the sum of the losses. */
static double rank_step(struct rank *r, const struct job *job, const float *x,
                        const uint8_t *labels, uint32_t n, float *outputs)
{
    struct model *m = &r->model;
    const uint32_t positions = (uint32_t)m->positions;
    const size_t row = m->layers[m->n_layers - 1].out_floats / positions;
    const size_t in = m->layers[0].in_floats;
    for (int t = 0; t < threads_count(m->threads); t++)
        spoil(m->scratch[t], m->scratch_floats);
    spoil(m->way_back, m->way_back_floats);
    const float *y = model_forward(m, &r->pass, x + r->first * in);
    float *dy = model_output_gradient(m);
    double loss = 0;
    for (uint32_t i = 0; i < r->pass.n * positions; i++) {
        loss += loss_sample(job->model.loss, m->kernels, y + i * row, row, m->classes,
                            labels[r->first * positions + i], n, dy + i * row, NULL)
                    .loss;
        if (outputs)
            memcpy(outputs + i * (size_t)m->classes, y + i * row,
                   sizeof(float) * (size_t)m->classes);
    }
    for (int k = 0; k < m->n_sides; k++) {
        const struct layer *l = &m->layers[m->sides[k]];
        for (uint32_t i = 0; i < r->pass.n; i++) {
            float *side = model_side_gradient(m, k) + i * l->out_floats;

            loss += l->loss_weight * loss_sample(job->model.loss, m->kernels,
                                                 m->activations[m->sides[k]] + i * l->out_floats,
                                                 l->out_floats, m->classes, labels[r->first + i], n,
                                                 side, NULL)
                                         .loss;
            loss_weigh(side, m->classes, l->loss_weight);
        }
    }
    backward_spoilt(m, &r->pass, x + r->first * in);
    return loss;
}

/* The entry of a vector file for tensor P: whole, or 64 entries of it. */
static void check_tensor(const struct st_file *f, const char *what, const struct param *p,
                         const float *got, double tolerance)
{
    char name[200];
    size_t n = param_elements(p), stride = 1, count = n;
    snprintf(name, sizeof name, "%s.%s", what, p->name);
    const struct st_tensor *t = st_find(f, name);
    if (!t && st_find(f, "evaluated"))
        return; /* of networks that branch not all is stored */
    if (!t) {
        snprintf(name, sizeof name, "%s.%s.entries", what, p->name);
        t = st_find(f, name);
        stride = (n / 64) | 1;
        count = n < 64 ? n : 64;
    }
    CHECK(t != NULL);
    const float *want = t ? t->data : NULL;
    /* The gradient of a bias below a norm is zero but for rounding. */
    double largest = 0, floor = st_find(f, "evaluated") ? 0.05 : 1e-6;
    for (size_t i = 0; t && i < count; i++)
        largest = fabs((double)want[i]) > largest ? fabs((double)want[i]) : largest;
    for (size_t i = 0; t && i < count; i++) {
        int before = test_failed;
        CHECK_NEAR(got[i * stride % n], want[i], tolerance * (largest + floor));
        if (test_failed > before) {
            fprintf(stderr, "  %s[%zu]\n", name, i * stride % n);
            return;
        }
    }
}

static float initial_by_rule(const struct param *p, uint32_t tensor, uint32_t i)
{
    double bound = 1.0 / 32;
    if (p->kind == PARAM_WEIGHT) {
        for (bound = 1; bound > sqrt(6.0 / p->fan_in);)
            bound /= 2;
    }
    uint32_t x = i + tensor * 0x9E3779B9u;
    x = (x ^ x >> 16) * 0x85EBCA6Bu;
    x = (x ^ x >> 13) * 0xC2B2AE35u;
    x ^= x >> 16;
    return (float)(((double)(x >> 8) - 8388608.0) / 8388608.0 * bound);
}

static void load_initial(const struct st_file *f, struct model *m)
{
    for (int i = 0; i < m->n_params; i++) {
        const struct param *p = &m->params[i];
        size_t n = param_elements(p);
        AUTO(auto_free) float *flat = xmalloc(n * sizeof *flat);
        char name[200];
        snprintf(name, sizeof name, "initial.%s", p->name);
        const struct st_tensor *t = st_find(f, name);
        for (size_t e = 0; e < n; e++)
            flat[e] =
                t ? ((const float *)t->data)[e] : initial_by_rule(p, (uint32_t)i + 1, (uint32_t)e);
        model_import(m, p, m->weights, flat);
    }
}

static void check_params(const struct st_file *f, const struct model *m, const char *what,
                         const float *slab, double tolerance)
{
    for (int i = 0; i < m->n_params; i++) {
        const struct param *p = &m->params[i];
        AUTO(auto_free) float *flat = xmalloc(param_elements(p) * sizeof *flat);
        model_export(m, p, flat, slab);
        check_tensor(f, what, p, flat, tolerance);
    }
}

static void update(struct optimizer *o, struct rank *r, const struct param *p)
{
    float *w = r->model.weights + p->offset;
    const float *g = r->sink.blocks[0] + p->offset;

    if (p->kind == PARAM_STATISTIC)
        r->model.kernels->reduce->add(w, g, p->floats);
    else if (p->kind == PARAM_STATE)
        memcpy(w, g, p->floats * sizeof *w);
    else
        optimizer_update(o, w, g, p->offset, p->floats, p->kind == PARAM_WEIGHT);
}

static void check_outputs(const struct st_tensor *want, const float *got)
{
    for (size_t i = 0; i < (size_t)(want->dims[0] * want->dims[1]); i++)
        CHECK_NEAR(got[i], ((const float *)want->data)[i], 1e-5);
}

/* Three updates on one rank, beside PyTorch's. Networks that branch: batch normalisation is of the
 * whole batch there, so in one lane. */
static void check_training(const struct st_file *f, const struct job *job, const struct net *net,
                           const struct kernels *k)
{
    const struct st_tensor *x = st_find(f, "x"), *labels = st_find(f, "labels");
    const struct st_tensor *outputs = st_find(f, "outputs");
    const struct st_tensor *evaluated = st_find(f, "evaluated");
    const double *losses = st_find(f, "losses")->data, tolerance = 2e-5;
    uint32_t n = (uint32_t)labels->dims[0];
    struct threads *threads = threads_new(1);
    struct optimizer o;
    struct rank r;
    float got[64];

    rank_init_lanes(&r, net, k, threads, n, 0, 1, evaluated ? 1 : LANES);
    optimizer_init(&o, k, job, r.model.n_floats, NULL, 0);
    load_initial(f, &r.model);
    for (int step = 0; step < 3; step++) {
        double loss = rank_step(&r, job, x->data, labels->data, n, got) / n;
        CHECK_NEAR(loss, losses[step], 2e-6 * (1 + losses[step]));
        if (step == 0) {
            check_outputs(outputs, got);
            check_params(f, &r.model, "gradient", r.sink.blocks[0], tolerance);
        }
        optimizer_begin_step(&o, step + 1, job->training.optimizer.learning_rate, 1);
        for (int i = 0; i < r.model.n_params; i++)
            update(&o, &r, &r.model.params[i]);
    }
    check_params(f, &r.model, "final", r.model.weights, tolerance);
    if (evaluated) {
        r.pass.training = false;
        rank_step(&r, job, x->data, labels->data, n, got);
        check_outputs(evaluated, got);
    }
    optimizer_release(&o);
    rank_release(&r);
    threads_free(threads);
}

/* Outputs of a batch of words, and gradients, what rows end with among them. */
static void check_words_step(const struct st_file *f, const struct job *job, struct rank *r,
                             int step)
{
    const struct st_tensor *x = st_find(f, "x"), *labels = st_find(f, "labels");
    const uint32_t n = (uint32_t)x->dims[1];
    const size_t words = n * (size_t)x->dims[2];
    const double want = ((const double *)st_find(f, "losses")->data)[step];
    float got[512];
    char name[32];

    r->pass.begins = step == 0;
    double loss = rank_step(r, job, (const float *)x->data + (size_t)step * words,
                            (const uint8_t *)labels->data + (size_t)step * words, n, got) /
                  n;
    CHECK_NEAR(loss, want, 2e-6 * (1 + want));
    snprintf(name, sizeof name, "outputs.%d", step);
    check_outputs(st_find(f, name), got);
    snprintf(name, sizeof name, "gradient.%d", step);
    if (step < 2)
        check_params(f, &r->model, name, r->sink.blocks[0], 2e-5);
}

/* Words: rows go on in the next batch with the state that they have, in training and evaluation. */
static void check_words(const struct st_file *f, const struct job *job, const struct net *net,
                        const struct kernels *k, int n_threads)
{
    const struct st_tensor *x = st_find(f, "x"), *labels = st_find(f, "labels");
    const uint32_t n = (uint32_t)x->dims[1];
    const size_t words = n * (size_t)x->dims[2];
    struct threads *threads = threads_new(n_threads);
    struct optimizer o;
    struct rank r;
    float got[512];
    char name[32];

    rank_init(&r, net, k, threads, n, 0, 1);
    optimizer_init(&o, k, job, r.model.n_floats, NULL, 0);
    load_initial(f, &r.model);
    for (int step = 0; step < 3; step++) {
        check_words_step(f, job, &r, step);
        optimizer_begin_step(&o, step + 1, job->training.optimizer.learning_rate, 1);
        for (int i = 0; i < r.model.n_params; i++)
            update(&o, &r, &r.model.params[i]);
    }
    check_params(f, &r.model, "final", r.model.weights, 2e-5);
    r.pass.training = false;
    for (int batch = 0; batch < 2; batch++) {
        r.pass.begins = batch == 0;
        rank_step(&r, job, (const float *)x->data + (size_t)batch * words, labels->data, n, got);
        snprintf(name, sizeof name, "evaluated.%d", batch);
        check_outputs(st_find(f, name), got);
    }
    optimizer_release(&o);
    rank_release(&r);
    threads_free(threads);
}

/* The gradient summed over `size` ranks in the lane tree. */
static void world_gradient(const struct st_file *f, const struct job *job, const struct net *net,
                           const struct kernels *k, int size, int n_threads, float *sum)
{
    const struct st_tensor *x = st_find(f, "x"), *labels = st_find(f, "labels");
    uint32_t n = (uint32_t)labels->dims[0];
    struct threads *threads = threads_new(n_threads);
    struct rank ranks[LANES];

    const struct lane_tree tree = {.total = LANES, .workers = size};

    for (int r = 0; r < size; r++) {
        rank_init(&ranks[r], net, k, threads, n, r, size);
        load_initial(f, &ranks[r].model);
        rank_step(&ranks[r], job, x->data, labels->data, n, NULL);
    }
    /* size 1, 2 or 4: every rank has one block; fold pairs */
    for (int step = 1; step < size; step *= 2) {
        for (int r = 0; r < size; r += 2 * step) {
            bool left = block_present(tree, (struct lane_block){ranks[r].lanes.first, 0}, n) ||
                        ranks[r].pass.n;
            if (!ranks[r + step].pass.n)
                continue;
            if (left)
                k->reduce->add(ranks[r].sink.blocks[0], ranks[r + step].sink.blocks[0],
                               ranks[r].model.n_floats);
            else
                memcpy(ranks[r].sink.blocks[0], ranks[r + step].sink.blocks[0],
                       ranks[r].model.n_floats * sizeof(float));
            ranks[r].pass.n += ranks[r + step].pass.n;
        }
    }
    memcpy(sum, ranks[0].sink.blocks[0], ranks[0].model.n_floats * sizeof(float));
    for (int r = 0; r < size; r++)
        rank_release(&ranks[r]);
    threads_free(threads);
}

static void check_one_sum_order(const struct st_file *f, const struct job *job,
                                const struct net *net)
{
    struct threads *one = threads_new(1);
    struct rank r;
    rank_init(&r, net, kernels_find("c"), one, 1, 0, 1);
    size_t n = r.model.n_floats;
    rank_release(&r);
    threads_free(one);

    AUTO(auto_free) float *want = xmalloc(n * sizeof(float));
    AUTO(auto_free) float *got = xmalloc(n * sizeof(float));
    world_gradient(f, job, net, kernels_find("c"), 1, 1, want);
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        const struct kernels *k = kernels_find(*isa);
        for (int size = 1; k && size <= LANES; size *= 2) {
            for (int n_threads = 1; n_threads <= 3; n_threads++) {
                world_gradient(f, job, net, k, size, n_threads, got);
                CHECK_BYTES(got, want, n * sizeof(float));
            }
        }
    }
}

static void test_vectors(const char *name, bool small)
{
    char path[200];
    struct problems problems = {0};
    struct err err;
    struct st_file f;
    struct net net;

    snprintf(path, sizeof path, "tests/vectors/%s.yaml", name);
    AUTO(auto_job) struct job *job = job_load(path, NULL, 0, &problems);
    for (size_t i = 0; i < problems.n; i++)
        TEST_FAIL("%s", problems.items[i]);
    problems_release(&problems);
    snprintf(path, sizeof path, "tests/vectors/%s.safetensors", name);
    CHECK(job && st_open(&f, path, &err) == 0);
    if (test_failed)
        return;
    const int64_t *d = st_find(&f, "x")->dims;
    const bool words = st_find(&f, "x")->n_dims == 3; /* of batches, rows, positions */
    struct shape in = {(int)d[1], (int)d[2], (int)d[3]};

    if (words)
        in = (struct shape){1, 1, (int)d[2]};
    if (job_network(job, in, 0, &net, &err) != 0) {
        TEST_FAIL("%s", err.msg);
        return;
    }
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        for (int n_threads = 1; words && kernels_find(*isa) && n_threads <= 3; n_threads++)
            check_words(&f, job, &net, kernels_find(*isa), n_threads);
        if (!words && kernels_find(*isa) && (small || strcmp(*isa, "c") != 0))
            check_training(&f, job, &net, kernels_find(*isa));
    }
    if (small)
        check_one_sum_order(&f, job, &net);
    net_release(&net);
    st_close(&f);
}

int main(void)
{
    kernels_thread_init();
    test_vectors("conv-tanh", true);
    test_vectors("squared-sigmoid", true);
    test_vectors("fashion-cnn", false);
    test_vectors("gelu", true);
    test_vectors("layernorm", true);
    test_vectors("norm", false);
    test_vectors("residual-v1", true);
    test_vectors("residual-v2", false);
    test_vectors("dense-block", false);
    test_vectors("fire", false);
    test_vectors("inception", true);
    test_vectors("words", false);
    return test_result();
}
