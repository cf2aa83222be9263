/* Batch normalisation; see norm.h. */
#include "worker/kernels/norm.h"

#include "worker/kernels/vec.h"

/* Runs the body for each pixel i; q is its partial, known when it is compiled. */
#define PIXELS(body)                                                   \
    do {                                                               \
        for (size_t first = 0; first < pixels; first += 4) {           \
            if (first + 4 <= pixels) {                                 \
                _Pragma("GCC unroll 4") for (size_t q = 0; q < 4; q++) \
                {                                                      \
                    const size_t i = first + q;                        \
                    body                                               \
                }                                                      \
            } else {                                                   \
                for (size_t q = 0; first + q < pixels; q++) {          \
                    const size_t i = first + q;                        \
                    body                                               \
                }                                                      \
            }                                                          \
        }                                                              \
    } while (0)

VINLINE vf fold4(const vf s[4]) { return vadd(vadd(s[0], s[1]), vadd(s[2], s[3])); }

VINLINE vf gated(const float *dy, const float *y, size_t at)
{
    vf d = vload(dy + at);
    return y ? vsel(vgt(vload(y + at), vzero()), d, vzero()) : d;
}

static void moments(float *mean, float *deviations, const float *x, size_t pixels)
{
    vf sum[4] = {vzero(), vzero(), vzero(), vzero()};
    vf squares[4] = {vzero(), vzero(), vzero(), vzero()};

    PIXELS(sum[q] = vadd(sum[q], vload(x + i * VEC)););
    const vf m = vdiv(fold4(sum), vset1((float)pixels));
    PIXELS(const vf d = vsub(vload(x + i * VEC), m); squares[q] = vfma(d, d, squares[q]););
    vstore(mean, m);
    vstore(deviations, fold4(squares));
}

static void norm_kernel_normalize(float *y, const float *x, const float *mean, const float *scale,
                                  const float *shift, size_t pixels, bool relu)
{
    const vf m = vload(mean), a = vload(scale), b = vload(shift);

    for (size_t i = 0; i < pixels * VEC; i += VEC) {
        const vf v = vfma(vsub(vload(x + i), m), a, b);
        vstore(y + i, relu ? vmax(v, vzero()) : v);
    }
}

static void gradient_sums(float *sums, float *products, const float *dy, const float *x,
                          const float *y, const float *mean, size_t pixels)
{
    const vf m = vload(mean);
    vf s[4] = {vzero(), vzero(), vzero(), vzero()}, t[4] = {vzero(), vzero(), vzero(), vzero()};

    PIXELS(const vf d = gated(dy, y, i * VEC); s[q] = vadd(s[q], d);
           t[q] = vfma(d, vsub(vload(x + i * VEC), m), t[q]););
    vstore(sums, fold4(s));
    vstore(products, fold4(t));
}

static void norm_kernel_backward(float *dx, const float *dy, const float *x, const float *y,
                                 const float *mean, const float *scale, const float *slope,
                                 const float *offset, size_t pixels)
{
    const vf m = vload(mean), a = vload(scale), b = vload(slope), c = vload(offset);

    for (size_t i = 0; i < pixels * VEC; i += VEC)
        vstore(dx + i, vfma(gated(dy, y, i), a, vfma(vsub(vload(x + i), m), b, c)));
}

extern const struct norm_kernels K(norm_kernels);
const struct norm_kernels K(norm_kernels) = {
    .moments = moments,
    .normalize = norm_kernel_normalize,
    .gradient_sums = gradient_sums,
    .backward = norm_kernel_backward,
};
