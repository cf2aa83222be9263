// LINK: worker/kernels common worker/model/loss.c
// Losses: known values, gradients beside finite differences of the definition, padding, ties,
// numbers too large for a plain exp, and the same bytes on every instruction set.
#include "tests/test.h"
#include "tests/unit/fill.h"
#include "worker/model/loss.h"

#define ROW 32

static const struct kernels *best(void) { return kernels_select(NULL); }

static struct loss_result loss_of(enum loss_type type, const float *y, int n, int label, float *dy)
{
    float p[ROW];

    return loss_sample(type, best(), y, ROW, n, label, 1, dy, p);
}

static void test_known(void)
{
    const float equal[ROW] = {1, 1, 1, 1}, y[ROW] = {2, -1, 0.5f};
    float dy[ROW];
    struct loss_result r = loss_of(LOSS_SOFTMAX_CROSS_ENTROPY, equal, 4, 2, dy);

    CHECK_NEAR(r.loss, log(4), 1e-6);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR((double)dy[i], i == 2 ? -0.75 : 0.25, 1e-7);
    r = loss_of(LOSS_SQUARED_ERROR, y, 3, 1, dy);
    CHECK_NEAR(r.loss, 0.5 * (4 + 4 + 0.25), 1e-12);
    CHECK_NEAR((double)dy[0], 2, 0);
    CHECK_NEAR((double)dy[1], -2, 0);
    CHECK_NEAR((double)dy[2], 0.5, 0);
}

static double defined(enum loss_type type, const double *y, int n, int label)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double d = y[i] - (i == label);
        sum += type == LOSS_SQUARED_ERROR ? 0.5 * d * d : exp(y[i]);
    }
    return type == LOSS_SQUARED_ERROR ? sum : log(sum) - y[label];
}

static void test_gradient(enum loss_type type, int n, int label, uint32_t n_global, uint32_t seed)
{
    const double h = 1e-5;
    float y[ROW], dy[ROW];
    double exact[ROW];

    fill_uniform(y, ROW, seed);
    for (int i = 0; i < ROW; i++)
        exact[i] = (double)(y[i] *= 5);
    memset(dy, 0x7f, sizeof dy);
    struct loss_result r = loss_sample(type, best(), y, ROW, n, (uint8_t)label, n_global, dy, NULL);
    CHECK_NEAR(r.loss, defined(type, exact, n, label), 2e-6 * (1 + r.loss));
    for (int i = 0; i < n; i++) {
        double was = exact[i];
        exact[i] = was + h;
        double above = defined(type, exact, n, label);
        exact[i] = was - h;
        double below = defined(type, exact, n, label);
        exact[i] = was;
        CHECK_NEAR((double)dy[i] * n_global, (above - below) / (2 * h), 1e-6);
    }
    for (int i = n; i < ROW; i++)
        CHECK(dy[i] == 0);
}

/* The first of the largest is predicted; of equals, the smaller class stands higher. */
static void test_ranks(void)
{
    static const struct {
        float y[8];
        int label, predicted;
        double correct, top5;
    } ranks[] = {
        {{0, 3, 1, 2, 0, 0, 0, 0}, 1, 1, 1, 1}, {{0, 3, 1, 2, 0, 0, 0, 0}, 3, 1, 0, 1},
        {{5, 5, 5, 5, 5, 5, 5, 5}, 0, 0, 1, 1}, {{5, 5, 5, 5, 5, 5, 5, 5}, 4, 0, 0, 1},
        {{5, 5, 5, 5, 5, 5, 5, 5}, 5, 0, 0, 0}, {{1, 2, 3, 4, 5, 6, 7, 8}, 3, 7, 0, 1},
        {{1, 2, 3, 4, 5, 6, 7, 8}, 2, 7, 0, 0}, {{-1, -2, -3, -4, -5, -6, -7, -8}, 0, 0, 1, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(ranks); i++) {
        struct loss_result r = loss_of(LOSS_SQUARED_ERROR, ranks[i].y, 8, ranks[i].label, NULL);
        CHECK_INT(r.predicted, ranks[i].predicted);
        CHECK_NEAR(r.scores[0], ranks[i].correct, 0);
        CHECK_NEAR(r.scores[1], ranks[i].top5, 0);
    }
}

static void test_large(void)
{
    const float y[ROW] = {1000, 990, -1000}, nan[ROW] = {0, NAN, 0};
    float dy[ROW], p[3];
    struct loss_result r = loss_sample(LOSS_SOFTMAX_CROSS_ENTROPY, best(), y, ROW, 3, 1, 1, dy, p);

    CHECK_NEAR(r.loss, 10 + log1p(exp(-10)), 1e-4);
    CHECK_NEAR((double)p[0], 1 / (1 + exp(-10)), 1e-6);
    CHECK_NEAR((double)p[0] + (double)p[1] + (double)p[2], 1, 1e-6);
    CHECK(p[2] == 0 && dy[2] == 0);
    CHECK_NEAR((double)dy[1], (double)p[1] - 1, 1e-7);
    CHECK(isnan(loss_of(LOSS_SOFTMAX_CROSS_ENTROPY, nan, 3, 0, NULL).loss));
    CHECK(isnan(loss_of(LOSS_SQUARED_ERROR, nan, 3, 0, NULL).loss));
}

static void test_many_classes(void)
{
    enum { CLASSES = 20000 };
    static float y[CLASSES], dy[CLASSES], p[CLASSES];
    y[1000] = 3;
    struct loss_result r =
        loss_sample(LOSS_SOFTMAX_CROSS_ENTROPY, best(), y, CLASSES, CLASSES, 17000, 2, dy, p);
    CHECK_INT(r.predicted, 1000);
    CHECK_NEAR(r.loss, log(CLASSES - 1 + exp(3)), 5e-5); /* 16 sums of 1250 terms */
    CHECK_NEAR((double)dy[1000], exp(3) / (CLASSES - 1 + exp(3)) / 2, 1e-7);
}

/* The definition: one score after the other. */
static size_t rank_of(const float *y, size_t n, size_t label, size_t *above)
{
    size_t best = 0;

    *above = 0;
    for (size_t i = 0; i < n; i++) {
        best = y[i] > y[best] ? i : best;
        *above += y[i] > y[label] || (y[i] == y[label] && i < label);
    }
    return best;
}

/* Few different scores, so that many are equal, some of them NaN. */
static void test_rank_kernel(const struct kernels *k)
{
    enum { MOST = 70 };
    float y[MOST];

    for (uint32_t i = 0; i < 400; i++) {
        const size_t n = 1 + fill_u32(i, 100) % MOST, label = fill_u32(i, 101) % n;
        size_t want_above, above;

        for (uint32_t c = 0; c < n; c++) {
            const uint32_t draw = fill_u32(i, c) % 13;
            y[c] = draw == 12 && i % 3 == 0 ? NAN : (float)draw - (float)(i % 20);
        }
        const size_t want = rank_of(y, n, label, &want_above);
        CHECK_INT((int)k->math->rank(y, n, label, &above), (int)want);
        CHECK_INT((int)above, (int)want_above);
    }
}

/* Gradients below 2^-60 are none; NaN stays. */
static void test_divide_kernel(const struct kernels *k)
{
    const float x[19] = {
        1, -3, 0x1p-59f, 0x1p-58f, -0x1p-59f, 0x1.fffffep-60f, [17] = NAN, [18] = 6};
    float y[19];

    k->math->divide(y, x, 2, 19);
    CHECK(y[0] == 0.5f && y[1] == -1.5f && y[2] == 0x1p-60f && y[3] == 0x1p-59f);
    CHECK(y[4] == -0x1p-60f && y[5] == 0 && !signbit(y[5]));
    CHECK(isnan(y[17]) && y[18] == 3);
}

static void test_same_bytes(void)
{
    float y[ROW], want[ROW], got[ROW];
    fill_uniform(y, ROW, 5);
    for (int type = 0; type < 2; type++) {
        struct loss_result first =
            loss_sample(type, kernels_find("c"), y, ROW, 21, 3, 64, want, NULL);
        for (const char *const *isa = kernels_isas; *isa; isa++) {
            if (!kernels_find(*isa))
                continue;
            struct loss_result r =
                loss_sample(type, kernels_find(*isa), y, ROW, 21, 3, 64, got, NULL);
            CHECK_BYTES(got, want, sizeof got);
            CHECK_BYTES(&r.loss, &first.loss, sizeof r.loss);
        }
    }
}

int main(void)
{
    kernels_thread_init();
    test_known();
    for (uint32_t i = 0; i < 20; i++) {
        int n = 2 + (int)(fill_u32(i, 0) % 30), label = (int)(fill_u32(i, 1) % (uint32_t)n);
        test_gradient(LOSS_SOFTMAX_CROSS_ENTROPY, n, label, 1 + i * 7, i);
        test_gradient(LOSS_SQUARED_ERROR, n, label, 1 + i * 7, i);
    }
    test_ranks();
    test_large();
    test_many_classes();
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        if (!kernels_find(*isa))
            continue;
        test_rank_kernel(kernels_find(*isa));
        test_divide_kernel(kernels_find(*isa));
    }
    test_same_bytes();
    return test_result();
}
