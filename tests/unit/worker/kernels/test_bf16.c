// LINK: worker/kernels common
// Products in bf16: rounding and steps of sums against answers that are known, convolutions against
// a naive double-precision reference on rounded operands and against the fp32 kernels on them, and
// every instruction set, the CPU's own products of bf16 too, against plain C byte for byte.
#include <math.h>

#include "tests/unit/conv_case.h"

static const char *const isas[] = {"avx2", "avx512", "avx512bf16", "neon"};

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t to_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static void check_rounding(const struct kernels *k)
{
    static const struct {
        uint32_t in, out;
    } cases[] = {
        {0x3F800000, 0x3F800000}, /* 1 */
        {0x3F808000, 0x3F800000}, /* a tie: to the even one below */
        {0x3F818000, 0x3F820000}, /* a tie: to the even one above */
        {0x3F808001, 0x3F810000}, {0x3F807FFF, 0x3F800000}, {0xBF818000, 0xBF820000},
        {0x3FFFFFFF, 0x40000000}, /* into the exponent */
        {0x7F7FFFFF, 0x7F800000}, /* past the largest: infinity */
        {0x7F7F7FFF, 0x7F7F0000}, {0x7F800000, 0x7F800000}, {0xFF800000, 0xFF800000},
        {0x7F800001, 0x7FC00000}, /* NaN with nothing in the upper half stays one */
        {0xFFFFFFFF, 0xFFFF0000}, {0x00000000, 0x00000000}, {0x80000000, 0x80000000},
        {0x00800000, 0x00800000}, /* the smallest that is not subnormal */
        {0x007FFFFF, 0x00000000}, /* subnormal, even where it would round up to that */
        {0x807FFFFF, 0x80000000}, {0x00000001, 0x00000000},
    };
    float in[32] = {0};
    uint32_t out[32], pairs[16];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        in[i] = from_bits(cases[i].in);
    k->product_bf16->pairs(out, in, NULL, 32);
    k->product_bf16->pairs(pairs, in + 16, in, 16);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(out[i], cases[i].out);
    for (size_t i = 0; i < 16; i++)
        CHECK_INT(pairs[i], out[16 + i] | out[i] >> 16);
}

/* sum + both products of 16 pairs, whose x are one and the same. */
static void step(const struct kernels *k, float sum[16], const uint32_t w[16], uint32_t x)
{
    struct product p = {.w = w, .x = &x, .rows = 1, .k = 1, .dst = sum, .accumulate = true};

    k->product_bf16->run(&p, 1, 1);
}

static uint32_t pair_of(float first, float second)
{
    return to_bits(first) | to_bits(second) >> 16; /* of values that bf16 has */
}

static void check_steps(const struct kernels *k)
{
    static const struct {
        float sum, w[2], x[2], want;
    } cases[] = {
        {1, {2, 3}, {5, 7}, 32},
        /* the first product first: it takes the one away that the second would be lost beside */
        {0x1p30f, {-0x1p15f, 1}, {0x1p15f, 1}, 1},
        {0x1p30f, {1, -0x1p15f}, {1, 0x1p15f}, 0},
        /* rounded after each product, not once: 2^24 + 1 is a tie, twice */
        {0x1p24f, {1, 1}, {1, 1}, 0x1p24f},
        /* each product exact: 1.0078125^2 needs more than bf16 has */
        {-1, {0x1.02p0f, 0}, {0x1.02p0f, 0}, 0x1.01p-6f},
        /* subnormal results and sums are zeros, also where the next product would bring them back
         */
        {0, {0x1p-70f, 0}, {0x1p-70f, 0}, 0},
        {0, {0x1p-63f, 0x1p-63f}, {0x1p-64f, 0x1p-64f}, 0},
        {0x1p-127f, {0, 0}, {0, 0}, 0},
        {0x1p-126f, {-0x1p-64f, 0x1p-64f}, {0x1p-64f, 0x1p-64f}, 0},
        {0x1p-126f, {-0x1p-75f, 0}, {0x1p-75f, 0}, 0},
        {0x1p-126f, {-0x1p-75f, 0}, {0x1p-76f, 0}, 0x1p-126f},
        {INFINITY, {1, 1}, {1, 1}, INFINITY},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint32_t w[16];
        float sum[16];
        for (int l = 0; l < 16; l++) {
            w[l] = pair_of(cases[i].w[0], cases[i].w[1]);
            sum[l] = cases[i].sum;
        }
        step(k, sum, w, pair_of(cases[i].x[0], cases[i].x[1]));
        for (int l = 0; l < 16; l++)
            CHECK(sum[l] == cases[i].want);
    }
}

/* Of any size; of near one; near the smallest that are not subnormal, where products of such are;
 * near the largest. Some are zeros, -0 among them; some NaN or infinite. */
static uint32_t any_bits(uint32_t kind, uint32_t seed, uint32_t i)
{
    const uint32_t bits = fill_u32(seed, i), rest = bits & 0x807FFFFF;
    static const uint32_t exponents[][2] = {{0, 256}, {120, 14}, {56, 14}, {0, 4}, {180, 76}};

    if (fill_u32(seed + 1, i) % 16 == 0)
        return bits & 0x80000000;
    return rest | (exponents[kind][0] + (bits >> 23) % exponents[kind][1]) << 23;
}

static bool same(float a, float b) { return to_bits(a) == to_bits(b) || (isnan(a) && isnan(b)); }

/* Steps on anything, all instruction sets alike. A NaN is one everywhere; which one, nobody
 * promises. */
static void test_anything(void)
{
    const struct kernels *c = kernels_find("c");
    long different = 0, subnormal = 0;

    for (uint32_t i = 0; i < 20000; i++) {
        const uint32_t kind = i % 5, at = i * 64;
        float in[64], sum[16], want[16];
        uint32_t w[16], x[16];
        for (uint32_t j = 0; j < 64; j++)
            in[j] = from_bits(any_bits(kind, j < 48 ? 3 : 5, at + j));
        c->product_bf16->pairs(w, in, in + 16, 16);
        c->product_bf16->pairs(x, in + 32, in + 32 + i % 2, 16);
        for (int l = 0; l < 16; l++) {
            want[l] = in[48 + l];
            subnormal += fpclassify(want[l]) == FP_SUBNORMAL;
        }
        step(c, want, w, x[0]);
        for (size_t k = 0; k < ARRAY_LEN(isas); k++) {
            if (!kernels_find(isas[k]))
                continue;
            memcpy(sum, in + 48, sizeof sum);
            step(kernels_find(isas[k]), sum, w, x[0]);
            for (int l = 0; l < 16; l++)
                different += !same(sum[l], want[l]);
        }
    }
    CHECK_INT(different, 0);
    CHECK(subnormal > 1000);
}

/* All products of one convolution in bf16; of plain input there are none. */
static void run_all(const struct kernels *k, const struct conv *c, struct maps *m)
{
    const size_t scratch = conv_bf16_scratch_floats(c), words = conv_bf16_weight_words(c);
    AUTO(auto_free) float *room = xaligned(scratch * sizeof *room);
    AUTO(auto_free) uint32_t *packed = xaligned(words * sizeof *packed);
    const struct conv_kernels *b = k->conv_bf16;

    memset(room, 0xFF, scratch * sizeof *room); /* NaN: nobody may count on what was there */
    memset(packed, 0xFF, words * sizeof *packed);
    b->pack(c, packed, m->w, 0, blocks_of(c->k));
    b->forward(c, m->y, NULL, m->x, packed, NULL, false, false, room);
    memset(room, 0xFF, scratch * sizeof *room);
    memset(m->dw, 0xFF, conv_weight_floats(c) * sizeof *m->dw);
    b->backward_weights(c, m->dw, m->x, m->dy, true, 0, blocks_of(c->k), room);
    memset(room, 0xFF, scratch * sizeof *room);
    memset(packed, 0xFF, words * sizeof *packed);
    memset(m->dx, 0xFF, conv_in_floats(c) * sizeof *m->dx);
    b->pack_transposed(c, packed, m->w, blocks_of(c->c) / 2, blocks_of(c->c));
    b->pack_transposed(c, packed, m->w, 0, blocks_of(c->c) / 2);
    b->backward_data(c, m->dx, m->dy, packed, room);
}

/* A pair whose second value is +0 has the bits of the first one, rounded. */
static void round_map(const struct kernels *k, float *x, size_t n)
{
    AUTO(auto_free) uint32_t *pairs = xaligned(n * sizeof *pairs);

    k->product_bf16->pairs(pairs, x, NULL, n);
    memcpy(x, pairs, n * sizeof *x);
}

static void round_maps(const struct kernels *k, const struct conv *c, struct maps *m)
{
    round_map(k, m->x, conv_in_floats(c));
    round_map(k, m->w, conv_weight_floats(c));
    round_map(k, m->dy, conv_out_floats(c));
}

static void fp32_all(const struct kernels *k, const struct conv *c, struct maps *m)
{
    round_maps(k, c, m);
    k->conv->forward(c, m->y, NULL, m->x, m->w, NULL, false, false, m->scratch);
    k->conv->backward_weights(c, m->dw, m->x, m->dy, true, 0, blocks_of(c->k), m->scratch);
    k->conv->pack_transposed(c, m->wt, m->w, 0, blocks_of(c->c));
    k->conv->backward_data(c, m->dx, m->dy, m->wt, m->scratch);
}

static long differing(const float *a, const float *b, size_t n)
{
    long count = 0;

    for (size_t i = 0; i < n; i++)
        count += a[i] != b[i];
    return count;
}

static void test_shape(const struct conv *c, uint32_t seed)
{
    const struct kernels *plain = kernels_find("c");
    struct maps ref, got, fp32;

    maps_init(&ref, c, seed);
    maps_init(&fp32, c, seed);
    run_all(plain, c, &ref);
    fp32_all(plain, c, &fp32);
    CHECK_INT(differing(ref.y, fp32.y, conv_out_floats(c)), 0);
    CHECK_INT(differing(ref.dw, fp32.dw, conv_weight_floats(c)), 0);
    CHECK_INT(differing(ref.dx, fp32.dx, conv_in_floats(c)), 0);
    round_maps(plain, c, &ref);
    check_against_naive(c, &ref, seed);
    for (size_t i = 0; i < ARRAY_LEN(isas); i++) {
        const struct kernels *k = kernels_find(isas[i]);
        if (!k)
            continue;
        maps_init(&got, c, seed);
        run_all(k, c, &got);
        CHECK_BYTES(got.y, ref.y, conv_out_floats(c) * 4);
        CHECK_BYTES(got.dw, ref.dw, conv_weight_floats(c) * 4);
        CHECK_BYTES(got.dx, ref.dx, conv_in_floats(c) * 4);
        maps_release(&got);
    }
    maps_release(&ref);
    maps_release(&fp32);
}

/* The weight gradient goes on from what is there, and by blocks of outputs. */
static void test_parts(const struct kernels *k)
{
    const struct conv c = {.c = 33,
                           .h = 6,
                           .w = 7,
                           .k = 40,
                           .oh = 6,
                           .ow = 7,
                           .r = 3,
                           .s = 3,
                           .stride_h = 1,
                           .stride_w = 1,
                           .pad_t = 1,
                           .pad_l = 1};
    const size_t n = conv_weight_floats(&c);
    AUTO(auto_free) float *room = xaligned(conv_bf16_scratch_floats(&c) * sizeof *room);
    AUTO(auto_free) float *twice = xaligned(n * sizeof *twice);
    struct maps m;

    maps_init(&m, &c, 91);
    k->conv_bf16->backward_weights(&c, m.dw, m.x, m.dy, true, 0, 3, room);
    for (int ob = 0; ob < 3; ob++)
        k->conv_bf16->backward_weights(&c, twice, m.x, m.dy + (size_t)ob * 42 * 16, true, ob,
                                       ob + 1, room);
    CHECK_BYTES(twice, m.dw, n * sizeof *twice);
    k->conv_bf16->backward_weights(&c, twice, m.x, m.dy, false, 0, 3, room);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(twice[i], 2 * (double)m.dw[i], 2e-4);
    maps_release(&m);
}

int main(void)
{
    kernels_thread_init();
    for (size_t i = 0; i <= ARRAY_LEN(isas); i++) {
        const struct kernels *k = kernels_find(i < ARRAY_LEN(isas) ? isas[i] : "c");
        if (!k)
            continue;
        check_rounding(k);
        check_steps(k);
        test_parts(k);
    }
    test_anything();
    for (uint32_t seed = 10; seed < 60; seed++) {
        struct conv c = random_conv(seed);
        if (!c.plain)
            test_shape(&c, seed);
    }
    for (uint32_t seed = 100; seed < 140; seed++) {
        struct conv c = strided_conv(seed);
        test_shape(&c, seed);
    }
    return test_result();
}
