/*
 * A model: the runtime layers of a net, its parameters in one slab, and the passes over a batch.
 *
 * All memory is taken in model_init. Parameters lie in layer order, weights before biases, padded
 * to 16 by zeros that stay zero.
 *
 * Of a network that is split over workers each has a model with all layers and parameters in it,
 * but memory for its own alone, and for outputs of others that they read.
 */
#ifndef PACELINE_MODEL_H
#define PACELINE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/net.h"
#include "worker/layers/layer.h"

struct model {
    const struct kernels *kernels;
    const struct net *net; /* must outlive the model */
    struct threads *threads;
    struct layer *layers;
    int n_layers;
    float **activations; /* output of each layer, samples * out_floats; some share a buffer */
    float **gradients;   /* of each layer's output, and where layers add to what others gave: */
    float **apart;       /* their part. In one slab, and in one place what is not needed together */
    float *way_back;
    size_t way_back_floats;
    float *levels, *packed; /* of the layer that is at work: as large as any needs */
    size_t levels_floats, packed_floats;
    int *sides, n_sides; /* scored besides the last one; their outputs' gradients are there for
                            all samples at once, where the layers are */
    bool *given;         /* on the way back: of the layers whose gradient has begun */
    float **scratch;     /* per thread */
    size_t scratch_floats;
    struct param *params;
    int n_params;
    size_t n_floats; /* of the parameter slab */
    float *weights;  /* the slab */
    uint32_t max_samples;
    int classes, positions; /* of a text each position has as many scores; else there is one */
    int lowest_trained;     /* layers below it need no data gradient */
};

struct model_config {
    const struct kernels *kernels;
    struct threads *threads;
    uint32_t max_samples; /* of this rank in one pass */
    int levels;           /* of its largest lane block */
    uint32_t batch;    /* samples of a batch, of all ranks: recurrent layers keep as many states */
    bool bf16;         /* what convolutions of maps, dense layers and LSTMs multiply is rounded */
    const int *owners; /* the worker of each layer of the net; NULL: no layer is remote */
    int worker;        /* with owners: this one */
};

/* Layers that follow a convolution are fused into it where they can be (ReLU, 2x2 max pooling).
 * `frozen` layers keep their parameters. Cannot fail: the net was checked. */
void model_init(struct model *m, const struct net *net, const struct model_config *config);
void model_release(struct model *m);

/* Bytes that model_init takes. */
struct model_bytes {
    size_t parameters;
    size_t saved;    /* what the forward pass leaves for the way back */
    size_t way_back; /* gradients of what layers give */
    size_t scratch;  /* of layers and threads */
};
struct model_bytes model_bytes(const struct model *m);

/* Initial weights from (seed, tensor, element): independent of layout, ranks and ISA. */
void model_init_weights(struct model *m, uint64_t seed);

/* Outputs [n][out_floats of the last layer] of p->n samples x ([n][c*h*w]). Side outputs are there
 * in training only. */
const float *model_forward(struct model *m, struct pass *p, const float *x);
/* The output of layer i for sample p->first, and the others after it; layer -1: x itself. */
float *model_output(const struct model *m, int i, const struct pass *p, const float *x);
/* One layer of it; x: of the whole pass. */
void model_forward_layer(struct model *m, struct pass *p, int i, const float *x);
/* From the gradient of the outputs, which model_output_gradient() and model_side_gradient() hold.
 */
float *model_output_gradient(struct model *m);
/* The gradient of side output k, layer m->sides[k], of all samples; NULL where it is remote. */
float *model_side_gradient(const struct model *m, int k);
void model_backward(struct model *m, struct pass *p, const float *x);
/* The same in steps: layers from the last one to lowest_trained, where they are not remote. away
 * (or NULL): for each input a buffer that its gradient goes to, instead of being added to those
 * of the model's own; NULL: it is not sent. */
void model_begin_backward(struct model *m);
void model_backward_layer(struct model *m, struct pass *p, int i, const float *x,
                          float *const *away);
/* A part of the gradient of layer i's output, for n samples, from elsewhere. Parts are to be added
 * in the order of the layers that give them, the last one first. */
void model_add_gradient(struct model *m, int i, const float *dy, uint32_t n);

/* The first layer whose activations in the last pass hold NaN or infinity; NULL: none. */
const char *model_first_nonfinite(const struct model *m, uint32_t n);

/* Copies a tensor between the slab layout (src/dst at the tensor's offset of any slab of the
 * model's shape: weights, gradients, optimiser state) and the order others read. */
size_t param_elements(const struct param *p);
size_t model_largest(const struct model *m); /* elements of the largest tensor */
void model_export(const struct model *m, const struct param *p, float *out, const float *slab);
void model_import(const struct model *m, const struct param *p, float *slab, const float *in);

#endif
