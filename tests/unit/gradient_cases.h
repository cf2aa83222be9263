/* The networks of test_gradients: their samples, loss and layers. */
#ifndef PACELINE_TESTS_GRADIENT_CASES_H
#define PACELINE_TESTS_GRADIENT_CASES_H

#include "paceline/net.h"

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
    /* dropout: in place and not, after flattening, twice, last */
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
    /* dropout of what layers after it take as it was */
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
    /* channels of zeros: within a block, across one, of the samples; what is after them is read */
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
    /* side outputs: after what others take, on the samples, of flattened maps, before and after
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
    /* GELU: of the samples, of maps and of rows, before dropout and last */
    {{2, 5, 3},
     "softmaxCrossEntropy",
     "{type: gelu}, {type: conv, filters: 18, kernel: 3, padding: same}, {type: gelu},"
     "{type: dropout, rate: 0.3}, {type: flatten}, {type: dense, units: 9}, {type: gelu},"
     "{type: dense, units: 4}, {type: gelu}"},
    /* layer normalisation: of the samples, of maps, rows and texts, frozen, before ReLU */
    {{3, 4, 5},
     "softmaxCrossEntropy",
     "{type: layernorm}, {type: conv, filters: 18, kernel: 3, padding: same}, {type: layernorm},"
     "{type: relu}, {type: flatten}, {type: dense, units: 20}, {type: layernorm, epsilon: 0.01},"
     "{type: dense, units: 19}, {type: layernorm, frozen: true}, {type: dense, units: 4}"},
    {{1, 1, 4},
     "softmaxCrossEntropy",
     "{type: embedding, vocabulary: 20, units: 19}, {type: layernorm}, {type: dense, units: 17},"
     "{type: layernorm}, {type: dense, units: 5}"},
};

#endif
