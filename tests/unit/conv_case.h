/* Convolutions to test kernels on: random shapes, and what is right in double precision. */
#ifndef PACELINE_TEST_CONV_CASE_H
#define PACELINE_TEST_CONV_CASE_H

#include "tests/unit/conv_maps.h"

static double tap(const struct conv *c, const float *x, int ch, int ih, int iw)
{
    if (ih < 0 || iw < 0 || ih >= c->h || iw >= c->w)
        return 0;
    return x[map_index(ch, ih, iw, c->h, c->w, c->plain)];
}

static double naive_forward(const struct conv *c, const float *x, const float *w, int k, int oh,
                            int ow)
{
    double sum = 0;
    for (int i = 0; i < c->c * c->r * c->s; i++) {
        int ch = i / (c->r * c->s), r = i / c->s % c->r, s = i % c->s;
        sum += tap(c, x, ch, oh * c->stride_h + r - c->pad_t, ow * c->stride_w + s - c->pad_l) *
               (double)w[conv_weight_index(c, k, ch, r, s)];
    }
    return sum;
}

static double naive_weight_gradient(const struct conv *c, const float *x, const float *dy, int k,
                                    int ch, int r, int s)
{
    double sum = 0;
    for (int i = 0; i < c->oh * c->ow; i++) {
        int oh = i / c->ow, ow = i % c->ow;
        sum += tap(c, x, ch, oh * c->stride_h + r - c->pad_t, ow * c->stride_w + s - c->pad_l) *
               (double)dy[map_index(k, oh, ow, c->oh, c->ow, false)];
    }
    return sum;
}

static double naive_data_gradient(const struct conv *c, const float *w, const float *dy, int ch,
                                  int ih, int iw)
{
    double sum = 0;
    for (int i = 0; i < c->k * c->r * c->s; i++) {
        int k = i / (c->r * c->s), r = i / c->s % c->r, s = i % c->s;
        int oh = ih + c->pad_t - r, ow = iw + c->pad_l - s;
        if (oh < 0 || ow < 0 || oh % c->stride_h || ow % c->stride_w || oh / c->stride_h >= c->oh ||
            ow / c->stride_w >= c->ow)
            continue;
        sum += dy[map_index(k, oh / c->stride_h, ow / c->stride_w, c->oh, c->ow, false)] *
               (double)w[conv_weight_index(c, k, ch, r, s)];
    }
    return sum;
}

static struct conv random_conv(uint32_t seed)
{
    uint32_t i = 0;
#define PICK(n) (int)(fill_u32(seed, i++) % (uint32_t)(n))
    struct conv c = {0};
    c.c = 1 + PICK(40);
    c.k = 1 + PICK(70);
    c.r = 1 + PICK(6);
    c.s = 1 + PICK(6);
    c.plain = PICK(3) == 0;
    if (c.plain)
        c.c = 1 + PICK(4);
    c.stride_h = c.stride_w = PICK(4) == 0 ? 2 + PICK(2) : 1;
    c.h = c.r + PICK(20);
    c.w = c.s + PICK(34);
    if (PICK(2)) {
        c.oh = (c.h + c.stride_h - 1) / c.stride_h;
        c.ow = (c.w + c.stride_w - 1) / c.stride_w;
        int over_h = (c.oh - 1) * c.stride_h + c.r - c.h,
            over_w = (c.ow - 1) * c.stride_w + c.s - c.w;
        c.pad_t = over_h > 0 ? over_h / 2 : 0;
        c.pad_l = over_w > 0 ? over_w / 2 : 0;
    } else {
        c.oh = (c.h - c.r) / c.stride_h + 1;
        c.ow = (c.w - c.s) / c.stride_w + 1;
    }
#undef PICK
    return c;
}

static void check_against_naive(const struct conv *c, const struct maps *m, uint32_t seed)
{
    for (uint32_t i = 0; i < 40; i++) {
        int k = (int)(fill_u32(seed, i) % (uint32_t)c->k),
            ch = (int)(fill_u32(seed, i + 100) % (uint32_t)c->c);
        int oh = (int)(fill_u32(seed, i + 200) % (uint32_t)c->oh),
            ow = (int)(fill_u32(seed, i + 300) % (uint32_t)c->ow);
        int r = (int)(fill_u32(seed, i + 400) % (uint32_t)c->r),
            s = (int)(fill_u32(seed, i + 500) % (uint32_t)c->s);
        int ih = (int)(fill_u32(seed, i + 600) % (uint32_t)c->h),
            iw = (int)(fill_u32(seed, i + 700) % (uint32_t)c->w);
        CHECK_NEAR(m->y[map_index(k, oh, ow, c->oh, c->ow, false)],
                   naive_forward(c, m->x, m->w, k, oh, ow), 2e-4);
        CHECK_NEAR(m->dw[conv_weight_index(c, k, ch, r, s)],
                   naive_weight_gradient(c, m->x, m->dy, k, ch, r, s), 2e-4);
        if (!c->plain)
            CHECK_NEAR(m->dx[map_index(ch, ih, iw, c->h, c->w, false)],
                       naive_data_gradient(c, m->w, m->dy, ch, ih, iw), 2e-4);
    }
}

#endif
