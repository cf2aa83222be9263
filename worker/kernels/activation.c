#include "worker/kernels/activation.h"

#include "worker/kernels/elementary.h"

/* Each as a function of a vector, and its gradient. */

VINLINE vf relu_value(vf x) { return vmax(x, vzero()); }
VINLINE vf relu_gradient(vf dy, vf x, vf y)
{
    (void)x;
    return vsel(vgt(y, vzero()), dy, vzero());
}

VINLINE vf sigmoid_value(vf x) { return vsigmoid(x); }
VINLINE vf sigmoid_gradient(vf dy, vf x, vf y)
{
    (void)x;
    return vmul(dy, vmul(y, vsub(vset1(1), y)));
}

VINLINE vf tanh_value(vf x) { return vtanh(x); }
VINLINE vf tanh_gradient(vf dy, vf x, vf y)
{
    (void)x;
    return vmul(dy, vsub(vset1(1), vmul(y, y)));
}

/* X(name, type) */
#define ACTIVATIONS(X)  \
    X(relu, RELU)       \
    X(sigmoid, SIGMOID) \
    X(tanh, TANH)

#define ACTIVATION_LOOPS(name, type)                                                        \
    static void name##_forward(float *y, const float *x, size_t n)                          \
    {                                                                                       \
        for (size_t i = 0; i < n; i += VEC)                                                 \
            vstore(y + i, name##_value(vload(x + i)));                                      \
    }                                                                                       \
    static void name##_backward(float *dx, const float *dy, const float *x, const float *y, \
                                size_t n)                                                   \
    {                                                                                       \
        for (size_t i = 0; i < n; i += VEC)                                                 \
            vstore(dx + i, name##_gradient(vload(dy + i), vload(x + i), vload(y + i)));     \
    }
ACTIVATIONS(ACTIVATION_LOOPS)

#define ACTIVATION_ROW(name, type) .of[LAYER_##type] = {name##_forward, name##_backward},

extern const struct activation_kernels K(activation_kernels);
const struct activation_kernels K(activation_kernels) = {ACTIVATIONS(ACTIVATION_ROW)};
