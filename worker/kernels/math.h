/*
 * Elementary functions, ours on every CPU (libm picks variants by CPU and version).
 *
 * Errors in ulp of float are below: exp 1.1 (subnormal results included), log 0.8, tanh 1.5,
 * sigmoid 2.4 (seen over every seventh float), cos2pi 0.9 (every multiple of 2^-24).
 * exp: overflow gives infinity, underflow is gradual. log: 0 gives -infinity, below 0 NaN.
 * A NaN gives a quiet NaN, the same bits on every ISA.
 */
#ifndef PACELINE_KERNEL_MATH_H
#define PACELINE_KERNEL_MATH_H

#include <stddef.h>

struct math_kernels {
    /* y[i] = f(x[i]); in place is allowed. */
    void (*exp)(float *y, const float *x, size_t n);
    void (*log)(float *y, const float *x, size_t n);
    void (*tanh)(float *y, const float *x, size_t n);
    void (*sigmoid)(float *y, const float *x, size_t n);
    void (*cos2pi)(float *y, const float *x, size_t n); /* cos(2*pi*x), 0 <= x < 1 */

    /* One row of n > 0 logits -> probabilities (in place is allowed); returns log(sum exp(x)).
     * Maximum first, then 16 interleaved partials folded 8-4-2-1. All NaN when a logit is NaN or
     * +infinity or all are -infinity. */
    float (*softmax)(float *p, const float *x, size_t n);
    /* y[i] = x[i] / divisor, +0 where that is below 2^-60 either way; y may be x. */
    void (*divide)(float *y, const float *x, float divisor, size_t n);
    /* The first of the largest of n > 0 scores (0 when x[0] is NaN; other NaNs are none), and how
     * many are above x[label] or equal to it before it. */
    size_t (*rank)(const float *x, size_t n, size_t label, size_t *above);
};

/*
 * Scalar double precision, for coefficients; relative error below 1e-15, from sqrt, fma and the
 * four operations alone.
 */
double math_powi(double x, long n);  /* by squaring, in twice the precision */
double math_pow(double x, double y); /* as C's pow; the sign of a zero or infinity apart */
double math_exp(double x);
double math_log(double x);
double math_cos(double x); /* |x| < 2^20, else NaN */

#endif
