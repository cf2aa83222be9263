// LINK: worker/kernels common
/* Random numbers: published answers of Philox, every ISA equal to it, the right distributions. */
#include "tests/unit/floats.h"

static const struct random_key key = {0x0123456789ABCDEF, RANDOM_TEST, 3, 59999, 7};
static float x[FLOATS_MAX], got[FLOATS_MAX], want[FLOATS_MAX];
static uint32_t number[FLOATS_MAX];
static uint16_t mask[FLOATS_MAX / 16];

/* The known answers that Random123 publishes for philox4x32 with 10 rounds. */
static void check_known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];

        random_philox(out, cases[i].counter, cases[i].key);
        CHECK_BYTES(out, cases[i].out, sizeof out);
    }
}

/* The layout: element 64g + 16w + c is word w of block 16g + c; every key field counts. */
static void check_layout(void)
{
    struct random_key changed[6] = {key, key, key, key, key, key};
    uint32_t words[4];

    random_philox(words, (uint32_t[]){16 * 5 + 9, 59999, 3, RANDOM_TEST << 16 | 7},
                  (uint32_t[]){0x89ABCDEF, 0x01234567});
    for (uint32_t w = 0; w < 4; w++)
        CHECK_INT(random_u32(&key, 64 * 5 + 16 * w + 9), words[w]);

    changed[1].seed ^= 1ull << 40;
    changed[2].purpose++;
    changed[3].stream++;
    changed[4].item++;
    changed[5].layer++;
    for (int i = 1; i < 6; i++)
        CHECK(random_u32(&changed[i], 0) != random_u32(&changed[0], 0));
}

static void check_numbers(const struct kernels *k, const struct kernels *plain)
{
    for (size_t s = 0; s < FLOAT_SIZES; s++) {
        size_t n = float_sizes[s];
        uint32_t first = (uint32_t)(noise() >> 40) * 64;

        memset(number, 0x55, sizeof number);
        k->random->bits(number, &key, first, n);
        for (size_t i = 0; i < FLOATS_MAX; i++)
            if (number[i] != (i < n ? random_u32(&key, first + (uint32_t)i) : 0x55555555))
                TEST_FAIL("%s bits %zu of %zu", k->isa, i, n);
        memset(got, 0x55, sizeof got);
        k->random->uniform(got, &key, first, n);
        for (size_t i = 0; i < n; i++)
            want[i] = (float)(number[i] >> 8) * 0x1p-24f;
        CHECK_BYTES(got, want, n * sizeof *got);
        if (n < FLOATS_MAX)
            CHECK_BYTES(got + n, "UUUU", 4);

        k->random->normal(got, &key, first, n);
        plain->random->normal(want, &key, first, n);
        CHECK_BYTES(got, want, n * sizeof *got);
        for (size_t i = 0; i + 32 <= n; i += i % 32 == 15 ? 17 : 1) {
            double u = ((double)(number[i] >> 8) + 1) * 0x1p-24;
            double angle = 2 * M_PI * (double)(number[i + 16] >> 8) * 0x1p-24;

            CHECK_NEAR(got[i], sqrt(-2 * log(u)) * cos(angle), 2e-6);
            CHECK_NEAR(got[i + 16], sqrt(-2 * log(u)) * sin(angle), 2e-6);
        }
    }
}

static void check_dropout(const struct kernels *k, const struct kernels *plain)
{
    static const float rates[] = {0, 0.25f, 0.4f, 0.999f};

    (void)plain;
    for (size_t s = 0; s < FLOAT_SIZES * 4; s++) {
        size_t n = float_sizes[s / 4];
        float rate = rates[s % 4];

        fill_any(x, n);
        memset(got, 0x55, sizeof got);
        memset(mask, 0x55, sizeof mask);
        k->random->dropout(got, x, mask, &key, rate, n);
        for (size_t i = 0; i < FLOATS_MAX; i++) {
            int keep = i < n && (float)(random_u32(&key, (uint32_t)i) >> 8) * 0x1p-24f >= rate;

            want[i] = keep ? x[i] * (1.0f / (1.0f - rate)) : 0;
            if (i < (n + 15) / 16 * 16 && (mask[i / 16] >> i % 16 & 1) != keep)
                TEST_FAIL("%s mask bit %zu of %zu at rate %g", k->isa, i, n, (double)rate);
        }
        CHECK_FLOATS(got, want, n, "dropout");
        if (n < FLOATS_MAX)
            CHECK_BYTES(got + n, "UUUU", 4);
        k->random->dropout_backward(got, x, mask, rate, n);
        CHECK_FLOATS(got, want, n, "dropout_backward");
    }
}

/* Mean, variance and the fourth moment of 0..1 and of the standard normal. The numbers are fixed,
 * so the margins, about five standard errors, cannot be missed by chance. */
static void check_moments(const struct kernels *k, const struct kernels *plain)
{
    double sum[2] = {0}, square[2] = {0}, fourth = 0, product = 0;

    (void)plain;
    k->random->uniform(x, &key, 0, FLOATS_MAX);
    k->random->normal(got, &key, 0, FLOATS_MAX);
    for (size_t i = 0; i < FLOATS_MAX; i++) {
        sum[0] += (double)x[i];
        sum[1] += (double)got[i];
        square[0] += (double)x[i] * (double)x[i];
        square[1] += (double)got[i] * (double)got[i];
        fourth += pow((double)got[i], 4);
        product += i % 32 < 16 ? (double)got[i] * (double)got[i + 16] : 0;
    }
    CHECK_NEAR(sum[0] / FLOATS_MAX, 0.5, 0.012);
    CHECK_NEAR(square[0] / FLOATS_MAX, 1.0 / 3, 0.012);
    CHECK_NEAR(sum[1] / FLOATS_MAX, 0, 0.04);
    CHECK_NEAR(square[1] / FLOATS_MAX, 1, 0.06);
    CHECK_NEAR(fourth / FLOATS_MAX, 3, 0.4);
    CHECK_NEAR(2 * product / FLOATS_MAX, 0, 0.06); /* sine and cosine of a pair */
}

static void check_permutation(void)
{
    enum { N = 1000 };
    uint32_t perm[N], again[N];
    int seen[N] = {0}, first_half = 0;

    random_permutation(perm, N, 7, RANDOM_SHUFFLE, 2);
    random_permutation(again, N, 7, RANDOM_SHUFFLE, 2);
    CHECK_BYTES(perm, again, sizeof perm);
    random_permutation(again, N, 7, RANDOM_SHUFFLE, 3);
    CHECK(memcmp(perm, again, sizeof perm) != 0);
    for (int i = 0; i < N; i++) {
        seen[perm[i]]++;
        first_half += i < N / 2 && perm[i] < N / 2;
    }
    for (int i = 0; i < N; i++)
        CHECK_INT(seen[i], 1);
    CHECK_NEAR(first_half, N / 4.0, 45);

    /* Each of the six orders of three comes up as often. */
    int orders[27] = {0};
    for (uint32_t epoch = 0; epoch < 6000; epoch++) {
        random_permutation(perm, 3, 1, RANDOM_SHUFFLE, epoch);
        orders[perm[0] * 9 + perm[1] * 3 + perm[2]]++;
    }
    static const int allowed[] = {5, 7, 11, 15, 19, 21};
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(orders[allowed[i]], 1000, 150);
    random_permutation(perm, 1, 1, RANDOM_SHUFFLE, 0);
    CHECK_INT(perm[0], 0);
    random_permutation(perm, 0, 1, RANDOM_SHUFFLE, 0);
}

int main(void)
{
    check_known_answers();
    check_layout();
    each_isa(check_numbers);
    each_isa(check_dropout);
    each_isa(check_moments);
    check_permutation();
    return test_result();
}
