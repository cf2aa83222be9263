// LINK: worker/kernels common
/* Elementary functions: error bounds against libm in double, special values, every ISA alike. */
#include "tests/unit/floats.h"

typedef void map_fn(float *y, const float *x, size_t n);

static float x[FLOATS_MAX], got[FLOATS_MAX], want[FLOATS_MAX];

static double exact_sigmoid(double v) { return 1 / (1 + exp(-v)); }

/* Exact quarters, where cos(2*pi*v) in double would not be. */
static double exact_cos2pi(double v)
{
    double quarter = floor(4 * v + 0.5), angle = 2 * M_PI * (v - quarter / 4);
    double value = fmod(quarter, 2) == 0 ? cos(angle) : -sin(angle);

    return fmod(quarter, 4) < 2 ? value : -value;
}

static const struct {
    const char *name;
    size_t offset; /* of its member in struct math_kernels */
    double (*exact)(double);
    double max_ulps; /* as math.h says */
    struct {
        float x, y;
    } special[6];
} functions[] = {
    {"exp",
     offsetof(struct math_kernels, exp),
     exp,
     1.1,
     {{0, 1}, {-0.0f, 1}, {INFINITY, INFINITY}, {-INFINITY, 0}, {89, INFINITY}, {-104, 0}}},
    {"log",
     offsetof(struct math_kernels, log),
     log,
     0.8,
     {{1, 0},
      {0, -INFINITY},
      {-0.0f, -INFINITY},
      {INFINITY, INFINITY},
      {-INFINITY, NAN},
      {-0x1p-149f, NAN}}},
    {"tanh",
     offsetof(struct math_kernels, tanh),
     tanh,
     1.5,
     {{0, 0}, {-0.0f, -0.0f}, {INFINITY, 1}, {-INFINITY, -1}, {0x1p-149f, 0x1p-149f}, {20, 1}}},
    {"sigmoid",
     offsetof(struct math_kernels, sigmoid),
     exact_sigmoid,
     2.4,
     {{0, 0.5f}, {-0.0f, 0.5f}, {INFINITY, 1}, {-INFINITY, 0}, {-110, 0}, {40, 1}}},
    {"cos2pi",
     offsetof(struct math_kernels, cos2pi),
     exact_cos2pi,
     0.9,
     {{0, 1}, {0.5f, -1}, {0.25f, -0.0f}, {0.75f, 0}, {-0.0f, 1}, {0.125f, 0x1.6a09e6p-1f}}},
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

static map_fn *function(const struct kernels *k, size_t f)
{
    map_fn *fn;

    memcpy(&fn, (const char *)k->math + functions[f].offset, sizeof fn);
    return fn;
}

static void fill_domain(size_t f, size_t n)
{
    if (functions[f].exact == exact_cos2pi)
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(noise() >> 40) * 0x1p-24f;
    else
        fill_any(x, n);
}

static void check_equal(const struct kernels *k, const struct kernels *plain)
{
    for (size_t j = 0; j < FLOAT_SIZES * FUNCTIONS; j++) {
        size_t f = j % FUNCTIONS, n = float_sizes[j / FUNCTIONS];

        fill_domain(f, FLOATS_MAX);
        memset(got, 0x55, sizeof got);
        function(k, f)(got, x, n);
        function(plain, f)(want, x, n);
        CHECK_BYTES(got, want, n * sizeof *got); /* NaN too */
        if (n < FLOATS_MAX)
            CHECK_BYTES(got + n, "UUUU", 4);
        function(k, f)(x, x, n);
        CHECK_BYTES(x, want, n * sizeof *got);
    }
}

static void check_accuracy(const struct kernels *k, const struct kernels *plain)
{
    (void)plain;
    for (size_t f = 0; f < FUNCTIONS; f++) {
        double worst = 0;
        float at = 0;

        for (int round = 0; round < 12; round++) {
            if (round % 3 || functions[f].exact == exact_cos2pi)
                fill_domain(f, FLOATS_MAX);
            else
                fill_uniform(x, FLOATS_MAX, -104, 89);
            function(k, f)(got, x, FLOATS_MAX);
            for (size_t i = 0; i < FLOATS_MAX; i++) {
                double error = ulps(got[i], functions[f].exact((double)x[i]));
                if (error > worst) {
                    worst = error;
                    at = x[i];
                }
            }
        }
        CHECK(worst > 0.5); /* else the exact value is not exact */
        CHECK(worst <= functions[f].max_ulps);
        if (worst > functions[f].max_ulps)
            TEST_FAIL("%s %s: %g ulp at %a", k->isa, functions[f].name, worst, (double)at);
    }
}

static void check_special(const struct kernels *k, const struct kernels *plain)
{
    static const uint32_t nan_bits = 0x7FC00000;

    (void)plain;
    for (size_t f = 0; f < FUNCTIONS; f++) {
        for (size_t i = 0; i < 6; i++) {
            function(k, f)(got, &functions[f].special[i].x, 1);
            CHECK_FLOATS(got, &functions[f].special[i].y, 1, functions[f].name);
        }
        if (functions[f].exact == exact_cos2pi)
            continue;
        x[0] = NAN;
        function(k, f)(got, x, 1);
        CHECK_BYTES(got, &nan_bits, 4);
    }
}

static void check_softmax(const struct kernels *k, const struct kernels *plain)
{
    for (size_t s = 1; s < FLOAT_SIZES; s++) {
        size_t n = float_sizes[s];
        double sum = 0, top = -INFINITY;
        float log_sum, log_want;

        fill_uniform(x, n, -30, 40);
        log_sum = k->math->softmax(got, x, n);
        log_want = plain->math->softmax(want, x, n);
        CHECK_BYTES(got, want, n * sizeof *got);
        CHECK_BYTES(&log_sum, &log_want, sizeof log_sum);
        for (size_t i = 0; i < n; i++)
            top = fmax(top, (double)x[i]);
        for (size_t i = 0; i < n; i++)
            sum += exp((double)x[i] - top);
        CHECK_NEAR(log_sum, log(sum) + top, 1e-5);
        for (size_t i = 0; i < n; i++) {
            double p = exp((double)x[i] - top) / sum;
            double tolerance = 5e-7 + 0x1p-24 * (top - (double)x[i]); /* x - top is rounded */
            if (!(fabs((double)got[i] - p) <= tolerance * p))
                TEST_FAIL("softmax %zu of %zu: %g, want %g", i, n, (double)got[i], p);
        }
        k->math->softmax(x, x, n);
        CHECK_BYTES(x, want, n * sizeof *got);
    }
}

static void check_softmax_special(const struct kernels *k, const struct kernels *plain)
{
    static const float rows[][3] = {
        {0, NAN, 1}, {INFINITY, 0, 1}, {-INFINITY, -INFINITY, -INFINITY}};
    static const float far[3] = {-INFINITY, 1000, -1000}, far_want[3] = {0, 1, 0};

    (void)plain;
    for (int i = 0; i < 3; i++) {
        CHECK(isnan(k->math->softmax(got, rows[i], 3)));
        CHECK(isnan(got[0]) && isnan(got[1]) && isnan(got[2]));
    }
    CHECK_NEAR(k->math->softmax(got, far, 3), 1000, 0);
    CHECK_FLOATS(got, far_want, 3, "softmax");
}

/* Relative error against libm in long double. */
static void near(const char *what, double value, long double exact, double tolerance)
{
    test_checked++;
    if (!(fabsl((long double)value - exact) <= tolerance * fabsl(exact)))
        TEST_FAIL("%s: got %.17g, want %.17Lg", what, value, exact);
}

static void check_scalar(void)
{
    for (int i = 0; i < 20000; i++) {
        double u = noise_uniform(), v = noise_uniform();
        double base = exp(10 * u - 5), power = 40 * v - 20;

        near("exp", math_exp(1400 * u - 700), expl(1400 * u - 700), 5e-16);
        near("log", math_log(base), logl(base), 5e-16);
        near("log near 1", math_log(0.9 + u / 5), logl(0.9 + u / 5), 5e-16);
        near("powi", math_powi(base, (long)power), powl(base, (long)power), 2.3e-16);
        near("pow", math_pow(base, power), powl(base, power), 1e-15);
        near("powi of beta", math_powi(0.9 + u / 10, 1 + (long)(2000 * v)),
             powl(0.9 + u / 10, 1 + (long)(2000 * v)), 2.3e-16);
        CHECK_NEAR(math_cos(200 * u - 100), (double)cosl(200 * u - 100), 2.3e-16);
    }
}

static void check_scalar_special(void)
{
    CHECK(math_exp(INFINITY) == INFINITY && math_exp(-INFINITY) == 0 && isnan(math_exp(NAN)));
    CHECK(math_exp(0) == 1 && math_exp(710) == INFINITY);
    near("subnormal exp", math_exp(-740), expl(-740), 0.1);
    CHECK(math_log(1) == 0 && math_log(0) == -INFINITY && math_log(INFINITY) == INFINITY);
    CHECK(isnan(math_log(-1)) && isnan(math_log(NAN)));
    near("log of a subnormal", math_log(0x1p-1074), logl(0x1p-1074L), 3e-16);
    CHECK(math_powi(2, 10) == 1024 && math_powi(2, -2) == 0.25 && math_powi(0, 0) == 1);
    CHECK(math_powi(-3, 3) == -27 && math_powi(10, 400) == INFINITY && math_powi(10, -400) == 0);
    CHECK(math_pow(4, 0.5) == 2 && math_pow(0, 2.5) == 0 && math_pow(0, -0.5) == INFINITY);
    CHECK(math_pow(7, 0) == 1 && math_pow(1, NAN) == 1 && isnan(math_pow(-2, 0.5)));
    CHECK(math_pow(-2, 3) == -8 && math_pow(2, 1e10) == INFINITY && math_pow(0.5, INFINITY) == 0);
    CHECK(math_cos(0) == 1 && isnan(math_cos(1e9)) && isnan(math_cos(NAN)));
    CHECK_NEAR(math_cos(M_PI), -1, 0);
}

int main(void)
{
    each_isa(check_equal);
    each_isa(check_accuracy);
    each_isa(check_special);
    each_isa(check_softmax);
    each_isa(check_softmax_special);
    check_scalar();
    check_scalar_special();
    return test_result();
}
