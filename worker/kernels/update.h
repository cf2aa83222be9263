/*
 * Optimiser steps over a range of one tensor: w, g and the state slots are read and written once.
 * g is the mean gradient of the data loss; l2 adds l2 * w to it, scale multiplies g first
 * (clipping). Element-wise, so any cut into ranges gives the same bytes. Equations and sources:
 * worker/optim/optim.h.
 */
#ifndef PACELINE_KERNEL_UPDATE_H
#define PACELINE_KERNEL_UPDATE_H

#include <stddef.h>

/* Coefficients of one step, derived by worker/optim from the job and the step number. */
struct update_coef {
    float lr, scale, l2;
    float momentum, one_minus_dampening;
    float beta1, beta2, one_minus_beta1, one_minus_beta2;
    float rho, one_minus_rho;
    float epsilon;
    float step_size;      /* Adam: lr / (1 - beta1^t) or as the form needs */
    float root_correction; /* Adam: 1 / sqrt(1 - beta2^t) */
    float decay;          /* AdamW: 1 - lr * weightDecay */
    int nesterov, epsilon_inside, centered;
};

typedef void update_fn(float *w, const float *g, float *s0, float *s1, float *s2, size_t n,
                       const struct update_coef *c);

struct update_kernels {
    update_fn *sgd;      /* no state */
    update_fn *momentum; /* s0: velocity; also Nesterov */
    update_fn *adam;     /* s0: m, s1: v; also AdamW through decay */
    update_fn *adagrad;  /* s0: sum of squares */
    update_fn *adadelta; /* s0: E[g^2], s1: E[dx^2] */
    update_fn *rmsprop;  /* s0: E[g^2], s1: E[g] when centered, s2: momentum buffer */
};

#endif
