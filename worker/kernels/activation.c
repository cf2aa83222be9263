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

/* 1 - F(a) / e^(-a*a/2) for a of 0 to 15, F being the distribution function of the normal law: a
 * polynomial in t = 1/(1 + 0.3 a), of relative error 2e-7. A fit of minimax over that range. */
FUNCTION vf vmills(vf a)
{
    static const float c[] = {0x1.ea05e6p-4f,  0x1.ee468ap-4f, 0x1.9b57d0p-4f,  0x1.03ce36p-3f,
                              -0x1.9d3afep-5f, 0x1.9f5d98p-3f, -0x1.3dbaf0p-3f, 0x1.202ed4p-5f};
    const vf t = vdiv(vset1(1), vfma(vset1(0x1.333334p-2f), a, vset1(1)));

    return vmul(t, vpoly(t, c, 8));
}

/* x F(x), the exact GELU of Hendrycks and Gimpel 2016: within 3e-7 (1 + |x|), and of x above -5
 * within 1e-6 of itself. Below -15 it is -0, as x there. */
VINLINE vf gelu_value(vf x)
{
    const vf in = vmax(vmin(x, vset1(15)), vset1(-15)), a = vabs(in);
    const vf tail = vmul(vmul(in, vmills(a)), vexp(vmul(vset1(-0.5f), vmul(a, a))));

    return vsel(veq(x, x), vsel(vgt(x, vzero()), vsub(x, tail), tail), vnan());
}

/* F(x) + x f(x), f being the density. */
VINLINE vf gelu_gradient(vf dy, vf x, vf y)
{
    const vf in = vmax(vmin(x, vset1(15)), vset1(-15)), a = vabs(in);
    const vf e = vexp(vmul(vset1(-0.5f), vmul(a, a))), tail = vmul(vmills(a), e);
    const vf below = vsel(vgt(x, vzero()), vsub(vset1(1), tail), tail);

    (void)y;
    return vmul(dy, vfma(vmul(in, vset1(0x1.988454p-2f)), e, below)); /* 1/sqrt(2 pi) */
}

/* X(name, type) */
#define ACTIVATIONS(X)  \
    X(relu, RELU)       \
    X(sigmoid, SIGMOID) \
    X(gelu, GELU)       \
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
