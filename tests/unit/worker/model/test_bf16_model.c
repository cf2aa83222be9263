// LINK: worker/kernels common worker/layers worker/model/model.c worker/lanes/profile.c
// LINK: worker/model/params.c worker/model/loss.c worker/lanes/lanes.c
// LINK: worker/model/memory_plan.c worker/threads
// Whole networks in bf16: gradients are exactly those of fp32 with every operand of a dense layer,
// of a convolution of maps and of an LSTM's two layers rounded in front of its kernel, and the same
// bytes on one thread and on three. Rounding is there, and little. Scratch holds NaN before each
// pass. A convolution of the samples as they come rounds nothing.
#include <math.h>

#include "tests/unit/fill.h"
#include "tests/unit/rank.h"
#include "tests/unit/spec_text.h"

#define SAMPLES 6
#define TEXTS 17 /* more than a tile has rows, and odd */

static const struct bf16_net_case {
    struct shape in;
    double off; /* gradients from those of fp32, at most; 0: they are these */
    const char *layers;
} cases[] = {
    {{3, 9, 8},
     0.01,
     "{type: conv, filters: 20, kernel: 3}, {type: tanh},"
     "{type: conv, filters: 33, kernel: [3, 4], padding: same}, {type: tanh},"
     "{type: conv, filters: 16, kernel: 1}, {type: flatten}, {type: dense, units: 4}"},
    /* strides; pooling after them; what two layers take */
    {{2, 15, 14},
     0.01,
     "{type: conv, filters: 18, kernel: 3}, {type: tanh, name: a},"
     "{type: conv, filters: 20, kernel: 3, stride: 2, padding: same, name: b},"
     "{type: conv, filters: 20, kernel: 1, stride: 2, inputs: [a], name: c},"
     "{type: add, inputs: [b, c]}, {type: tanh},"
     "{type: conv, filters: 7, kernel: 2, stride: [1, 2]}, {type: maxpool, kernel: 2},"
     "{type: flatten}, {type: dense, units: 3}"},
    /* rows so short that fp32 takes several samples at once */
    {{2, 6, 6},
     0.1,
     "{type: conv, filters: 20, kernel: 3}, {type: relu},"
     "{type: conv, filters: 18, kernel: 3, padding: same}, {type: relu},"
     "{type: conv, filters: 17, kernel: 3, stride: 2, padding: same}, {type: flatten},"
     "{type: dense, units: 3}"},
    {{2, 6, 6}, 0, "{type: conv, filters: 5, kernel: 6}, {type: flatten}"},
    /* several chunks, the last one short; weights that nothing is taught */
    {{3, 9, 9},
     0.01,
     "{type: flatten}, {type: dense, units: 70}, {type: tanh},"
     "{type: dense, units: 80, frozen: true}, {type: tanh}, {type: dense, units: 33},"
     "{type: tanh}, {type: dense, units: 5}"},
    {{1, 5, 3},
     0.1,
     "{type: flatten}, {type: dense, units: 300}, {type: relu},"
     "{type: dense, units: 20}, {type: tanh}, {type: dense, units: 17}"},
    {{2, 12, 11},
     0.2,
     "{type: conv, filters: 18, kernel: 3}, {type: relu}, {type: conv, filters: 35, kernel: 3},"
     "{type: relu}, {type: maxpool, kernel: 2}, {type: flatten}, {type: dense, units: 4}"},
    /* pooled, and much narrower than its input: its gradient has room of its own */
    {{1, 16, 16},
     0.1,
     "{type: conv, filters: 20, kernel: 5}, {type: tanh}, {type: conv, filters: 20, kernel: 5},"
     "{type: maxpool, kernel: 2}, {type: flatten}, {type: dense, units: 4}"},
    /* texts: more units than a chunk has, and fewer; weights that nothing is taught */
    {{1, 1, 5},
     0.02,
     "{type: embedding, vocabulary: 30, units: 19}, {type: lstm, units: 70, forgetBias: 1},"
     "{type: lstm, units: 33}, {type: dense, units: 20}"},
    {{1, 1, 4},
     0.02,
     "{type: embedding, vocabulary: 30, units: 130}, {type: lstm, units: 18},"
     "{type: lstm, units: 6}"},
    {{1, 1, 1},
     0.02,
     "{type: embedding, vocabulary: 9, units: 16, frozen: true}, {type: lstm, units: 50}"},
};

static void spoil(float *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = NAN;
}

static void spoil_shared(struct model *m)
{
    spoil(m->levels, m->levels_floats);
    spoil(m->packed, m->packed_floats);
    for (int t = 0; t < threads_count(m->threads); t++)
        spoil(m->scratch[t], m->scratch_floats);
}

/*
 * fp32's kernels with operands rounded in front of them: what bf16 has to give. Products are of
 * values near one, so that subnormals, which differ, play no part.
 */
static const struct kernels *fp32_kernels(void) { return kernels_select(NULL); }

/* A pair whose second value is +0 has the bits of the first one, rounded. */
static float *rounded(const float *x, size_t n)
{
    float *copy = xaligned(n * sizeof *copy);
    AUTO(auto_free) uint32_t *pairs = xaligned(n * sizeof *pairs);

    fp32_kernels()->product_bf16->pairs(pairs, x, NULL, n);
    memcpy(copy, pairs, n * sizeof *copy);
    return copy;
}

static void rounded_forward(const struct conv *c, float *y, uint8_t *argmax, const float *x,
                            const void *w, const float *bias, bool relu, bool pool, float *scratch)
{
    if (c->plain) {
        fp32_kernels()->conv->forward(c, y, argmax, x, w, bias, relu, pool, scratch);
        return;
    }
    AUTO(auto_free) float *rx = rounded(x, conv_in_floats(c));
    AUTO(auto_free) float *rw = rounded(w, conv_weight_floats(c));
    fp32_kernels()->conv->forward(c, y, argmax, rx, rw, bias, relu, pool, scratch);
}

static void rounded_forward_samples(const struct conv *c, int n, float *y, const float *x,
                                    const void *w, const float *bias, bool relu, float *scratch)
{
    for (int i = 0; i < n; i++)
        rounded_forward(c, y + (size_t)i * conv_out_floats(c), NULL,
                        x + (size_t)i * conv_in_floats(c), w, bias, relu, false, scratch);
}

static void rounded_weights(const struct conv *c, float *dw, const float *x, const float *dy,
                            bool first, int ob0, int ob1, float *scratch)
{
    if (c->plain) {
        fp32_kernels()->conv->backward_weights(c, dw, x, dy, first, ob0, ob1, scratch);
        return;
    }
    AUTO(auto_free) float *rx = rounded(x, conv_in_floats(c));
    AUTO(auto_free)
    float *rdy = rounded(dy, (size_t)((ob1 - ob0) * c->oh * c->ow) * 16);
    fp32_kernels()->conv->backward_weights(c, dw, rx, rdy, first, ob0, ob1, scratch);
}

static void rounded_weights_lanes(const struct conv *c, float *dw, const float *x, const float *dy,
                                  const struct lane_ends *lanes, int ob0, int ob1, float *scratch)
{
    const size_t n = lanes->begin + lanes->end[(1U << lanes->level) - 1];
    AUTO(auto_free) float *rx = rounded(x, n * conv_in_floats(c));
    AUTO(auto_free) float *rdy = rounded(dy, n * conv_out_floats(c));

    fp32_kernels()->conv->backward_weights_lanes(c, dw, rx, rdy, lanes, ob0, ob1, scratch);
}

static void rounded_data(const struct conv *c, float *dx, const float *dy, const void *wt,
                         float *scratch)
{
    const struct conv t = conv_transposed(c);
    AUTO(auto_free) float *rdy = rounded(dy, conv_out_floats(c));
    AUTO(auto_free) float *rw = rounded(wt, conv_weight_floats(&t));

    fp32_kernels()->conv->backward_data(c, dx, rdy, rw, scratch);
}

static void rounded_data_samples(const struct conv *c, int n, float *dx, const float *dy,
                                 const void *wt, float *scratch)
{
    for (int i = 0; i < n; i++)
        rounded_data(c, dx + (size_t)i * conv_in_floats(c), dy + (size_t)i * conv_out_floats(c), wt,
                     scratch);
}

static void rounded_dense_forward(const struct dense *d, float *y, const void *x, const void *w,
                                  const float *bias, bool relu, int n, int ob0, int ob1,
                                  float *scratch)
{
    AUTO(auto_free) float *rx = rounded(x, (size_t)(n * d->in));
    AUTO(auto_free) float *rw = rounded(w, (size_t)(d->in * d->out));

    fp32_kernels()->dense->forward(d, y, rx, rw, bias, relu, n, ob0, ob1, scratch);
}

/* fp32's own order is another one: here outputs are added as they come. */
static void rounded_dense_data(const struct dense *d, int chunk, float *dx, const void *dy,
                               const float *w, int n, float *scratch)
{
    AUTO(auto_free) float *rdy = rounded(dy, (size_t)(n * d->out));
    AUTO(auto_free) float *rw = rounded(w, (size_t)(d->in * d->out));
    const int in0 = chunk * DENSE_CHUNK, inputs = dense_chunk_inputs(d, chunk);

    (void)scratch;
    for (int i = 0; i < n * inputs; i++) {
        const int b = i / inputs, in = in0 + i % inputs;
        float sum = 0;
        for (int out = 0; out < d->out; out++)
            sum = fmaf(rw[dense_weight_index(d, out, in)], rdy[b * d->out + out], sum);
        dx[b * d->in + in] = sum;
    }
}

/* An LSTM's weights for all positions: the chunk as it is, for a sum as that above. */
static void rounded_dense_keep(const struct dense *d, int chunk, void *kept, const float *w)
{
    const size_t at = (size_t)chunk * DENSE_CHUNK * (size_t)d->out;

    memcpy((float *)kept + at, w + at, (size_t)(dense_chunk_inputs(d, chunk) * d->out) * sizeof *w);
}

static void rounded_dense_kept(const struct dense *d, int chunk, float *dx, const void *dy,
                               const void *kept, int n, float *scratch)
{
    rounded_dense_data(d, chunk, dx, dy, kept, n, scratch);
}

static void rounded_dense_pack(const struct dense *d, void *packed, const float *dy, int n,
                               const struct lane_ends *lanes)
{
    AUTO(auto_free) float *rdy = rounded(dy, (size_t)(n * d->out));

    fp32_kernels()->dense->pack_lanes(d, packed, rdy, n, lanes);
}

static void rounded_dense_weights(const struct dense *d, int chunk, float *dw, const float *x,
                                  const void *packed, int n, const struct lane_ends *lanes,
                                  float *scratch)
{
    AUTO(auto_free) float *rx = rounded(x, (size_t)(n * d->in));

    fp32_kernels()->dense->backward_weights(d, chunk, dw, rx, packed, n, lanes, scratch);
}

/* Without training, too, a layer packs what it multiplies before it does. LSTMs begin anew, as a
 * state is training's or evaluation's. */
static void check_evaluation(struct rank *r, const float *x)
{
    struct model *m = &r->model;
    const size_t floats = m->max_samples * m->layers[m->n_layers - 1].out_floats;
    AUTO(auto_free) float *got = xmalloc(floats * sizeof *got);

    r->pass.begins = true;
    r->pass.training = false;
    memcpy(got, model_forward(m, &r->pass, x), floats * sizeof *got);
    r->pass.training = true;
    spoil_shared(m);
    CHECK_BYTES(got, model_forward(m, &r->pass, x), floats * sizeof *got);
    r->pass.begins = false;
}

/* Biases, and the states that LSTMs begin with. */
static void fill_params(struct model *m)
{
    for (int i = 0; i < m->n_params; i++) {
        const struct param *p = &m->params[i];
        AUTO(auto_free) float *flat = xmalloc(param_elements(p) * sizeof *flat);

        fill_uniform(flat, param_elements(p), 90 + (uint32_t)i);
        if (p->kind == PARAM_BIAS || p->kind == PARAM_STATE)
            model_import(m, p, m->weights, flat);
    }
}

/* Forward, and back from a gradient of the outputs that is given; r->sink.blocks[0] has the rest.
 */
static void run(struct rank *r, const struct net *net, const float *x, struct model_config config)
{
    struct model *m = &r->model;

    rank_init_config(r, net, config, 0, 1, LANES);
    model_init_weights(m, 5);
    fill_params(m);
    spoil_shared(m);
    check_evaluation(r, x);
    spoil_shared(m);
    model_forward(m, &r->pass, x);
    fill_uniform(model_output_gradient(m), m->max_samples * m->layers[m->n_layers - 1].out_floats,
                 8);
    model_begin_backward(m);
    for (int i = m->n_layers - 1; i >= m->lowest_trained; i--) {
        spoil_shared(m);
        model_backward_layer(m, &r->pass, i, x, NULL);
    }
}

static void run_rounded(struct rank *r, const struct net *net, const float *x,
                        struct model_config config)
{
    static struct conv_kernels conv; /* the model goes on with them */
    static struct dense_kernels dense;
    static struct kernels kernels;

    conv = *fp32_kernels()->conv;
    kernels = *fp32_kernels();
    conv.forward = rounded_forward;
    conv.forward_samples = rounded_forward_samples;
    conv.backward_weights = rounded_weights;
    conv.backward_weights_lanes = rounded_weights_lanes;
    conv.backward_data = rounded_data;
    conv.backward_data_samples = rounded_data_samples;
    kernels.conv = &conv;
    dense = *fp32_kernels()->dense;
    dense.forward = rounded_dense_forward;
    dense.backward_data = rounded_dense_data;
    dense.keep_chunk = rounded_dense_keep;
    dense.backward_kept = rounded_dense_kept;
    dense.pack_lanes = rounded_dense_pack;
    dense.backward_weights = rounded_dense_weights;
    kernels.dense = &dense;
    config.kernels = &kernels;
    run(r, net, x, config);
}

static long differing(const float *a, const float *b, size_t n)
{
    long count = 0;

    for (size_t i = 0; i < n; i++)
        count += !(a[i] == b[i]); /* zeros of either sign are the same */
    return count;
}

/* The norm of the difference by that of want. */
static double distance(const float *got, const float *want, size_t n)
{
    double difference = 0, norm = 0;

    for (size_t i = 0; i < n; i++) {
        difference += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        norm += (double)want[i] * want[i];
    }
    return sqrt(difference / norm);
}

static void test_case(const struct bf16_net_case *c, uint32_t seed)
{
    const bool words = strstr(c->layers, "embedding");
    AUTO(auto_free)
    char *text = xasprintf(HEAD "  model: {loss: squaredError, layers: [%s]}\n%s", c->layers,
                           words ? "  dataset: {name: text, path: x}\n" : "");
    const uint32_t samples = words ? TEXTS : SAMPLES;
    const size_t n = samples * (size_t)(c->in.c * c->in.h * c->in.w);
    AUTO(auto_free) float *x = xmalloc(n * sizeof *x);
    struct threads *one = threads_new(1), *several = threads_new(3);
    struct job *job = parse(text, NULL, 0);
    struct rank fp32, bf16, three, want;
    struct err err = {0};
    struct net net;

    fill_uniform(x, n, seed);
    if (job_network(job, c->in, 0, &net, &err) != 0) {
        TEST_FAIL("%s", err.msg);
        return;
    }
    for (size_t i = 0; words && i < n; i++)
        x[i] = (float)(fill_u32(seed, (uint32_t)i) % (uint32_t)net.layers[0].spec.vocabulary);
    struct model_config config = {.kernels = fp32_kernels(), .threads = one, .batch = samples};
    run(&fp32, &net, x, config);
    run_rounded(&want, &net, x, config);
    config.bf16 = true;
    run(&bf16, &net, x, config);
    config.threads = several;
    run(&three, &net, x, config);
    CHECK_BYTES(three.sink.blocks[0], bf16.sink.blocks[0], bf16.model.n_floats * sizeof(float));
    for (int i = 0; i < bf16.model.n_params; i++) {
        const struct param *p = &bf16.model.params[i];
        if (p->frozen)
            continue;
        const double far =
            distance(bf16.sink.blocks[0] + p->offset, fp32.sink.blocks[0] + p->offset, p->floats);

        CHECK_INT(
            differing(bf16.sink.blocks[0] + p->offset, want.sink.blocks[0] + p->offset, p->floats),
            0);
        /* a value is off by 2^-9 of itself at most, some few in a row; where a maximum is another
         * one, or 0, so is a place of the gradient */
        CHECK(far <= c->off);
        if (p->kind == PARAM_WEIGHT ||
            p->kind == PARAM_STATE) /* a bias may have what no convolution has been at */
            CHECK((far > 0) == (c->off > 0));
    }
    rank_release(&fp32);
    rank_release(&bf16);
    rank_release(&three);
    rank_release(&want);
    threads_free(one);
    threads_free(several);
    net_release(&net);
    job_free(job);
}

int main(void)
{
    kernels_thread_init();
    for (uint32_t i = 0; i < ARRAY_LEN(cases); i++)
        test_case(&cases[i], 70 + i);
    return test_result();
}
