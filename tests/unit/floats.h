/* Floats for kernel tests: inputs with every kind of value, and equality that knows NaN. */
#ifndef PACELINE_TEST_FLOATS_H
#define PACELINE_TEST_FLOATS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/test.h"
#include "worker/kernels/kernels.h"

#define FLOATS_MAX 16384
static const size_t float_sizes[] = {0,  1,    2,    15,   16,   17,    63,        64,
                                     65, 1000, 4095, 4096, 4097, 10000, FLOATS_MAX};
#define FLOAT_SIZES (sizeof float_sizes / sizeof *float_sizes)

/* xorshift64*: the tests' own numbers, so that the module under test is not its own judge. */
static inline uint64_t noise(void)
{
    static uint64_t state = 0x9E3779B97F4A7C15;

    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1D;
}

static inline double noise_uniform(void) { return (double)(noise() >> 11) * 0x1p-53; }

static inline void fill_uniform(float *x, size_t n, double lo, double hi)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(lo + (hi - lo) * noise_uniform());
}

/* Any bit pattern: normal and subnormal numbers, infinities and NaN, and some specials. */
static inline void fill_any(float *x, size_t n)
{
    static const float specials[] = {0.0f,       -0.0f, INFINITY, -INFINITY,      0x1p-149f,
                                     -0x1p-130f, 1.0f,  -1.0f,    0x1.fffffep127f};

    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)(noise() >> 32);
        uint64_t pick = noise() >> 40;

        memcpy(x + i, &bits, sizeof bits);
        if (pick % 8 == 0)
            x[i] = specials[pick / 8 % (sizeof specials / sizeof *specials)];
        else if (pick % 8 == 1)
            x[i] *= 0x1p-120f;
    }
}

/* The index of the first float that differs, or n. Any NaN equals any NaN. */
static inline size_t floats_differ(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return i;
    return n;
}

#define CHECK_FLOATS(got, want, n, what)                                                        \
    do {                                                                                        \
        size_t n_ = (n), i_ = floats_differ(got, want, n_);                                     \
        test_checked++;                                                                         \
        if (i_ < n_)                                                                            \
            TEST_FAIL("%s: element %zu of %zu is %a, want %a", what, i_, n_, (double)(got)[i_], \
                      (double)(want)[i_]);                                                      \
    } while (0)

/* Units in the last place of float between got and the exact value. */
static inline double ulps(float got, double exact)
{
    int exponent;

    if (isnan(exact) || isinf((float)exact) || exact == 0)
        return (isnan(exact) ? isnan(got) : got == (float)exact) ? 0 : INFINITY;
    frexp(exact, &exponent);
    return fabs((double)got - exact) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

/* Runs check(kernels, plain) for each set this CPU has; the plain set among them. */
static inline void each_isa(void (*check)(const struct kernels *k, const struct kernels *plain))
{
    for (const char *const *isa = kernels_isas; *isa; isa++)
        if (kernels_find(*isa))
            check(kernels_find(*isa), kernels_find("c"));
}

#endif
