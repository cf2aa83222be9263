/* Activations: functions of one value, and the gradients of their inputs. */
#ifndef PACELINE_KERNEL_ACTIVATION_H
#define PACELINE_KERNEL_ACTIVATION_H

#include <stddef.h>

#include "paceline/layer_types.h"

struct activation {
    /* y = f(x); n is a multiple of 16. */
    void (*forward)(float *y, const float *x, size_t n);
    /* dx = dy * f'(x), where y = f(x); types of TRAIT_OUTPUT take it from y. */
    void (*backward)(float *dx, const float *dy, const float *x, const float *y, size_t n);
};

struct activation_kernels {
    struct activation of[N_LAYER_TYPES]; /* NULL where the type is none */
};

#endif
