/*
 * Layers at run time: one struct of function pointers per kind. A layer works on all samples of
 * the rank at once; threads split activations by sample and weight gradients by output block.
 * Activations are channel-blocked, [sample][C/16][H][W][16]; those of a text are rows, [sample]
 * [position][C], C padded to 16; the network's input is plain.
 * Knows no MPI: a finished gradient goes to a sink.
 */
#ifndef PACELINE_LAYER_H
#define PACELINE_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/net.h"
#include "worker/kernels/kernels.h"
#include "worker/lanes/lanes.h"
#include "worker/lanes/profile.h"
#include "worker/threads/threads.h"

/* What becomes of a gradient: biases and scales are not decayed. Of a statistic (a running mean) it
 * is the change itself, which is added; of a state (a recurrent layer's) what it becomes. */
enum param_kind { PARAM_WEIGHT, PARAM_BIAS, PARAM_STATISTIC, PARAM_STATE };

/*
 * Where gradients go. With `apply` set (one rank, nothing to wait for) a layer hands each finished
 * range over at once, from any thread, and nothing of model size is kept. Else the partial sum of
 * each lane block is written to blocks[i] + offset, and thread 0 says `ready` when a range is
 * final in all of them.
 */
struct gradient_sink {
    void (*apply)(void *arg, size_t offset, size_t n, const float *gradient, enum param_kind kind);
    void (*ready)(void *arg, size_t offset, size_t n);
    void *arg;
    int n_blocks;
    float *blocks[LANES_MAX_BLOCKS];
};

/* One forward or backward pass over a batch. */
struct pass {
    const struct kernels *kernels;
    struct threads *threads;
    float *const *scratch; /* per thread */
    const float *params;
    const float *weights; /* that a training pass computes with; NULL: the model's */
    uint32_t n;           /* samples of this rank */
    uint32_t first;       /* where the first of them is in what layers keep for the backward pass */
    uint32_t n_update;    /* samples of the whole update, of all ranks */
    uint32_t row;         /* in the batch, of the rank's first sample */
    bool begins;          /* nothing came before this batch: states are zero */
    bool training;
    uint64_t seed;
    uint32_t epoch;
    const uint32_t *ids;            /* dataset index of each sample: the key of dropout */
    int n_blocks;                   /* lane blocks of this rank */
    const struct lane_ends *blocks; /* present or not: block_samples() */
    struct gradient_sink *sink;
    void (*poll)(void *arg); /* called by thread 0 between kernels; may be NULL */
    void *poll_arg;
    struct profile *profile; /* NULL: off */
};
static inline void pass_poll(const struct pass *p)
{
    if (p->poll)
        p->poll(p->poll_arg);
}

/* A trained tensor: a range of the parameter slab in the kernels' layout. */
struct param {
    char name[80];         /* "<layer>.weight", "<layer>.bias" */
    int layer;             /* of the model */
    size_t offset, floats; /* floats 0: another worker has it */
    enum param_kind kind;
    bool frozen;
    int n_dims;
    int64_t dims[4]; /* as others read it: [out][in][kh][kw], [out][in], [out] */
    int fan_in, fan_out;
    enum initializer initializer;
    double range;
    double forget; /* of an lstm's bias: what the forget gates' part begins with */
};

struct layer;
struct layer_options;
struct param_list;
/* Layers of one input have forward and backward, those of several have forward_n and backward_n. */
struct layer_ops {
    const char *kind;
    /* Sizes, and the memory that is the layer's own. The model has set l->ops, name, inputs, number
     * and rows, and of the layer below in_floats, out_floats and out: those of a layer that keeps
     * the map that it is given. */
    void (*init)(struct layer *l, const struct net_layer *n, const struct layer_options *o);
    /* Its tensors, in their order in the slab; NULL: none. */
    void (*add_params)(struct layer *l, const struct net_layer *n, struct param_list *list);
    /* y = f(x) for pass->n samples */
    void (*forward)(struct layer *l, const struct pass *p, float *y, const float *x);
    /* dx (may be NULL when nothing below is trained) and parameter gradients from dy, which may be
     * overwritten; x and y as in forward. */
    void (*backward)(struct layer *l, const struct pass *p, float *dx, float *dy, const float *x,
                     const float *y);
    void (*release)(struct layer *l);
    void (*forward_n)(struct layer *l, const struct pass *p, float *y, const float *const *x);
    /* dx[i] (may be NULL) becomes the gradient of input i, or, without fresh[i], gets it added. dy,
     * which is what one of them may be where the layer passes gradients, may be overwritten. */
    void (*backward_n)(struct layer *l, const struct pass *p, float *const *dx, const bool *fresh,
                       float *dy, const float *y);
};

struct layer {
    const struct layer_ops *ops;
    const char *name;              /* of the net's layer; owned by the net */
    int *inputs, n_inputs;         /* runtime layers; -1: the samples as they come */
    int n_users;                   /* that take its output */
    size_t in_floats, out_floats;  /* per sample */
    int rows;                      /* of a sample: the positions of a text; else 1 */
    size_t scratch_floats;         /* per thread */
    size_t scratch_kernels;        /* conv: of these, what its kernels take */
    bool in_place;                 /* y may be x */
    bool reads_output;             /* its gradient is taken from what it gave */
    bool relu, pool;               /* fused after the layer */
    bool passes;                   /* an input's gradient is the output's */
    bool auxiliary;                /* only side outputs need it: it is left out of evaluation */
    double loss_weight;            /* above 0: a side output */
    bool remote;                   /* another worker has it: described here, without memory */
    struct param *weight, *bias;   /* NULL: none */
    struct param *mean, *variance; /* batchnorm: the running ones */
    void *state;                   /* the layer's own, which init makes and release frees */
    struct shape out;
    struct shape below; /* flatten, padchannels: the map below */
    int first;          /* slice: channel of it; of plain samples the value */
    struct conv conv;
    struct dense dense;
    struct pool window;
    struct lrn lrn;
    enum layer_type activation;
    double rate;
    uint32_t number; /* of the net's layer: the key of dropout */
    bool image_input;
    bool bf16;     /* conv, dense, lstm: of operands that are rounded, from weights in `packed` */
    float *levels; /* weight gradients: one buffer per level of the lane tree */
    size_t level_floats;
    int n_levels;
    uint8_t *argmax; /* fused pooling, per sample */
    uint16_t *mask;  /* dropout, per sample */
    float *packed; /* dense: dy in the order the weight gradient reads it; lstm: weights in that of
                      the data gradient; in bf16 the weights, and of dense and lstm what they are
                      multiplied by; set by the model */
    size_t packed_floats;
    struct norm *norm;  /* batchnorm */
    int *part_channels; /* concat: of each input */
    struct embedding *embedding;
    struct lstm *lstm;
    struct param *recurrent, *hidden, *cell; /* lstm: weights of the hidden state; the states */
};

static inline uint32_t block_samples(const struct lane_ends *b)
{
    return b->end[(1u << b->level) - 1];
}

/* How a layer is made. */
struct layer_options {
    bool relu, pool;  /* fused after it */
    bool bf16;        /* what products multiply is rounded, unless that is the samples */
    uint32_t samples; /* the most that are kept, 0 where the layer is remote */
    int levels;       /* of the rank's largest lane block, -1 there */
    uint32_t batch;   /* rows of a batch, each of which has a state; 0 there */
    int threads;
    const struct layer *made; /* the layers so far: l->inputs are places in it */
};

/* Of each type of the net's layers; types may share one. */
extern const struct layer_ops *const layer_table[];
#define LAYER_OPS(type, name, shape, arithmetic, traits) \
    extern const struct layer_ops arithmetic##_ops;
LAYER_TYPES(LAYER_OPS)
#undef LAYER_OPS

/* Plain image -> blocked map (or padded row): when the first layer is no convolution. */
void layer_pack(struct layer *l, struct shape in, bool flat);

size_t layer_lstm_floats(const struct layer *l); /* that it keeps, per sample */
struct dense layer_lstm_dense(const struct layer *l, bool hidden);

static inline size_t map_floats(struct shape s)
{
    return (size_t)blocks_of(s.c) * 16 * (size_t)(s.h * s.w);
}
/* Where element f of a plain [C][H][W] lies in the blocked map. */
static inline size_t map_index(struct shape s, size_t f)
{
    size_t pixels = (size_t)(s.h * s.w), c = f / pixels;
    return ((c / 16) * pixels + f % pixels) * 16 + c % 16;
}

#endif
