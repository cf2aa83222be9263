#include "worker/kernels/math.h"

#include "worker/kernels/elementary.h"

VINLINE void map(float *y, const float *x, size_t n, vf (*f)(vf))
{
    size_t i = 0;

    for (; i + VEC <= n; i += VEC)
        vstore(y + i, f(vload(x + i)));
    if (i < n)
        vstore_n(y + i, f(vload_n(x + i, n - i)), n - i);
}

static void map_exp(float *y, const float *x, size_t n) { map(y, x, n, vexp); }
static void map_log(float *y, const float *x, size_t n) { map(y, x, n, vlog); }
static void map_tanh(float *y, const float *x, size_t n) { map(y, x, n, vtanh); }
static void map_sigmoid(float *y, const float *x, size_t n) { map(y, x, n, vsigmoid); }
static void map_cos2pi(float *y, const float *x, size_t n) { map(y, x, n, vcos2pi); }

/* Up to 16 logits from x on; -infinity where there is none, which adds nothing. */
VINLINE vf logits(const float *x, size_t n)
{
    if (n >= VEC)
        return vload(x);
    return vsel(vmfrom((1u << n) - 1), vload_n(x, n), vbits(viset1(0xFF800000)));
}

VINLINE float largest(vf x)
{
    float t[VEC], m;

    vstore(t, x);
    m = t[0];
    for (int i = 1; i < VEC; i++)
        m = t[i] > m ? t[i] : m;
    return m;
}

static float softmax(float *p, const float *x, size_t n)
{
    vf top = logits(x, n), sum = vzero(), total;
    float log_sum[VEC], max;

    for (size_t i = VEC; i < n; i += VEC)
        top = vmax(top, logits(x + i, n - i));
    max = largest(top);
    for (size_t i = 0; i < n; i += VEC) {
        size_t k = n - i < VEC ? n - i : VEC;
        vf e = vexp(vsub(logits(x + i, k), vset1(max)));

        sum = vadd(sum, e);
        vstore_n(p + i, e, k);
    }
    total = vset1(vfold(sum));
    for (size_t i = 0; i < n; i += VEC) {
        size_t k = n - i < VEC ? n - i : VEC;

        vstore_n(p + i, vdiv(vload_n(p + i, k), total), k);
    }
    vstore(log_sum, vadd(vset1(max), vlog(total)));
    return log_sum[0];
}

const struct math_kernels K(math_kernels) = {
    .exp = map_exp,
    .log = map_log,
    .tanh = map_tanh,
    .sigmoid = map_sigmoid,
    .cos2pi = map_cos2pi,
    .softmax = softmax,
};
