// LINK: worker/kernels common
// Convolution against a naive double-precision reference over random shapes, and every
// instruction set against plain C byte for byte; strided data gradients against their sum order.
#include <math.h>

#include "tests/unit/conv_case.h"

static void run_all(const struct kernels *k, const struct conv *c, struct maps *m)
{
    k->conv->forward(c, m->y, NULL, m->x, m->w, NULL, false, false, m->scratch);
    k->conv->backward_weights(c, m->dw, m->x, m->dy, true, 0, blocks_of(c->k), m->scratch);
    if (c->plain)
        return;
    k->conv->pack_transposed(c, m->wt, m->w, blocks_of(c->c) / 2, blocks_of(c->c));
    k->conv->pack_transposed(c, m->wt, m->w, 0, blocks_of(c->c) / 2);
    k->conv->backward_data(c, m->dx, m->dy, m->wt, m->scratch);
}

static void test_shape(const struct conv *c, uint32_t seed)
{
    struct maps ref, got;
    maps_init(&ref, c, seed);
    run_all(kernels_find("c"), c, &ref);
    check_against_naive(c, &ref, seed);
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        const struct kernels *k = kernels_find(*isa);
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
}

/* The sum order of a data gradient, one element at a time: s and r from the last, and only taps
 * that the stride hits. */
static float ordered_data_gradient(const struct conv *c, const float *w, const float *dy, int ch,
                                   int ih, int iw)
{
    float sum = 0;
    for (int i = 0; i < c->s * blocks_of(c->k) * c->r; i++) {
        int s = c->s - 1 - i / (blocks_of(c->k) * c->r), r = c->r - 1 - i % c->r;
        int ob = i / c->r % blocks_of(c->k), oh = ih + c->pad_t - r, ow = iw + c->pad_l - s;
        if (oh < 0 || ow < 0 || oh % c->stride_h || ow % c->stride_w || oh / c->stride_h >= c->oh ||
            ow / c->stride_w >= c->ow)
            continue;
        const float *y =
            dy + map_index(ob * 16, oh / c->stride_h, ow / c->stride_w, c->oh, c->ow, false);
        const float *wk = w + conv_weight_index(c, ob * 16, ch, r, s);
        for (int k = 0; k < 16; k++)
            sum = fmaf(wk[k], y[k], sum);
    }
    return sum;
}

static void scale(float *x, size_t n, float by)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

/* Every bit of a strided data gradient. With values of 1e-30 all products round to zeros of either
 * sign, so that of a sum the last tap's sign is left: padding multiplied instead of skipped shows.
 */
static void test_strided_bytes(const struct conv *c, uint32_t seed, float magnitude)
{
    const size_t floats = conv_in_floats(c);
    float *want = xaligned(floats * 4);
    struct maps m;

    maps_init(&m, c, seed);
    scale(m.w, conv_weight_floats(c), magnitude);
    scale(m.dy, conv_out_floats(c), magnitude);
    for (int i = 0; i < (int)floats; i++)
        want[i] = ordered_data_gradient(c, m.w, m.dy, i / (16 * c->h * c->w) * 16 + i % 16,
                                        i / (16 * c->w) % c->h, i / 16 % c->w);
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        const struct kernels *k = kernels_find(*isa);
        if (!k)
            continue;
        memset(m.dx, 0xA5, floats * 4);
        k->conv->pack_transposed(c, m.wt, m.w, 0, blocks_of(c->c));
        k->conv->backward_data(c, m.dx, m.dy, m.wt, m.scratch);
        CHECK_BYTES(m.dx, want, floats * 4);
    }
    maps_release(&m);
    free(want);
}

/* 1x1: rows are joined and pixels between those that are read left out, but not where some of the
 * outputs read padding. */
static void test_pointwise(void)
{
    for (uint32_t seed = 500; seed < 540; seed++) {
        struct conv c = strided_conv(seed);
        c.r = c.s = 1;
        c.stride_h = 1 + (int)(seed % 3);
        c.stride_w = 1 + (int)(seed / 3 % 3);
        if (seed % 4)
            c.pad_t = c.pad_l = 0;
        c.oh = (c.h + 2 * c.pad_t - 1) / c.stride_h + 1;
        c.ow = (c.w + 2 * c.pad_l - 1) / c.stride_w + 1;
        const struct conv joined = conv_joined(&c);
        CHECK_INT(joined.oh * joined.ow, c.oh * c.ow);
        CHECK(joined.ow >= c.ow && (joined.ow == c.ow || (joined.ow <= 64 && !c.pad_t)));
        test_shape(&c, seed);
    }
}

static void test_strided(void)
{
    const struct conv shortcut = {.c = 32,
                                  .h = 7,
                                  .w = 61,
                                  .k = 48,
                                  .oh = 4,
                                  .ow = 31,
                                  .r = 1,
                                  .s = 1,
                                  .stride_h = 2,
                                  .stride_w = 2};
    test_strided_bytes(&shortcut, 3, 1); /* three pixels of four have no tap */
    test_strided_bytes(&shortcut, 4, 1e-30F);
    for (uint32_t seed = 100; seed < 300; seed++) {
        struct conv c = strided_conv(seed);
        test_strided_bytes(&c, seed, seed % 4 ? 1 : 1e-30F);
    }
}

/* The fused form equals convolution, then 2x2 maximum, bias and ReLU; unpooling undoes it. */
static void test_fused(void)
{
    struct conv c = {.c = 20,
                     .h = 11,
                     .w = 14,
                     .k = 37,
                     .oh = 11,
                     .ow = 14,
                     .r = 3,
                     .s = 5,
                     .stride_h = 1,
                     .stride_w = 1,
                     .pad_t = 1,
                     .pad_l = 2};
    struct maps m;
    float bias[48] = {0}, pooled[3 * 5 * 7 * 16];
    fill_uniform(bias, 37, 5);
    maps_init(&m, &c, 77);
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        const struct kernels *k = kernels_find(*isa);
        if (!k)
            continue;
        k->conv->forward(&c, m.y, NULL, m.x, m.w, NULL, false, false, m.scratch);
        k->conv->forward(&c, pooled, m.argmax, m.x, m.w, bias, true, true, m.scratch);
        for (int i = 0; i < 37 * 5 * 7; i++) {
            int ch = i / 35, h = i / 7 % 5, w = i % 7, best = 0;
            float v[4];
            for (int q = 0; q < 4; q++) {
                v[q] = m.y[map_index(ch, 2 * h + q / 2, 2 * w + q % 2, 11, 14, false)];
                best = v[q] > v[best] ? q : best;
            }
            float want = v[best] + bias[ch];
            size_t at = map_index(ch, h, w, 5, 7, false);
            CHECK(pooled[at] == (want > 0 ? want : 0.0f));
            CHECK_INT(m.argmax[at], best);
        }
        float dy[3 * 5 * 7 * 16];
        fill_uniform(dy, ARRAY_LEN(dy), 9);
        k->pool->unpool2(m.dx, dy, pooled, m.argmax, 3, 11, 14);
        for (int i = 0; i < 37 * 11 * 14; i++) {
            int ch = i / 154, h = i / 14 % 11, w = i % 14;
            size_t at = map_index(ch, h / 2, w / 2, 5, 7, false);
            bool hit = h < 10 && m.argmax[at] == h % 2 * 2 + w % 2 && pooled[at] > 0;
            CHECK(m.dx[map_index(ch, h, w, 11, 14, false)] == (hit ? dy[at] : 0.0f));
        }
    }
    maps_release(&m);
}

int main(void)
{
    const struct conv conv1 = {.c = 1,
                               .h = 28,
                               .w = 28,
                               .k = 32,
                               .oh = 28,
                               .ow = 28,
                               .r = 5,
                               .s = 5,
                               .stride_h = 1,
                               .stride_w = 1,
                               .pad_t = 2,
                               .pad_l = 2,
                               .plain = true};
    const struct conv conv2 = {.c = 32,
                               .h = 14,
                               .w = 14,
                               .k = 64,
                               .oh = 14,
                               .ow = 14,
                               .r = 5,
                               .s = 5,
                               .stride_h = 1,
                               .stride_w = 1,
                               .pad_t = 2,
                               .pad_l = 2};
    kernels_thread_init();
    test_shape(&conv1, 1);
    test_shape(&conv2, 2);
    for (uint32_t seed = 10; seed < 60; seed++) {
        struct conv c = random_conv(seed);
        test_shape(&c, seed);
    }
    test_strided();
    test_pointwise();
    test_fused();
    return test_result();
}
