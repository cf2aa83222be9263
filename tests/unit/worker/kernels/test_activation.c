// LINK: worker/kernels common
/* Activations and their gradients against libm in double over both tails, what they make of zeros,
 * infinities and NaN, and the same bytes on every instruction set. */
#include <math.h>
#include <string.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/kernels/kernels.h"

#define N 65536 /* from -32 to 32 */

static float x[N], dy[N], y[N], dx[N], want_y[N], want_dx[N];

static double normal(double v) { return erfc(-v / sqrt(2)) / 2; }
static double density(double v) { return exp(-v * v / 2) / sqrt(2 * M_PI); }

static double relu_of(double v) { return v > 0 ? v : 0; }
static double relu_slope(double v) { return v > 0; }
static double sigmoid_of(double v) { return 1 / (1 + exp(-v)); }
static double sigmoid_slope(double v) { return sigmoid_of(v) * sigmoid_of(-v); }
static double tanh_slope(double v) { return 1 - tanh(v) * tanh(v); }
static double gelu_of(double v) { return v * normal(v); }
static double gelu_slope(double v) { return normal(v) + v * density(v); }

static const struct {
    enum layer_type type;
    double (*of)(double), (*slope)(double);
    float low, high; /* f(-infinity), f(infinity) */
} activations[] = {
    {LAYER_RELU, relu_of, relu_slope, 0, INFINITY},
    {LAYER_SIGMOID, sigmoid_of, sigmoid_slope, 0, 1},
    {LAYER_TANH, tanh, tanh_slope, -1, 1},
    {LAYER_GELU, gelu_of, gelu_slope, -0.0f, INFINITY},
};

static void test_values(size_t i, const struct kernels *k)
{
    const struct activation *a = &k->activation->of[activations[i].type];

    a->forward(y, x, N);
    a->backward(dx, dy, x, y, N);
    for (int e = 0; e < N; e++) {
        const double v = (double)x[e], value = activations[i].of(v);

        CHECK_NEAR((double)y[e], value, 3e-7 * (1 + fabs(v)));
        if (activations[i].type == LAYER_GELU && v > -5)
            CHECK_NEAR((double)y[e], value, 1e-6 * fabs(value));
        CHECK_NEAR((double)dx[e], (double)dy[e] * activations[i].slope(v),
                   1e-6 * fabs((double)dy[e]));
    }
}

static void test_extremes(size_t i, const struct kernels *k)
{
    const struct activation *a = &k->activation->of[activations[i].type];
    const float in[16] = {-INFINITY, INFINITY, NAN, 0, -0.0f};
    float out[16];

    a->forward(out, in, 16);
    CHECK_BYTES(&out[0], &activations[i].low, sizeof *out);
    CHECK_BYTES(&out[1], &activations[i].high, sizeof *out);
    CHECK(activations[i].type == LAYER_RELU || isnan(out[2]));
    CHECK(fabsf(out[3] - (float)activations[i].of(0)) == 0);
    CHECK(fabsf(out[4] - (float)activations[i].of(0)) == 0);
}

int main(void)
{
    kernels_thread_init();
    for (int e = 0; e < N; e++) {
        x[e] = (float)(e - N / 2) / (N / 64);
        dy[e] = (float)(e % 7 - 3);
    }
    for (size_t i = 0; i < ARRAY_LEN(activations); i++) {
        const char *const *isa = kernels_isas;

        test_values(i, kernels_find("c"));
        memcpy(want_y, y, sizeof y);
        memcpy(want_dx, dx, sizeof dx);
        for (; *isa; isa++) {
            if (!kernels_find(*isa))
                continue;
            test_extremes(i, kernels_find(*isa));
            test_values(i, kernels_find(*isa));
            CHECK_BYTES(y, want_y, sizeof y);
            CHECK_BYTES(dx, want_dx, sizeof dx);
        }
    }
    return test_result();
}
