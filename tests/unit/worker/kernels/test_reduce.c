// LINK: worker/kernels common
/* Reductions: the promised order spelt out in scalar code, and every ISA equal to it. */
#include "tests/unit/floats.h"

static float x[FLOATS_MAX], y[FLOATS_MAX], got[FLOATS_MAX], want[FLOATS_MAX];
static uint16_t half_got[FLOATS_MAX], half_want[FLOATS_MAX];

static float block_sum(const float *p, size_t n, int squares)
{
    float partial[16] = {0};

    for (size_t i = 0; i < n; i++)
        partial[i % 16] = squares ? fmaf(p[i], p[i], partial[i % 16]) : partial[i % 16] + p[i];
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++)
            partial[i] += partial[i + half];
    return partial[0];
}

/* A node of `width` elements, a power of two times 4,096. */
static double node(const float *p, size_t n, size_t width, int squares)
{
    double left;

    if (width == 4096)
        return (double)block_sum(p, n, squares);
    width /= 2;
    left = node(p, n < width ? n : width, width, squares);
    if (n <= width)
        return left;
    left += node(p + width, n - width, width, squares);
    return squares ? left : (double)(float)left;
}

static void check_sums(const struct kernels *k, size_t n)
{
    float sum = k->reduce->sum(x, n), sum_want = (float)node(x, n, 16384, 0);
    double squares = k->reduce->sum_squares(x, n), squares_want = node(x, n, 16384, 1);

    CHECK_FLOATS(&sum, &sum_want, 1, k->isa);
    CHECK(squares == squares_want || (isnan(squares) && isnan(squares_want)));
}

static void check_elementwise(const struct kernels *k, const struct kernels *plain, size_t n)
{
    memcpy(got, y, sizeof y);
    k->reduce->add(got, x, n);
    for (size_t i = 0; i < FLOATS_MAX; i++)
        want[i] = i < n ? y[i] + x[i] : y[i];
    CHECK_FLOATS(got, want, FLOATS_MAX, k->isa);

    memcpy(got, y, sizeof y);
    k->reduce->scale(got, 0.3f, n);
    for (size_t i = 0; i < FLOATS_MAX; i++)
        want[i] = i < n ? y[i] * 0.3f : y[i];
    CHECK_FLOATS(got, want, FLOATS_MAX, k->isa);

    k->reduce->to_bf16(half_got, x, n);
    plain->reduce->to_bf16(half_want, x, n);
    CHECK_BYTES(half_got, half_want, n * sizeof *half_got);
    k->reduce->from_bf16(got, half_got, n);
    plain->reduce->from_bf16(want, half_want, n);
    CHECK_BYTES(got, want, n * sizeof *got);
}

static void check_isa(const struct kernels *k, const struct kernels *plain)
{
    for (size_t s = 0; s < FLOAT_SIZES; s++) {
        fill_uniform(x, FLOATS_MAX, -1, 1);
        fill_uniform(y, FLOATS_MAX, -1, 1);
        check_sums(k, float_sizes[s]);
        fill_any(x, FLOATS_MAX);
        fill_any(y, FLOATS_MAX);
        check_sums(k, float_sizes[s]);
        check_elementwise(k, plain, float_sizes[s]);
    }
}

static void check_all_finite(const struct kernels *k, const struct kernels *plain)
{
    (void)plain;
    fill_uniform(x, FLOATS_MAX, -1, 1);
    x[3] = 0x1.fffffep127f;
    x[7] = 0x1p-149f;
    CHECK_INT(k->reduce->all_finite(x, 0), 1);
    CHECK_INT(k->reduce->all_finite(x, FLOATS_MAX), 1);
    for (size_t at = 0; at < 40; at++) {
        float kept = x[at];

        x[at] = at % 2 ? -INFINITY : NAN;
        CHECK_INT(k->reduce->all_finite(x, 40), 0);
        CHECK_INT(k->reduce->all_finite(x, at), 1);
        CHECK_INT(k->reduce->all_finite(x, at + 1), 0);
        x[at] = kept;
    }
}

static void check_bf16_values(const struct kernels *k, const struct kernels *plain)
{
    static const struct {
        uint32_t bits;
        uint16_t bf16;
    } cases[] = {
        {0x3F800000, 0x3F80}, {0x3F808000, 0x3F80} /* tie to even */,
        {0x3F818000, 0x3F82}, {0x3F808001, 0x3F81},
        {0x7F7FFFFF, 0x7F80}, {0x7F800000, 0x7F80},
        {0xFF800000, 0xFF80}, {0x7F800001, 0x7FC0} /* signalling NaN made quiet */,
        {0x80000000, 0x8000}, {0x00008001, 0x0001},
    };

    (void)plain;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float value;

        memcpy(&value, &cases[i].bits, sizeof value);
        k->reduce->to_bf16(half_got, &value, 1);
        CHECK_INT(half_got[0], cases[i].bf16);
    }
}

int main(void)
{
    each_isa(check_isa);
    each_isa(check_all_finite);
    each_isa(check_bf16_values);
    return test_result();
}
