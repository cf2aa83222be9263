/* Maps and weights of convolutions to test kernels on, and shapes that do not fit each other. */
#ifndef PACELINE_TEST_CONV_MAPS_H
#define PACELINE_TEST_CONV_MAPS_H

#include "tests/test.h"
#include "tests/unit/fill.h"
#include "worker/kernels/kernels.h"

struct maps {
    float *x, *w, *y, *dy, *dx, *dw, *wt, *scratch;
    uint8_t *argmax;
};

static size_t map_index(int ch, int h, int w, int height, int width, bool plain)
{
    if (plain)
        return (size_t)((ch * height + h) * width + w);
    return (size_t)(((ch / 16) * height + h) * width + w) * 16 + (size_t)(ch % 16);
}

static void fill_map(float *x, int channels, int pixels, bool plain, uint32_t seed)
{
    if (plain) {
        fill_uniform(x, (size_t)(channels * pixels), seed);
        return;
    }
    for (int ch = 0; ch < channels; ch++) {
        for (int i = 0; i < pixels; i++)
            x[map_index(ch, 0, i, 1, pixels, false)] =
                fill_value(seed, (uint32_t)(ch * pixels + i));
    }
}

/* Strides, kernels, paddings and sizes that do not fit each other, at least one output pixel. */
static struct conv strided_conv(uint32_t seed)
{
    uint32_t i = 0;
#define PICK(n) (int)(fill_u32(seed, i++) % (uint32_t)(n))
    struct conv c = {0};
    c.c = 16 + PICK(33);
    c.k = 16 + PICK(33);
    c.r = 1 + PICK(7);
    c.s = 1 + PICK(7);
    c.stride_h = 1 + PICK(3);
    c.stride_w = c.stride_h == 1 ? 2 + PICK(2) : 1 + PICK(3);
    c.pad_t = PICK(4);
    c.pad_l = PICK(4);
    c.h = c.r + PICK(7);
    c.w = c.s + PICK(60);
    c.oh = (c.h + c.pad_t + PICK(4) - c.r) / c.stride_h + 1;
    c.ow = (c.w + c.pad_l + PICK(4) - c.s) / c.stride_w + 1;
#undef PICK
    return c;
}

static void maps_init(struct maps *m, const struct conv *c, uint32_t seed)
{
    const struct conv back = conv_transposed(c);

    m->x = xaligned(conv_in_floats(c) * 4);
    m->w = xaligned(conv_weight_floats(c) * 4);
    m->y = xaligned(conv_out_floats(c) * 4);
    m->dy = xaligned(conv_out_floats(c) * 4);
    m->dx = xaligned((conv_in_floats(c) + 16 * (size_t)(c->h * c->w)) * 4);
    m->dw = xaligned(conv_weight_floats(c) * 4);
    m->wt = xaligned((conv_weight_floats(c) + 256 * (size_t)(c->r * c->s * blocks_of(c->k))) * 4);
    m->scratch = xaligned((conv_scratch_floats(c) + conv_scratch_floats(&back)) * 4 +
                          conv_out_floats(c) * 64);
    m->argmax = xaligned(conv_out_floats(c));
    fill_map(m->x, c->c, c->h * c->w, c->plain, seed + 1);
    fill_map(m->dy, c->k, c->oh * c->ow, false, seed + 2);
    for (int i = 0; i < c->k * c->c * c->r * c->s; i++)
        m->w[conv_weight_index(c, i / (c->c * c->r * c->s), i / (c->r * c->s) % c->c,
                               i / c->s % c->r, i % c->s)] = fill_value(seed + 3, (uint32_t)i);
}

static void maps_release(struct maps *m)
{
    void *all[] = {m->x, m->w, m->y, m->dy, m->dx, m->dw, m->wt, m->scratch, m->argmax};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

#endif
