#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "worker/kernels/math.h"

#define LN2_HI 0x1.62e42feep-1 /* 32 bits: its product with an exponent is exact */
#define LN2_LO 0x1.a39ef35793c76p-33
#define LOG2E 0x1.71547652b82fep+0
#define PI_2_HI 0x1.921fb544p+0 /* 33 bits */
#define PI_2_LO 0x1.0b4611a626331p-34
#define ROUND_MAGIC 0x1.8p+52 /* adding and subtracting it rounds to an integer */

/* An unevaluated sum, the low part below half an ulp of the high part. */
struct double_pair {
    double high, low;
};

static struct double_pair pair_mul(struct double_pair a, struct double_pair b)
{
    double high = a.high * b.high;
    double low = fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high);
    double sum = high + low;

    if (high - high != 0) /* infinite or NaN: no low part */
        return (struct double_pair){high, 0};
    return (struct double_pair){sum, high - sum + low};
}

double math_powi(double x, long n)
{
    struct double_pair result = {1, 0}, square = {x, 0};

    for (unsigned long left = n < 0 ? 0ul - (unsigned long)n : (unsigned long)n; left; left >>= 1) {
        if (left & 1)
            result = pair_mul(result, square);
        square = pair_mul(square, square);
    }
    return n < 0 ? 1 / result.high : result.high;
}

static double pow2(int k) /* -1022 <= k <= 1023 */
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* c[0] + c[1]*x + ... + c[n-1]*x^(n-1) */
static double horner(double x, const double *c, int n)
{
    double y = c[n - 1];

    for (int i = n - 2; i >= 0; i--)
        y = fma(y, x, c[i]);
    return y;
}

double math_exp(double x)
{
    static const double c[] = {/* 1/k!, k = 2 .. 13 */
                               1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                               1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                               1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    if (x != x)
        return x;
    x = x > 720 ? 720 : x < -760 ? -760 : x;
    double n = x * LOG2E + ROUND_MAGIC - ROUND_MAGIC;
    double r = fma(n, -LN2_LO, fma(n, -LN2_HI, x));
    int k = (int)n, half = k / 2;

    return (1 + fma(r * r, horner(r, c, 12), r)) * pow2(half) * pow2(k - half);
}

double math_log(double x)
{
    static const double c[] = {/* 2/k, k = 3, 5, .. 21 */
                               2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                               2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
    const uint64_t sqrt_half = 0x3FE6A09E667F3BCD;
    uint64_t bits;
    int e = 0;

    if (!(x > 0) || x - x != 0)
        return x == 0 ? -INFINITY : x > 0 ? x : NAN;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        e = -54;
    }
    memcpy(&bits, &x, sizeof bits);
    uint64_t shift = ((bits - sqrt_half + (1024ull << 52)) >> 52) - 1024; /* two's complement */
    bits -= shift << 52;
    memcpy(&x, &bits, sizeof x);
    e += (int)(int64_t)shift;
    /* ln(1+f) = 2 atanh(s) = f - f^2/2 + s*(f^2/2 + R), s = f/(2+f) */
    double f = x - 1, s = f / (2 + f), z = s * s, h = 0.5 * f * f;

    return fma(e, LN2_HI, f - (h - fma(s, h + z * horner(z, c, 10), e * LN2_LO)));
}

double math_pow(double x, double y)
{
    double whole = y + ROUND_MAGIC - ROUND_MAGIC;
    bool huge = !(y > -0x1p31 && y < 0x1p31);

    if (y == 0 || x == 1)
        return 1;
    if (!huge && whole == y)
        return math_powi(x, (long)y);
    if (!(x > 0) || x - x != 0 || huge)
        return x < 0 ? NAN : math_exp(y * math_log(x));
    return math_powi(x, (long)whole) * math_exp((y - whole) * math_log(x));
}

double math_cos(double x)
{
    static const double s[] = {
        -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
        -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000.0};
    static const double c[] = {
        -1.0 / 2,       1.0 / 24,        -1.0 / 720,           1.0 / 40320,
        -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
    double n = x * (1 / (PI_2_HI + PI_2_LO)) + ROUND_MAGIC - ROUND_MAGIC;
    double r = fma(n, -PI_2_LO, fma(n, -PI_2_HI, x)), z = r * r;
    double y;

    if (!(x > -0x1p20 && x < 0x1p20)) /* the promised range; NaN says so beyond it */
        return NAN;
    int quarter = (int)n;
    y = quarter & 1 ? fma(r * z, horner(z, s, 8), r) : fma(z, horner(z, c, 8), 1);
    return (quarter + 1) & 2 ? -y : y;
}
