/*
 * Optimiser steps over a range of one tensor: w, g and the state slots are read and written once.
 * g is the mean gradient of the data loss; l2 adds l2 * w to it, scale multiplies g first
 * (clipping). Element-wise, so any cut into ranges gives the same bytes. Equations and sources:
 * worker/optim/optim.h.
 */
#ifndef PACELINE_KERNEL_UPDATE_H
#define PACELINE_KERNEL_UPDATE_H

#include <stddef.h>

/* Moving averages smaller than this become 0. */
#define UPDATE_TINY 0x1p-96f

/* Coefficients of one step, derived by worker/optim from the job and the step number. A kernel
 * reads those of its equation. */
struct update_coef {
    float scale, l2;
    float decay;                            /* w is multiplied by it first (AdamW), else 1 */
    float rate;                             /* w = w - rate * step */
    float momentum, velocity_gain;          /* velocity = momentum * velocity + gain * step */
    float beta1, beta2;                     /* moments: m = beta1 * m + gain1 * g, */
    float gain1, gain2;                     /*          v = beta2 * v + gain2 * g^2 */
    float epsilon_inside;                   /* denominator: */
    float root_correction, epsilon_outside; /* sqrt(v + inside) * correction + outside */
    int nesterov, centered;
};

/* A slot that the optimiser does not have is NULL and is not touched. */
typedef void update_fn(float *w, const float *g, float *s0, float *s1, float *s2, size_t n,
                       const struct update_coef *c);

struct update_kernels {
    update_fn *sgd;      /* no state */
    update_fn *momentum; /* s0: velocity; also Nesterov */
    update_fn *adam;     /* s0: m, s1: v; also AdamW through decay */
    update_fn *adagrad;  /* s0: sum of squares */
    update_fn *adadelta; /* s0: E[g^2], s1: E[dx^2] */
    update_fn *rmsprop;  /* s0: E[g^2], s1: velocity or NULL, s2: E[g] (with s1) or NULL */
};

#endif
