#include "worker/kernels/lstm.h"

#include "worker/kernels/elementary.h"

static void lstm_kernel_forward(float *gates, const float *recurrent, float *cell, float *tanh_cell,
                                float *hidden, size_t units, size_t from, size_t to)
{
    for (size_t u = from; u < to; u += VEC) {
        vf a[4], c, t;

        for (size_t gate = 0; gate < 4; gate++)
            a[gate] = vadd(vload(gates + gate * units + u), vload(recurrent + gate * units + u));
        a[0] = vsigmoid(a[0]);
        a[1] = vsigmoid(a[1]);
        a[2] = vtanh(a[2]);
        a[3] = vsigmoid(a[3]);
        for (size_t gate = 0; gate < 4; gate++)
            vstore(gates + gate * units + u, a[gate]);
        c = vfma(a[1], vload(cell + u), vmul(a[0], a[2]));
        t = vtanh(c);
        vstore(cell + u, c);
        vstore(tanh_cell + u, t);
        vstore(hidden + u, vmul(a[3], t));
    }
}

VINLINE vf one_minus_square(vf v) { return vfma(vsub(vzero(), v), v, vset1(1)); }

static void lstm_kernel_backward(float *gates, const float *last_cell, const float *tanh_cell,
                                 const float *dh, float *dc, size_t units, size_t from, size_t to)
{
    for (size_t u = from; u < to; u += VEC) {
        float *gate = gates + u;
        const vf i = vload(gate), f = vload(gate + units), g = vload(gate + 2 * units);
        const vf o = vload(gate + 3 * units), t = vload(tanh_cell + u), h = vload(dh + u);
        const vf one = vset1(1);
        const vf d = vfma(vmul(h, o), one_minus_square(t), vload(dc + u));

        vstore(gate, vmul(vmul(vmul(d, g), i), vsub(one, i)));
        vstore(gate + units, vmul(vmul(vmul(d, vload(last_cell + u)), f), vsub(one, f)));
        vstore(gate + 2 * units, vmul(vmul(d, i), one_minus_square(g)));
        vstore(gate + 3 * units, vmul(vmul(vmul(h, t), o), vsub(one, o)));
        vstore(dc + u, vmul(d, f));
    }
}

extern const struct lstm_kernels K(lstm_kernels);
const struct lstm_kernels K(lstm_kernels) = {.forward = lstm_kernel_forward,
                                             .backward = lstm_kernel_backward};
