/*
 * A network as data: layers in an order in which each can be computed, their shapes and their
 * parameters. A layer takes what the one before it gives, or what it names. Knows no memory layout,
 * no kernels and no MPI; the engine turns it into a model, the CLI prints it.
 *
 * Shapes are channels, height, width (C, H, W); a flat vector of F values is (F, 1, 1).
 */
#ifndef PACELINE_NET_H
#define PACELINE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/layer_types.h"

enum padding { PAD_VALID, PAD_SAME };
/* Glorot: Keras's default; uniform: in -range..range. */
enum initializer { INIT_GLOROT, INIT_HE, INIT_ZERO, INIT_UNIFORM, INIT_ONE };
enum loss_type {
    LOSS_SOFTMAX_CROSS_ENTROPY,
    LOSS_SQUARED_ERROR,
    LOSS_MSE,
    LOSS_MAE,
    LOSS_HUBER,
    LOSS_SIGMOID_CROSS_ENTROPY,
    N_LOSSES,
};

struct shape {
    int c, h, w;
};

/* One layer as a user writes it. Fields that a type does not use are zero. */
struct layer_spec {
    enum layer_type type;
    bool bias;     /* conv, dense; default true */
    bool frozen;   /* parameters are not trained */
    bool unbiased; /* batchnorm: running variances are of n-1 values (PyTorch), else of n (Keras) */
    char *name;    /* unique; "conv1", "dense2": given by type and order when absent */
    int units;     /* conv: filters; dense, embedding: outputs; padchannels, slice: channels */
    int first;     /* slice: the first channel that it takes, from 0; input: derived, the value */
    int64_t shape[3]; /* input: channels, height, width; one number: of a vector */
    size_t n_shape;
    int vocabulary; /* embedding: the words that it knows */
    int kernel[2];  /* conv, pools: height, width */
    int stride[2];  /* 0: 1 for conv, the kernel for pools */
    enum padding padding;
    double rate; /* dropout: the share of values that is dropped */
    enum initializer initializer;
    double range;
    double forget_bias;       /* lstm: what the forget gates' biases begin with */
    int group;                /* batchnorm: samples that are normalised together, at least */
    double epsilon, momentum; /* batchnorm: added to the variance; the share of new statistics */
    int size;                 /* lrn: channels that a value is divided by, its own in the middle */
    double alpha, beta, k;    /* lrn: x / (k + alpha * sum of squares)^beta */
    double loss_weight;       /* above 0: of its output's own loss, in training; nobody takes it */
    /* The layers whose outputs it takes, by name, NET_INPUT being the samples; by default the one
     * before it. add, concat: two and more. */
    char **inputs;
    size_t n_inputs;
};
#define NET_INPUT "input"
#define NET_INPUTS_MAX 64
/* Values of all input layers, and the largest size: larger ones are mistakes, and products of three
 * still fit an int64_t. */
#define NET_INPUT_MAX (1 << 20)
#define LRN_MAX 1023 /* neighbouring channels */

/* One layer with everything derived. */
struct net_layer {
    struct layer_spec spec;
    struct shape in, out;  /* in: of its first input; concat: of the channels of all */
    int *inputs, n_inputs; /* layers by number, in the order given; -1: the samples */
    int n_users;           /* that take its output */
    bool rows; /* of a text: out.w positions, each a row of out.c values, instead of a map */
    int pad_top, pad_left;  /* rows and columns of padding before the image */
    size_t weights, biases; /* parameter counts; what is only measured (running means) apart */
    double flops_forward;   /* per sample, multiply and add apart, taps inside the image only */
};

/* The shape that an input layer has; all 0 where it is none that one may have. */
struct shape net_input_shape(const struct layer_spec *s);

struct net {
    struct net_layer *layers;
    size_t n_layers;
    struct shape in, out;
    bool rows;   /* of the output */
    int n_sides; /* layers with a loss of their own, besides the last one */
    size_t params;
    double flops_train; /* per sample, forward and backward, exact taps; no dX of the first layer */
};

/*
 * Derives shapes and counts; the names are copied, spec.inputs of the result is not set.
 * The last layer's output is the network's; others may have a loss of their own (loss_weight), and
 * the network's shape.
 * Fails (ERR_INVALID) naming the layer, the shape it got and what would fit.
 * On failure *net is empty; after success the caller owns it (net_release).
 * Same padding splits as Keras: total = max((ceil(H/s)-1)*s + k - H, 0), the smaller half first.
 */
MUST_CHECK int net_build(struct net *net, const struct layer_spec *layers, size_t n_layers,
                         struct shape in, struct err *err);
void net_release(struct net *net);

/* Whether layer i + 1 takes layer i's output, nothing else, and nobody else does. */
bool net_follows(const struct net *net, size_t i);
/* The first layer that takes several outputs, or whose output several take; NULL: it is a chain. */
const struct net_layer *net_branch(const struct net *net);

#endif
