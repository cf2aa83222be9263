/* Elementary functions, ours on every CPU (libm picks variants by CPU and version). */
#ifndef PACELINE_KERNEL_MATH_H
#define PACELINE_KERNEL_MATH_H

#include <stddef.h>

struct math_kernels {
    /* y[i] = f(x[i]); in place is allowed. Errors in ulp against the exact value: see math.c. */
    void (*exp)(float *y, const float *x, size_t n);
    void (*log)(float *y, const float *x, size_t n);
    void (*tanh)(float *y, const float *x, size_t n);
    void (*sigmoid)(float *y, const float *x, size_t n);
    void (*cos2pi)(float *y, const float *x, size_t n); /* cos(2*pi*x), 0 <= x < 1 */

    /* One row of n logits -> probabilities; returns the log of the sum of exps less nothing:
     * log(sum exp(x)). Maximum first, then 16 interleaved partials folded 8-4-2-1. */
    float (*softmax)(float *p, const float *x, size_t n);
};

/* Scalar double precision, for coefficients: x^n by squaring, and x^y, exp, log, cos of our own. */
double math_powi(double x, long n);
double math_pow(double x, double y);
double math_exp(double x);
double math_log(double x);
double math_cos(double x);

#endif
