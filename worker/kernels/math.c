#include "worker/kernels/math.h"

#include <stdbool.h>

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

/* p[i] = e^(x[i] - max) for up to 16 of them, added to the partials. */
VINLINE vf exponentials(float *p, const float *x, size_t n, float max, vf sum)
{
    vf e = vexp(vsub(logits(x, n), vset1(max)));

    if (n >= VEC)
        vstore(p, e);
    else
        vstore_n(p, e, n);
    return vadd(sum, e);
}

static float softmax(float *p, const float *x, size_t n)
{
    vf top = logits(x, n), sum = vzero(), total;
    float log_sum[VEC], max;
    size_t i = 0;

    for (i = VEC; i < n; i += VEC)
        top = vmax(top, logits(x + i, n - i));
    max = largest(top);
    for (i = 0; i < n; i += VEC)
        sum = exponentials(p + i, x + i, n - i, max, sum);
    total = vset1(vfold(sum));
    for (i = 0; i + VEC <= n; i += VEC)
        vstore(p + i, vdiv(vload(p + i), total));
    if (i < n)
        vstore_n(p + i, vdiv(vload_n(p + i, n - i), total), n - i);
    vstore(log_sum, vadd(vset1(max), vlog(total)));
    return log_sum[0];
}

VINLINE vf settled(vf x) { return vsel(vgt(vset1(0x1p-60f), vabs(x)), vzero(), x); }

static void divide(float *y, const float *x, float divisor, size_t n)
{
    const vf d = vset1(divisor);
    size_t i = 0;

    for (; i + VEC <= n; i += VEC)
        vstore(y + i, settled(vdiv(vload(x + i), d)));
    if (i < n)
        vstore_n(y + i, settled(vdiv(vload_n(x + i, n - i), d)), n - i);
}

/* Of 16 interleaved partials, each the first of its own, the first of the largest. */
static size_t first_largest(vf best, vi place)
{
    float values[VEC];
    uint32_t places[VEC];
    int lane = 0;

    vstore(values, best);
    vistore(places, place);
    for (int i = 1; i < VEC; i++)
        if (values[i] > values[lane] || (values[i] == values[lane] && places[i] < places[lane]))
            lane = i;
    return places[lane];
}

static size_t rank(const float *x, size_t n, size_t label, size_t *above)
{
    const vf score = vset1(x[label]);
    vf best = vset1(x[0]);
    vi place = viset1(0);
    size_t count = 0;

    for (size_t i = 0; i < n; i += VEC) {
        const bool whole = n - i >= VEC;
        const uint32_t there = whole ? 0xFFFF : (1u << (n - i)) - 1;
        const uint32_t before = i + VEC <= label ? 0xFFFF : i < label ? (1u << (label - i)) - 1 : 0;
        const vf v = whole ? vload(x + i) : vload_n(x + i, n - i);
        const vm greater = vmfrom(vmbits(vgt(v, best)) & there);

        count += (size_t)__builtin_popcount(vmbits(vgt(v, score)) & there);
        count += (size_t)__builtin_popcount(vmbits(veq(v, score)) & before);
        best = vsel(greater, v, best);
        place = vfbits(vsel(greater, vbits(viset1((uint32_t)i)), vbits(place)));
    }
    uint32_t lanes[VEC];
    float values[VEC];
    vistore(lanes, place);
    vstore(values, best);
    for (int i = 0; i < VEC; i++) /* until now where the vector begins */
        lanes[i] += values[i] > x[0] ? (uint32_t)i : 0;
    *above = count;
    return first_largest(best, viload(lanes));
}

const struct math_kernels K(math_kernels) = {
    .exp = map_exp,
    .log = map_log,
    .tanh = map_tanh,
    .sigmoid = map_sigmoid,
    .cos2pi = map_cos2pi,
    .softmax = softmax,
    .divide = divide,
    .rank = rank,
};
