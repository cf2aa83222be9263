// LINK: worker/kernels common
// Dense layers in bf16: in the promised sum order on rounded operands, exactly; and the same bytes
// on every instruction set, the CPU's own products of bf16 too.
#include <math.h>

#include "tests/test.h"
#include "tests/unit/fill.h"
#include "worker/kernels/kernels.h"

static const char *const isas[] = {"c", "avx2", "avx512", "avx512bf16", "neon"};

struct bf16_mats {
    float *x, *w, *bias, *dy, *y, *dx, *kept_dx,
        *dw; /* bias: NULL where n is a multiple of three */
};

static void mats_init(struct bf16_mats *m, const struct dense *d, int n, uint32_t seed)
{
    const size_t in = (size_t)n * (size_t)d->in, out = (size_t)n * (size_t)d->out;
    const size_t all = (size_t)d->in * (size_t)d->out;

    *m = (struct bf16_mats){.x = xaligned(in * 4),
                            .w = xaligned(all * 4),
                            .bias = n % 3 ? xaligned((size_t)d->out * 4) : NULL,
                            .dy = xaligned(out * 4),
                            .y = xaligned(out * 4),
                            .dx = xaligned(in * 4),
                            .kept_dx = xaligned(in * 4),
                            .dw = xaligned(all * 4)};
    fill_uniform(m->x, in, seed);
    fill_uniform(m->w, all, seed + 1);
    if (m->bias)
        fill_uniform(m->bias, (size_t)d->out, seed + 2);
    fill_uniform(m->dy, out, seed + 3);
    memset(m->dw, 0, all * 4); /* a block without samples writes nothing */
}

static void mats_release(struct bf16_mats *m)
{
    float *all[] = {m->x, m->w, m->bias, m->dy, m->y, m->dx, m->kept_dx, m->dw};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

/* Weights and rows by parts, outputs by halves, as threads do; what was in scratch is NaN. */
static void run_all(const struct kernels *k, const struct dense *d, struct bf16_mats *m, int n,
                    const struct lane_ends *lanes)
{
    const struct dense_kernels *b = k->dense_bf16;
    const size_t room = dense_bf16_scratch_floats(d, n), words = dense_bf16_weight_words(d);
    const int half = d->out / 32, part = dense_chunks(d) / 2;
    AUTO(auto_free) float *scratch = xaligned(room * 4);
    AUTO(auto_free) uint32_t *packed = xaligned(words * 4);
    const size_t row_words = dense_bf16_row_words(n, d->in > d->out ? d->in : d->out);
    AUTO(auto_free) uint32_t *rows = xaligned(row_words * 4);
    AUTO(auto_free) uint32_t *dy = xaligned(dense_lane_words(d, n) * 4);

    memset(scratch, 0xFF, room * 4);
    b->pack(d, packed, m->w, part, dense_chunks(d));
    b->pack(d, packed, m->w, 0, part);
    memset(rows, 0xFF, row_words * 4);
    for (int i = 2; i >= 0; i--)
        b->pack_rows(rows, m->x, n, d->in, d->in / 16 * i / 3 * 16, d->in / 16 * (i + 1) / 3 * 16);
    b->forward(d, m->y, rows, packed, m->bias, true, n, half, d->out / 16, scratch);
    b->forward(d, m->y, rows, packed, m->bias, true, n, 0, half, scratch);
    memset(rows, 0xFF, row_words * 4);
    memset(scratch, 0xFF, room * 4);
    b->pack_rows(rows, m->dy, n, d->out, 0, half * 16);
    b->pack_rows(rows, m->dy, n, d->out, half * 16, d->out);
    for (int c = 0; c < dense_chunks(d); c++)
        b->backward_data(d, c, m->dx, rows, m->w, n, scratch);
    memset(packed, 0xFF, words * 4);
    memset(scratch, 0xFF, room * 4);
    for (int c = dense_chunks(d); c-- > 0;) /* all of them, before any is read */
        b->keep_chunk(d, c, packed, m->w);
    for (int c = 0; c < dense_chunks(d); c++)
        b->backward_kept(d, c, m->kept_dx, rows, packed, n, scratch);
    CHECK_BYTES(m->kept_dx, m->dx, (size_t)(n * d->in) * 4);
    memset(dy, 0xFF, dense_lane_words(d, n) * 4);
    memset(scratch, 0xFF, room * 4);
    b->pack_lanes(d, dy, m->dy, n, lanes);
    for (int c = 0; c < dense_chunks(d); c++)
        b->backward_weights(d, c, m->dw + (size_t)c * DENSE_CHUNK * (size_t)d->out, m->x, dy, n,
                            lanes, scratch);
}

/* A pair whose second value is +0 has the bits of the first one, rounded. */
static void round_all(float *x, size_t n)
{
    AUTO(auto_free) uint32_t *pairs = xaligned(n * 4);

    kernels_find("c")->product_bf16->pairs(pairs, x, NULL, n);
    memcpy(x, pairs, n * 4);
}

/* The promised order of one weight's gradient: fma in a lane, lanes left + right. */
static bool tree(const struct dense *d, const struct bf16_mats *m, const struct lane_ends *l,
                 uint32_t first, int level, int out, int in, float *sum)
{
    const uint32_t begin = first ? l->end[first - 1] : 0;
    float right;

    if (level == 0) {
        *sum = 0;
        for (uint32_t i = l->begin + begin; i < l->begin + l->end[first]; i++)
            *sum = fmaf(m->dy[i * (size_t)d->out + (size_t)out],
                        m->x[i * (size_t)d->in + (size_t)in], *sum);
        return begin < l->end[first];
    }
    const uint32_t half = 1u << (level - 1);
    if (!tree(d, m, l, first, level - 1, out, in, sum))
        return tree(d, m, l, first + half, level - 1, out, in, sum);
    if (tree(d, m, l, first + half, level - 1, out, in, &right))
        *sum = *sum + right;
    return true;
}

/* m's operands are rounded. */
static void check_elements(const struct dense *d, const struct bf16_mats *m, int n,
                           const struct lane_ends *l, uint32_t seed)
{
    for (uint32_t i = 0; i < 60; i++) {
        const int in = (int)(fill_u32(seed, i) % (uint32_t)d->in);
        const int out = (int)(fill_u32(seed, i + 100) % (uint32_t)d->out);
        const int b = (int)(fill_u32(seed, i + 200) % (uint32_t)n);
        float y = 0, dx = 0, dw;

        for (int k = 0; k < d->in; k++)
            y = fmaf(m->w[dense_weight_index(d, out, k)], m->x[b * d->in + k], y);
        if (m->bias)
            y += m->bias[out];
        for (int k = 0; k < d->out; k++)
            dx = fmaf(m->w[dense_weight_index(d, k, in)], m->dy[b * d->out + k], dx);
        CHECK(m->y[b * d->out + out] == (y > 0 ? y : 0.0f));
        CHECK(m->dx[b * d->in + in] == dx);
        if (tree(d, m, l, 0, l->level, out, in, &dw))
            CHECK(m->dw[dense_weight_index(d, out, in)] == dw);
    }
}

static long subnormals; /* of weight gradients, in all */

static long count_subnormal(const float *x, size_t n)
{
    long count = 0;

    for (size_t i = 0; i < n; i++)
        count += fpclassify(x[i]) == FP_SUBNORMAL;
    return count;
}

/* Products and sums about the smallest that are not subnormal, lanes that cancel among them. */
static void make_tiny(struct bf16_mats *m, const struct dense *d, int n)
{
    for (int i = 0; i < n * d->in; i++)
        m->x[i] *= 0x1p-70F;
    for (int i = 0; i < n * d->out; i++)
        m->dy[i] *= 0x1p-55F;
    for (int i = 0; i < d->in * d->out; i++)
        m->w[i] *= 0x1p-55F;
}

static void test_size(bool tiny, int in, int out, int n, int level, uint32_t samples, uint32_t seed)
{
    const struct dense d = {in, out};
    /* by twos a lane can be -0, which an empty one beside it must leave as it is */
    const uint32_t lanes = 1u << level, each = tiny ? 2 : 1, groups = samples / each;
    uint32_t end[64];
    const struct lane_ends l = {
        .begin = (uint32_t)n - samples, .end = end, .level = level, .full = groups >= lanes};
    struct bf16_mats ref, got;

    for (uint32_t i = 0; i < lanes; i++)
        end[i] = (i + 1) * groups / lanes * each;
    mats_init(&ref, &d, n, seed);
    if (tiny)
        make_tiny(&ref, &d, n);
    run_all(kernels_find("c"), &d, &ref, n, &l);
    for (size_t i = 1; i < ARRAY_LEN(isas); i++) {
        const struct kernels *k = kernels_find(isas[i]);
        if (!k)
            continue;
        mats_init(&got, &d, n, seed);
        if (tiny)
            make_tiny(&got, &d, n);
        run_all(k, &d, &got, n, &l);
        CHECK_BYTES(got.y, ref.y, (size_t)(n * out) * 4);
        CHECK_BYTES(got.dx, ref.dx, (size_t)(n * in) * 4);
        CHECK_BYTES(got.dw, ref.dw, (size_t)(in * out) * 4);
        mats_release(&got);
    }
    subnormals += count_subnormal(ref.dw, (size_t)(in * out));
    if (tiny) { /* these sums are no fused multiply-adds that check_elements could do */
        mats_release(&ref);
        return;
    }
    round_all(ref.x, (size_t)(n * in));
    round_all(ref.w, (size_t)(in * out));
    round_all(ref.dy, (size_t)(n * out));
    check_elements(&d, &ref, n, &l, seed);
    mats_release(&ref);
}

int main(void)
{
    kernels_thread_init();
    test_size(false, 784, 128, 16, 2, 16, 1);
    test_size(false, 1568, 64, 31, 3, 29, 2);
    test_size(false, 64, 16, 1, 0, 1, 3);
    test_size(false, 80, 48, 5, 3, 3, 4); /* empty lanes */
    for (uint32_t s = 10; s < 40; s++) {
        const int level = (int)(fill_u32(s, 0) % 5), n = 1 + (int)(fill_u32(s, 1) % 40);

        test_size(s % 3 == 0, 16 * (1 + (int)(fill_u32(s, 2) % 20)),
                  16 * (1 + (int)(fill_u32(s, 3) % 12)), n, level, 1 + fill_u32(s, 4) % (uint32_t)n,
                  s);
    }
    CHECK(subnormals > 100); /* what lanes add up to may be, while a lane's own sum is not */
    return test_result();
}
