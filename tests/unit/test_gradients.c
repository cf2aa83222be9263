// LINK: worker/kernels common worker/layers worker/model/model.c worker/model/profile.c
// LINK: worker/model/params.c worker/model/tensors.c worker/model/loss.c worker/model/lanes.c
// LINK: worker/model/room.c worker/threads
// Finite differences: outputs and gradients of every kind of layer beside a net in double
// precision, over odd shapes, fused and not, in chains and with branches; and the same bytes on one
// thread, on three, and when gradients are applied as they come.
#include "paceline/spec.h"
#include "tests/test.h"
#include "tests/unit/fill.h"
#include "tests/unit/net_reference.h"
#include "tests/unit/rank.h"
#include "worker/model/loss.h"

#define SAMPLES 6 /* of the four lanes two have two */
#define STEP 1e-5
#define PER_TENSOR 10
#define POSITIONS_MAX 8

static const struct net_case {
    struct shape in;
    const char *loss, *layers;
} cases[] = {
    /* dense layers and activations */
    {{2, 3, 5}, "softmaxCrossEntropy", "{type: flatten}, {type: dense, units: 3}"},
    {{1, 6, 6},
     "softmaxCrossEntropy",
     "{type: flatten}, {type: dense, units: 17}, {type: relu}, {type: dense, units: 33},"
     "{type: sigmoid}, {type: dense, units: 5}, {type: tanh}, {type: dense, units: 4}"},
    {{1, 6, 6},
     "squaredError",
     "{type: flatten}, {type: dense, units: 70, bias: false}, {type: relu},"
     "{type: dense, units: 3, bias: false}, {type: sigmoid}"},
    {{5, 1, 1}, "squaredError", "{type: dense, units: 18}, {type: tanh}, {type: dense, units: 2}"},
    {{3, 5, 9},
     "softmaxCrossEntropy",
     "{type: flatten}, {type: flatten}, {type: tanh}, {type: dense, units: 4}, {type: relu},"
     "{type: relu}"},
    /* convolution, ReLU and pooling, fused in either order, with an odd row and column left over */
    {{3, 9, 7},
     "softmaxCrossEntropy",
     "{type: conv, filters: 5, kernel: 3}, {type: relu}, {type: maxpool, kernel: 2},"
     "{type: flatten}, {type: dense, units: 4}"},
    {{1, 8, 6},
     "softmaxCrossEntropy",
     "{type: conv, filters: 20, kernel: 5, padding: same}, {type: maxpool, kernel: 2},"
     "{type: relu}, {type: conv, filters: 33, kernel: 3, padding: same}, {type: relu},"
     "{type: maxpool, kernel: 2}, {type: flatten}, {type: dense, units: 10}"},
    {{2, 9, 11},
     "squaredError",
     "{type: conv, filters: 7, kernel: 2}, {type: conv, filters: 18, kernel: 3, bias: false},"
     "{type: maxpool, kernel: 2}, {type: flatten}, {type: dense, units: 3}"},
    {{1, 7, 9},
     "softmaxCrossEntropy",
     "{type: conv, filters: 4, kernel: 3, padding: same}, {type: relu}, {type: relu},"
     "{type: maxpool, kernel: 2, padding: same}, {type: flatten}, {type: dense, units: 4}"},
    /* a tile of the widest kernels and a rest; a kernel wider than what a tile may lose */
    {{2, 2, 31},
     "softmaxCrossEntropy",
     "{type: conv, filters: 40, kernel: [1, 5], padding: same}, {type: relu},"
     "{type: conv, filters: 17, kernel: [2, 9], padding: same}, {type: flatten},"
     "{type: dense, units: 3}"},
    {{17, 4, 5},
     "softmaxCrossEntropy",
     "{type: conv, filters: 3, kernel: 1}, {type: conv, filters: 6, kernel: 7, padding: same},"
     "{type: sigmoid}, {type: flatten}, {type: dense, units: 3}"},
    /* strides, also wider than the kernel */
    {{2, 11, 10},
     "softmaxCrossEntropy",
     "{type: conv, filters: 18, kernel: [3, 4], stride: [2, 3], padding: same}, {type: tanh},"
     "{type: conv, filters: 5, kernel: 3, stride: 2, padding: same}, {type: relu},"
     "{type: flatten}, {type: dense, units: 4}"},
    {{1, 13, 14},
     "softmaxCrossEntropy",
     "{type: conv, filters: 3, kernel: 3}, {type: conv, filters: 4, kernel: 2, stride: 3},"
     "{type: maxpool, kernel: 1, stride: 2}, {type: flatten}, {type: dense, units: 3}"},
    {{3, 12, 12},
     "softmaxCrossEntropy",
     "{type: conv, filters: 20, kernel: 3, stride: 1}, {type: relu},"
     "{type: conv, filters: 16, kernel: 5, stride: [1, 2], padding: same}, {type: relu},"
     "{type: maxpool, kernel: 2}, {type: flatten}, {type: dense, units: 3}"},
    /* pooling: overlapping windows, padding, means */
    {{2, 10, 9},
     "softmaxCrossEntropy",
     "{type: conv, filters: 18, kernel: 3, padding: same},"
     "{type: maxpool, kernel: 3, stride: 2, padding: same}, {type: flatten},"
     "{type: dense, units: 4}"},
    {{1, 9, 9},
     "squaredError",
     "{type: conv, filters: 5, kernel: 3}, {type: sigmoid},"
     "{type: avgpool, kernel: 3, stride: 1, padding: same},"
     "{type: avgpool, kernel: [2, 3], stride: 2}, {type: flatten}, {type: dense, units: 4}"},
    {{1, 8, 8},
     "softmaxCrossEntropy",
     "{type: conv, filters: 4, kernel: 3}, {type: avgpool, kernel: 6}"},
    /* first on the image: pooling, activations, dropout */
    {{3, 9, 9},
     "softmaxCrossEntropy",
     "{type: maxpool, kernel: 3, stride: 2}, {type: conv, filters: 6, kernel: 3}, {type: relu},"
     "{type: flatten}, {type: dense, units: 4}"},
    {{2, 7, 7},
     "softmaxCrossEntropy",
     "{type: sigmoid}, {type: dropout, rate: 0.2}, {type: conv, filters: 17, kernel: 3},"
     "{type: tanh}, {type: flatten}, {type: dense, units: 4}"},
    {{2, 7, 7},
     "squaredError",
     "{type: dropout, rate: 0.3}, {type: flatten}, {type: dense, units: 40}, {type: relu},"
     "{type: dense, units: 4}"},
    /* dropout: in place and not, behind flattening, twice, last */
    {{1, 9, 9},
     "softmaxCrossEntropy",
     "{type: conv, filters: 20, kernel: 3}, {type: relu}, {type: maxpool, kernel: 2},"
     "{type: dropout, rate: 0.4}, {type: conv, filters: 9, kernel: 2}, {type: dropout, rate: 0.1},"
     "{type: relu}, {type: flatten}, {type: dropout, rate: 0.25}, {type: tanh},"
     "{type: dense, units: 20}, {type: relu}, {type: dropout, rate: 0.5}, {type: dense, units: 4}"},
    {{1, 6, 6},
     "softmaxCrossEntropy",
     "{type: flatten}, {type: dense, units: 20}, {type: sigmoid}, {type: dropout, rate: 0.2},"
     "{type: dropout, rate: 0.2}, {type: dense, units: 19}, {type: tanh},"
     "{type: dropout, rate: 0.2}, {type: dense, units: 4}, {type: dropout, rate: 0.1}"},
    /* dropout of what layers behind it take as it was */
    {{2, 7, 6},
     "softmaxCrossEntropy",
     "{type: conv, filters: 5, kernel: 3}, {type: relu, name: a}, {type: dropout, rate: 0.4},"
     "{type: conv, filters: 5, kernel: 1, name: b}, {type: add, inputs: [b, a]}, {type: flatten,"
     "name: f}, {type: dense, units: 7, name: c}, {type: dropout, rate: 0.5, name: d},"
     "{type: concat, inputs: [d, c, f]}, {type: dense, units: 3}"},
    /* frozen layers in the middle, at the bottom, at the top */
    {{2, 8, 8},
     "softmaxCrossEntropy",
     "{type: conv, filters: 6, kernel: 3}, {type: relu},"
     "{type: conv, filters: 7, kernel: 3, frozen: true}, {type: relu}, {type: flatten},"
     "{type: dense, units: 20, frozen: true}, {type: relu}, {type: dense, units: 4}"},
    {{2, 8, 8},
     "softmaxCrossEntropy",
     "{type: conv, filters: 6, kernel: 3, frozen: true}, {type: maxpool, kernel: 2},"
     "{type: conv, filters: 7, kernel: 2}, {type: flatten},"
     "{type: dense, units: 4, frozen: true}"},
    /* flattened where no dense layer follows */
    {{1, 6, 7},
     "softmaxCrossEntropy",
     "{type: conv, filters: 3, kernel: 4, stride: 2}, {type: flatten}"},
    {{1, 7, 7},
     "squaredError",
     "{type: conv, filters: 18, kernel: 6}, {type: flatten}, {type: tanh},"
     "{type: dropout, rate: 0.2}"},
    {{1, 6, 6},
     "softmaxCrossEntropy",
     "{type: conv, filters: 3, kernel: 3}, {type: relu}, {type: flatten},"
     "{type: conv, filters: 5, kernel: 1}, {type: flatten}"},
    {{1, 5, 5},
     "softmaxCrossEntropy",
     "{type: conv, filters: 17, kernel: 4}, {type: flatten}, {type: sigmoid},"
     "{type: maxpool, kernel: 1}, {type: dense, units: 3}"},
    /* sums and channels of several layers, with outputs that several take */
    {{2, 6, 6},
     "softmaxCrossEntropy",
     "{type: conv, name: a, filters: 5, kernel: 3, padding: same}, {type: relu, name: b},"
     "{type: conv, name: c, filters: 5, kernel: 3, padding: same}, {type: add, inputs: [b, c, b]},"
     "{type: relu}, {type: globalavgpool}, {type: dense, units: 3}"},
    {{2, 6, 6},
     "softmaxCrossEntropy",
     "{type: conv, name: a, filters: 5, kernel: 3}, {type: relu, name: b}, {type: add,"
     "inputs: [a, b]}, {type: globalavgpool, name: c}, {type: dense, units: 9}, {type: relu},"
     "{type: concat, inputs: [relu2, c]}, {type: dense, units: 3}"},
    {{2, 6, 6},
     "squaredError",
     "{type: conv, name: a, filters: 18, kernel: 3, padding: same},"
     "{type: conv, name: b, filters: 5, kernel: 1, inputs: [input]},"
     "{type: concat, name: ab, inputs: [a, b]}, {type: tanh, name: t},"
     "{type: conv, name: c, filters: 12, kernel: 3, padding: same},"
     "{type: concat, name: d, inputs: [c, ab, b, t]}, {type: avgpool, kernel: 2},"
     "{type: conv, filters: 4, kernel: 3}, {type: flatten}"},
    {{1, 5, 5},
     "softmaxCrossEntropy",
     "{type: flatten}, {type: dense, name: a, units: 20}, {type: sigmoid, name: b},"
     "{type: dropout, rate: 0.2, name: c, inputs: [b]}, {type: dense, name: d, units: 20},"
     "{type: add, inputs: [d, b]}, {type: concat, inputs: [add1, c]}, {type: dense, units: 4}"},
    {{3, 6, 5},
     "softmaxCrossEntropy",
     "{type: maxpool, kernel: 2, stride: 1, name: p}, {type: avgpool, kernel: 2, stride: 1,"
     "inputs: [input], name: q}, {type: add, inputs: [p, q]}, {type: flatten, name: f},"
     "{type: dense, name: a, units: 6}, {type: relu}, {type: dense, units: 7, inputs: [f], name: "
     "b},"
     "{type: concat, inputs: [relu1, b]}, {type: dense, units: 3}"},
    {{2, 6, 6},
     "softmaxCrossEntropy",
     "{type: conv, name: a, filters: 5, kernel: 3, frozen: true}, {type: conv, filters: 5,"
     "kernel: 1, name: b}, {type: add, inputs: [a, b]}, {type: globalavgpool},"
     "{type: dense, units: 3}"},
    /* a weight gradient of several slices, the last one smaller */
    {{48, 3, 2},
     "softmaxCrossEntropy",
     "{type: conv, filters: 70, kernel: 7, padding: same}, {type: relu}, {type: flatten},"
     "{type: dense, units: 3}"},
    /* images smaller than the windows */
    {{17, 3, 2},
     "softmaxCrossEntropy",
     "{type: conv, filters: 18, kernel: 3, padding: same}, {type: relu}, {type: conv, filters: 5,"
     "kernel: 3, stride: 2, padding: same}, {type: tanh}, {type: conv, filters: 18, kernel: 3,"
     "stride: 2, padding: same}, {type: maxpool, kernel: 3, stride: 2, padding: same},"
     "{type: avgpool, kernel: 3, stride: 2, padding: same}, {type: conv, filters: 7, kernel: 5,"
     "stride: 3, padding: same}, {type: flatten}, {type: dense, units: 3}"},
    /* channels of zeros: within a block, across one, of the samples; what is behind them is read */
    {{2, 6, 5},
     "softmaxCrossEntropy",
     "{type: conv, name: a, filters: 5, kernel: 3, padding: same}, {type: maxpool, kernel: 1,"
     "stride: 2}, {type: padchannels, filters: 21}, {type: conv, filters: 21, kernel: 3, stride: 2,"
     "padding: same, inputs: [a], name: b}, {type: add, inputs: [padchannels1, b]}, {type: relu},"
     "{type: padchannels, filters: 40}, {type: tanh}, {type: conv, filters: 3, kernel: 3},"
     "{type: flatten}"},
    {{2, 6, 5},
     "squaredError",
     "{type: padchannels, filters: 3}, {type: padchannels, filters: 3}, {type: conv, filters: 4,"
     "kernel: 3}, {type: padchannels, filters: 6}, {type: flatten}, {type: dense, units: 3}"},
    /* some channels: of the samples, in branches and in order; of maps, within and across blocks,
     * more than once; of all */
    {{12, 5, 4},
     "softmaxCrossEntropy",
     "{type: slice, filters: 8}, {type: conv, filters: 5, kernel: 3}, {type: relu, name: bands},"
     "{type: slice, first: 8, filters: 1, inputs: [input]}, {type: conv, filters: 3, kernel: 3},"
     "{type: relu, name: height}, {type: slice, first: 9, filters: 3, inputs: [input], name: s},"
     "{type: dropout, rate: 0.2}, {type: avgpool, kernel: 3, stride: 1, name: colours},"
     "{type: concat, inputs: [bands, height, colours]}, {type: conv, filters: 4, kernel: 2},"
     "{type: flatten}, {type: dense, units: 3}"},
    {{20, 3, 3},
     "squaredError",
     "{type: conv, name: a, filters: 37, kernel: 1}, {type: slice, first: 13, filters: 20, name: "
     "b},"
     "{type: tanh}, {type: slice, first: 3, filters: 20, inputs: [a], name: c}, {type: slice,"
     "first: 18, filters: 2, inputs: [input], name: d}, {type: slice, filters: 37, inputs: [a]},"
     "{type: concat, inputs: [tanh1, c, d, slice4]}, {type: globalavgpool}, {type: dense,"
     "units: 3}"},
    {{2, 4, 3},
     "softmaxCrossEntropy",
     "{type: flatten}, {type: slice, first: 5, filters: 18}, {type: dense, units: 20},"
     "{type: slice, first: 2, filters: 17}, {type: relu}, {type: dense, units: 3}"},
    /* several inputs: a series, a vector, an image, of samples of any shape */
    {{2, 43, 2},
     "softmaxCrossEntropy",
     "{type: input, shape: [1, 1, 30]}, {type: conv, filters: 5, kernel: [1, 7]}, {type: relu},"
     "{type: flatten, name: series}, {type: input, shape: [34], name: v}, {type: dense, units: 17},"
     "{type: tanh, name: vector}, {type: input, name: image, shape: [18, 3, 2]},"
     "{type: conv, filters: 20, kernel: 2}, {type: flatten, name: picture},"
     "{type: concat, inputs: [series, vector, picture]}, {type: dense, units: 3}"},
    /* one dimension: images of height 1 */
    {{3, 1, 40},
     "softmaxCrossEntropy",
     "{type: conv, filters: 18, kernel: [1, 7], stride: [1, 2], padding: same, bias: false},"
     "{type: batchnorm}, {type: relu}, {type: maxpool, kernel: [1, 3], stride: [1, 2]},"
     "{type: conv, filters: 5, kernel: [1, 3]}, {type: sigmoid}, {type: avgpool, kernel: [1, 2]},"
     "{type: flatten}, {type: dense, units: 3}"},
    /* batch normalisation: of maps and rows, fused with ReLU and not, frozen, beside the image */
    {{2, 6, 5},
     "softmaxCrossEntropy",
     "{type: conv, filters: 18, kernel: 3, bias: false}, {type: batchnorm}, {type: relu},"
     "{type: conv, filters: 5, kernel: 2, bias: false}, {type: batchnorm, epsilon: 0.001,"
     "momentum: 0.01, unbiased: false}, {type: globalavgpool}, {type: dense, units: 3}"},
    {{2, 6, 5},
     "squaredError",
     "{type: batchnorm, group: 1}, {type: tanh}, {type: conv, filters: 5, kernel: 2, bias: false},"
     "{type: batchnorm, group: 2},"
     "{type: tanh}, {type: flatten}, {type: dense, units: 3}"},
    {{2, 6, 6},
     "softmaxCrossEntropy",
     "{type: conv, filters: 5, kernel: 3, padding: same, bias: false, name: a}, {type: batchnorm},"
     "{type: relu},"
     "{type: conv, filters: 5, kernel: 3, padding: same}, {type: batchnorm, frozen: true},"
     "{type: relu, name: b}, {type: add, inputs: [a, b]}, {type: batchnorm}, {type: relu},"
     "{type: flatten}, {type: dense, units: 3}"},
    /* local response normalisation: of the samples, across blocks of channels, of rows */
    {{3, 5, 4},
     "softmaxCrossEntropy",
     "{type: lrn, size: 3, alpha: 0.5, k: 1}, {type: conv, filters: 21, kernel: 3}, {type: relu},"
     "{type: lrn, alpha: 0.4, k: 1.5}, {type: dropout, rate: 0.5},"
     "{type: conv, filters: 5, kernel: 1}, {type: lrn, size: 1,"
     "alpha: 2, beta: 0.5, k: 0.5}, {type: flatten}, {type: dense, units: 20}, {type: lrn, size: "
     "41,"
     "alpha: 0.1, beta: 1.25}, {type: dense, units: 3}"},
    /* side outputs: behind what others take, on the samples, of flattened maps, before and behind
     * frozen layers, with the network's own output elsewhere than in the last layer */
    {{2, 6, 6},
     "softmaxCrossEntropy",
     "{type: conv, name: a, filters: 5, kernel: 3}, {type: relu, name: b}, {type: globalavgpool},"
     "{type: dropout, rate: 0.2}, {type: dense, units: 3, lossWeight: 0.3}, {type: conv,"
     "inputs: [b], filters: 18, kernel: 3}, {type: relu, name: c}, {type: flatten, name: f},"
     "{type: dense, units: 20}, {type: relu}, {type: dense, units: 3, lossWeight: 2}, {type: dense,"
     "units: 3, inputs: [f]}"},
    {{3, 4, 4},
     "squaredError",
     "{type: conv, name: a, filters: 3, kernel: 4}, {type: flatten, lossWeight: 0.5}, {type: "
     "flatten, name: b, inputs: [input]}, {type: dense, units: 3, lossWeight: 0.25}, {type: relu, "
     "inputs: [a], lossWeight: 1}, {type: flatten, inputs: [a]}"},
    {{2, 6, 6},
     "softmaxCrossEntropy",
     "{type: conv, name: a, filters: 6, kernel: 3, frozen: true}, {type: globalavgpool},"
     "{type: dense, units: 3, frozen: true, lossWeight: 0.5}, {type: batchnorm, inputs: [a]},"
     "{type: relu, name: c}, {type: globalavgpool, name: d}, {type: dense, units: 3,"
     "lossWeight: 0.5}, {type: dense, units: 3, inputs: [d]}, {type: dropout, rate: 0.1}"},
    {{1, 1, 4},
     "softmaxCrossEntropy",
     "{type: embedding, vocabulary: 20, units: 19}, {type: lstm, name: a, units: 17}, {type: dense,"
     "units: 5, lossWeight: 0.3}, {type: lstm, inputs: [a], units: 6}, {type: dense, units: 5}"},
    /* texts: rows of words */
    {{1, 1, 5},
     "softmaxCrossEntropy",
     "{type: embedding, vocabulary: 70, units: 19}, {type: dense, units: 21}, {type: sigmoid},"
     "{type: dropout, rate: 0.3}, {type: dense, units: 7}, {type: relu}, {type: dense, units: 9}"},
    {{1, 1, 3},
     "squaredError",
     "{type: embedding, vocabulary: 5, units: 4, name: a}, {type: tanh}, {type: dense, units: 4,"
     "bias: false}, {type: add, inputs: [dense1, a]}, {type: dropout, rate: 0.2}"},
    {{1, 1, 1},
     "softmaxCrossEntropy",
     "{type: embedding, vocabulary: 3, units: 17}, {type: dense, units: 3}"},
    {{1, 1, 7},
     "softmaxCrossEntropy",
     "{type: embedding, vocabulary: 20, units: 19}, {type: lstm, units: 21, forgetBias: 1},"
     "{type: dropout, rate: 0.3}, {type: lstm, units: 6, initializer: glorot},"
     "{type: dense, units: 9}"},
    {{1, 1, 2},
     "squaredError",
     "{type: embedding, vocabulary: 20, units: 16, name: e}, {type: lstm, units: 16, name: a},"
     "{type: add, inputs: [a, e]}, {type: lstm, units: 33}, {type: dense, units: 4}"},
    {{1, 1, 1},
     "softmaxCrossEntropy",
     "{type: embedding, vocabulary: 4, units: 5, frozen: true}, {type: lstm, units: 17},"
     "{type: dense, units: 3}"},
    {{1, 1, 4},
     "softmaxCrossEntropy",
     "{type: embedding, vocabulary: 5, units: 16, frozen: true}, {type: dense, units: 4}"},
    /* pooled, and much narrower than its input of more than one block */
    {{1, 16, 16},
     "softmaxCrossEntropy",
     "{type: conv, filters: 20, kernel: 5}, {type: conv, filters: 20, kernel: 5},"
     "{type: maxpool, kernel: 2}, {type: flatten}, {type: dense, units: 4}"},
    {{5, 1, 1}, "mse", "{type: dense, units: 18}, {type: tanh}, {type: dense, units: 1}"},
    {{5, 1, 1}, "mae", "{type: dense, units: 18}, {type: tanh}, {type: dense, units: 3}"},
    {{5, 1, 1},
     "huber, huberDelta: 0.5",
     "{type: dense, units: 18}, {type: tanh}, {type: dense, units: 17}"},
    {{5, 1, 1},
     "sigmoidCrossEntropy",
     "{type: dense, units: 18, name: a}, {type: tanh}, {type: dense, units: 19, name: side, "
     "lossWeight: 0.5}, {type: dense, units: 19, inputs: [a]}"},
};

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
