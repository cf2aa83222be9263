/*
 * Rows of few pixels: several samples side by side fill the register tile that a row of one cannot.
 * A part of conv.c.
 */
#ifndef PACELINE_CONV_SAMPLES_H
#define PACELINE_CONV_SAMPLES_H

#include "worker/kernels/conv_rows.h"

/* One output pixel's work, of n samples side by side. */
struct samples_work {
    const operand *x, *w; /* of the first valid tap */
    int n;
    int rows, columns; /* valid taps */
    size_t dst_u, dst_t;
};

/* The sums of one output pixel for T samples that lie side by side: no tap of it is padding. */
VINLINE void samples_tile(const struct conv *c, int U, int T, const struct samples_work *work,
                          int t0, float *dst)
{
    vf acc[TILE_U][TILE_T];
    struct conv g = *c;
    g.stride_w = 1;
    g.w *= work->n;
    const size_t w_s = (size_t)blocks_of(g.c) * (size_t)g.r * DEPTH * VEC;

    UNROLL for (int u = 0; u < U; u++) { UNROLL for (int t = 0; t < T; t++) acc[u][t] = vzero(); }
    for (int s = 0; s < work->columns; s++)
        conv_column(&g, U, T, 0, 0, acc, work->w + (size_t)s * w_s,
                    conv_weight_block(&g) / VEC * DEPTH,
                    work->x + (size_t)(s * work->n + t0) * DEPTH, work->rows);
    UNROLL for (int u = 0; u < U; u++)
    {
        UNROLL for (int t = 0; t < T; t++)
            vstore(dst + (size_t)u * work->dst_u + (size_t)t * work->dst_t, acc[u][t]);
    }
}

typedef void samples_fn(const struct conv *c, const struct samples_work *work, int t0, float *dst);
#define SAMPLES_FN(U, T)                                                                         \
    static void samples_##U##_##T(const struct conv *c, const struct samples_work *work, int t0, \
                                  float *dst)                                                    \
    {                                                                                            \
        samples_tile(c, U, T, work, t0, dst);                                                    \
    }
#define SAMPLES_ENTRY(U, T) samples_##U##_##T,

TILE_FUNCTIONS(SAMPLES_FN)
static samples_fn *const samples_fns[TILE_U][TILE_T] = TILE_TABLE(SAMPLES_ENTRY);

/* [C/16][H][W][n][16] of n samples [C/16][H][W][16], one after another. */
static void samples_beside(const struct conv *c, int n, operand *to, const float *x)
{
    const size_t floats = conv_in_floats(c);
    for (size_t i = 0; i < floats; i += VEC) {
        for (int t = 0; t < n; t++, to += DEPTH)
            operand_channels(to, vload(x + (size_t)t * floats + i));
    }
}

/* The raw sums of pixel (oh, ow), blocks ob .. ob+n_u, of all samples: to dst[u*dst_u + t*dst_t].
 */
static void samples_pixel(const struct conv *c, int n, const operand *x, const operand *w, int ob,
                          int n_u, int oh, int ow, float *dst, size_t dst_u, size_t dst_t)
{
    const int ih0 = oh * c->stride_h - c->pad_t, iw0 = ow * c->stride_w - c->pad_l;
    const int r0 = imax(0, -ih0), r1 = imin(c->r, c->h - ih0);
    const int s0 = imax(0, -iw0), s1 = imin(c->s, c->w - iw0);
    const struct samples_work work = {
        .x = x + ((ptrdiff_t)(ih0 + r0) * c->w + iw0 + s0) * n * DEPTH,
        .w = w + ((size_t)ob * (conv_weight_block(c) / VEC) +
                  (size_t)((s0 * blocks_of(c->c)) * c->r + r0) * VEC) *
                     DEPTH,
        .n = n,
        .rows = imax(0, r1 - r0),
        .columns = imax(0, s1 - s0),
        .dst_u = dst_u,
        .dst_t = dst_t,
    };
    const int pieces = piece_count(n, TILE_T);
    for (int i = 0; i < pieces; i++) {
        int t0 = piece_begin(n, pieces, i), t1 = piece_begin(n, pieces, i + 1);
        samples_fns[n_u - 1][t1 - t0 - 1](c, &work, t0, dst + (size_t)t0 * dst_t);
    }
}

/* The raw sums of blocks ob .. ob+n_u, in their places of y and of dx. */
static __attribute__((noinline)) void samples_sums(const struct conv *c, int n, float *y,
                                                   const operand *x, const operand *w, int ob,
                                                   int n_u)
{
    const int pixels = c->oh * c->ow;

    for (int i = 0; i < pixels; i++)
        samples_pixel(c, n, x, w, ob, n_u, i / c->ow, i % c->ow,
                      y + (size_t)(ob * pixels + i) * VEC, (size_t)pixels * VEC,
                      conv_out_floats(c));
}
static __attribute__((noinline)) void samples_data(const struct conv *c, int n, float *dx,
                                                   const operand *dy, const operand *wt, int cb,
                                                   int n_u)
{
    const int pixels = c->h * c->w;

    for (int i = 0; i < pixels; i++) {
        const int ih = i / c->w, iw = i % c->w;
        size_t at;
        const struct conv phase = conv_phase(c, ih % c->stride_h, iw % c->stride_w, &at);
        samples_pixel(&phase, n, dy, wt + at / VEC * DEPTH, cb, n_u, ih / c->stride_h,
                      iw / c->stride_w, dx + (size_t)(cb * pixels + i) * VEC, (size_t)pixels * VEC,
                      conv_in_floats(c));
    }
}

static void conv_forward_samples(const struct conv *c, int n, float *y, const float *x,
                                 const void *w, const float *bias, bool relu, float *scratch)
{
    const int blocks = blocks_of(c->k), pixels = c->oh * c->ow;
    operand *beside = (operand *)scratch;

    samples_beside(c, n, beside, x);
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        const int n_u = imin(TILE_U, blocks - ob);
        const unsigned before = flush_begin();
        samples_sums(c, n, y, beside, w, ob, n_u);
        flush_end(before);
        for (int i = 0; i < n_u * n; i++) {
            float *to = y + (size_t)(i / n_u) * conv_out_floats(c) +
                        (size_t)((ob + i % n_u) * pixels) * VEC;
            vf b = bias ? vload(bias + (ob + i % n_u) * VEC) : vzero();
            finish_row(to, to, pixels, b, relu);
        }
    }
}

static void conv_backward_data_samples(const struct conv *c, int n, float *dx, const float *dy,
                                       const void *wt, float *scratch)
{
    const struct conv back = conv_transposed(c);
    const int blocks = blocks_of(c->c);
    operand *beside = (operand *)scratch;

    samples_beside(&back, n, beside, dy);
    for (int cb = 0; cb < blocks; cb += TILE_U) {
        const unsigned before = flush_begin();
        samples_data(c, n, dx, beside, wt, cb, imin(TILE_U, blocks - cb));
        flush_end(before);
    }
    if (c->stride_h == 1 && c->stride_w == 1) /* forward adds +0 where there is no bias */
        finish_row(dx, dx, (int)(conv_in_floats(c) / VEC) * n, vzero(), false);
}

#endif
