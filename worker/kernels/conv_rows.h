/*
 * The rows of sums of a convolution over a blocked map, and what becomes of them. A part of conv.c.
 */
#ifndef PACELINE_CONV_ROWS_H
#define PACELINE_CONV_ROWS_H

#include "worker/kernels/conv.h"
#include "worker/kernels/operand.h"

#define CLIP_MAX 3 /* columns that a tile may lose to padding on one side */

/* One output row's work: where its valid kernel rows start in x and w. */
struct row_work {
    const operand *x, *w; /* x: column 0 of the first valid row of block 0; w: its kernel row */
    size_t w_u;
    int rows;            /* valid kernel rows */
    size_t dst_u, dst_t; /* sums go to dst[u*dst_u + t*dst_t] */
};

/* How many elements of channel block cb to go through: those of channels that are there and one of
 * padding, which adds the zero that any further one adds, too. */
VINLINE int block_depth(const struct conv *c, int cb)
{
    const int each = VEC / DEPTH;
    return imin(DEPTH, (c->c - cb * VEC + each - 1) / each + 1);
}

/* Sums one kernel column over blocks, rows and channels into columns [lo, T - clip) of the tile. */
VINLINE void conv_column(const struct conv *c, int U, int T, int lo, int clip,
                         vf acc[TILE_U][TILE_T], const operand *w, size_t w_u, const operand *x,
                         int rows)
{
    const int blocks = blocks_of(c->c);
    const size_t x_t = (size_t)c->stride_w * DEPTH, x_row = (size_t)c->w * DEPTH;
    const size_t x_block = (size_t)c->h * x_row, w_block = (size_t)c->r * DEPTH * VEC;

    for (int cb = 0; cb < blocks; cb++) {
        const operand *wr = w + (size_t)cb * w_block, *xr = x + (size_t)cb * x_block;
        const int depth = block_depth(c, cb);
        for (int r = 0; r < rows; r++) {
            const operand *wk = wr, *end = wr + depth * VEC;
            for (const operand *xk = xr; wk < end; wk += VEC, xk++)
                operand_step(U, lo, T - clip, acc, wk, w_u, xk, T == 1 ? 0 : x_t);
            wr += DEPTH * VEC;
            xr += x_row;
        }
    }
}

/* Columns of the tile whose tap lies left and right of the image for kernel column s. */
VINLINE int clip_left(const struct conv *c, int T, int iw0)
{
    return imin(T, iw0 >= 0 ? 0 : (-iw0 + c->stride_w - 1) / c->stride_w);
}
VINLINE int clip_right(const struct conv *c, int T, int iw0)
{
    int last = iw0 + (T - 1) * c->stride_w - (c->w - 1);
    return imin(T, last <= 0 ? 0 : (last + c->stride_w - 1) / c->stride_w);
}

/* Whether each kernel column loses columns of the tile on one side only, and few. */
static bool tile_is_regular(const struct conv *c, int T, int ow0)
{
    for (int s = 0; s < c->s; s++) {
        int iw0 = ow0 * c->stride_w + s - c->pad_l;
        int left = clip_left(c, T, iw0), right = clip_right(c, T, iw0);
        if (left + right >= T)
            continue;
        if (left > CLIP_MAX || right > CLIP_MAX || (left && right))
            return false;
    }
    return true;
}

#define COLUMN(L, R)                                                       \
    case (L)*4 + (R):                                                      \
        if ((L) + (R) < T)                                                 \
            conv_column(&g, U, T, L, R, acc, w, work->w_u, x, work->rows); \
        break

/* The sums of T columns from ow0 of one output row. */
VINLINE void conv_tile(const struct conv *c, int U, int T, int stride, const struct row_work *work,
                       int ow0, float *dst)
{
    vf acc[TILE_U][TILE_T];
    struct conv g = *c;
    if (stride)
        g.stride_w = stride;
    const size_t w_s = (size_t)blocks_of(g.c) * (size_t)g.r * DEPTH * VEC;

    UNROLL for (int u = 0; u < U; u++) { UNROLL for (int t = 0; t < T; t++) acc[u][t] = vzero(); }
    for (int s = 0; s < g.s; s++) {
        int iw0 = ow0 * g.stride_w + s - g.pad_l;
        int left = clip_left(&g, T, iw0), right = clip_right(&g, T, iw0);
        const operand *w = work->w + (size_t)s * w_s;
        const operand *x = work->x + (ptrdiff_t)iw0 * DEPTH;
        if (left + right >= T)
            continue;
        switch (left * 4 + right) {
            COLUMN(0, 0);
            COLUMN(1, 0);
            COLUMN(2, 0);
            COLUMN(3, 0);
            COLUMN(0, 1);
            COLUMN(0, 2);
            COLUMN(0, 3);
        }
    }
    UNROLL for (int u = 0; u < U; u++)
    {
        UNROLL for (int t = 0; t < T; t++)
            vstore(dst + (size_t)u * work->dst_u + (size_t)t * work->dst_t, acc[u][t]);
    }
}

typedef void conv_tile_fn(const struct conv *c, const struct row_work *work, int ow0, float *dst);
#define CONV_FN(U, T)                                                                           \
    static void conv_tile_##U##_##T(const struct conv *c, const struct row_work *work, int ow0, \
                                    float *dst)                                                 \
    {                                                                                           \
        conv_tile(c, U, T, 1, work, ow0, dst);                                                  \
    }
#define CONV_ENTRY(U, T) conv_tile_##U##_##T,

TILE_FUNCTIONS(CONV_FN)
static conv_tile_fn *const conv_tile_fns[TILE_U][TILE_T] = TILE_TABLE(CONV_ENTRY);

/* Any stride, four columns at most. */
static void conv_tile_strided(const struct conv *c, int n_u, const struct row_work *work, int ow0,
                              int n_t, float *dst)
{
    for (int u = 0; u < n_u; u++) {
        struct row_work one = *work;
        one.w += (size_t)u * work->w_u;
        float *to = dst + (size_t)u * work->dst_u;
        if (n_t == 4 && tile_is_regular(c, 4, ow0)) {
            conv_tile(c, 1, 4, 0, &one, ow0, to);
            continue;
        }
        for (int t = 0; t < n_t; t++)
            conv_tile(c, 1, 1, 0, &one, ow0 + t, to + (size_t)t * work->dst_t);
    }
}

static void conv_columns(const struct conv *c, int n_u, const struct row_work *work, int ow0,
                         int n_t, float *dst)
{
    if (c->stride_w != 1) {
        for (int t = 0; t < n_t; t += 4)
            conv_tile_strided(c, n_u, work, ow0 + t, imin(4, n_t - t),
                              dst + (size_t)t * work->dst_t);
    } else if (tile_is_regular(c, n_t, ow0)) {
        conv_tile_fns[n_u - 1][n_t - 1](c, work, ow0, dst);
    } else {
        for (int t = 0; t < n_t; t++)
            conv_tile_fns[n_u - 1][0](c, work, ow0 + t, dst + (size_t)t * work->dst_t);
    }
}

/* The raw sums of one output row of blocks ob .. ob+n_u: dst[u*dst_u + ow*dst_t]. */
static void conv_row_blocked(const struct conv *c, const operand *x, const operand *w, int ob,
                             int n_u, int oh, float *dst, size_t dst_u, size_t dst_t)
{
    const size_t block = conv_weight_block(c) / VEC * DEPTH;
    int ih0 = oh * c->stride_h - c->pad_t;
    int r0 = imax(0, -ih0), r1 = imin(c->r, c->h - ih0);
    struct row_work work = {
        .x = x + (ptrdiff_t)(ih0 + r0) * c->w * DEPTH,
        .w = w + (size_t)ob * block + (size_t)r0 * DEPTH * VEC,
        .w_u = block,
        .rows = imax(0, r1 - r0),
        .dst_u = dst_u,
        .dst_t = dst_t,
    };
    int pieces = piece_count(c->ow, TILE_T);
    for (int i = 0; i < pieces; i++) {
        int t0 = piece_begin(c->ow, pieces, i), t1 = piece_begin(c->ow, pieces, i + 1);
        conv_columns(c, n_u, &work, t0, t1 - t0, dst + (size_t)t0 * dst_t);
    }
}

/* y = sum + bias, ReLU: one row of ow pixels. */
VINLINE void finish_row(float *y, const float *sums, int ow, vf bias, bool relu)
{
    for (int i = 0; i < ow; i++) {
        vf v = vadd(vload(sums + i * VEC), bias);
        vstore(y + i * VEC, relu ? vmax(v, vzero()) : v);
    }
}

/* The maximum of 2x2 sums and its place, then bias and ReLU: ow/2 pixels from two rows. */
VINLINE void finish_pooled(float *y, uint8_t *argmax, const float *sums, int ow, vf bias, bool relu)
{
    const float *second = sums + (size_t)ow * VEC;
    for (int i = 0; i < ow / 2; i++) {
        const float *from[4] = {sums + 2 * i * VEC, sums + (2 * i + 1) * VEC, second + 2 * i * VEC,
                                second + (2 * i + 1) * VEC};
        vf best = vload(from[0]);
        vi place = viset1(0);
        UNROLL for (uint32_t q = 1; q < 4; q++)
        {
            vf v = vload(from[q]);
            vm greater = vgt(v, best);
            best = vsel(greater, v, best);
            place = vfbits(vsel(greater, vbits(viset1(q)), vbits(place)));
        }
        best = vadd(best, bias);
        vstore(y + i * VEC, relu ? vmax(best, vzero()) : best);
        uint32_t places[VEC];
        vistore(places, place);
        for (int l = 0; l < VEC; l++)
            argmax[i * VEC + l] = (uint8_t)places[l];
    }
}

/* y (and argmax, where pooled) of blocks ob .. ob+n_u from the sums of one row, or of the two that
 * are pooled: dst[u*dst_u + row*ow*16]. */
static void finish_rows(const struct conv *c, float *y, uint8_t *argmax, const float *sums,
                        size_t dst_u, const float *bias, bool relu, bool pool, int ob, int n_u,
                        int oh)
{
    const int step = pool ? 2 : 1;
    const size_t y_row = (size_t)(c->ow / step) * VEC, y_block = y_row * (size_t)(c->oh / step);

    for (int u = 0; u < n_u; u++) {
        size_t at = (size_t)(ob + u) * y_block + (size_t)(oh / step) * y_row;
        vf b = bias ? vload(bias + (ob + u) * VEC) : vzero();
        if (pool)
            finish_pooled(y + at, argmax + at, sums + (size_t)u * dst_u, c->ow, b, relu);
        else
            finish_row(y + at, sums + (size_t)u * dst_u, c->ow, b, relu);
    }
}

/* dx of a tile's blocks from cb, from transposed weights: row by row, so that what the phases write
 * between each other's pixels is still in the cache. */
static void data_blocks(const struct conv *c, float *dx, const operand *dy, const operand *wt,
                        int cb)
{
    const int n_u = imin(TILE_U, blocks_of(c->c) - cb);
    const size_t row = (size_t)c->w * VEC, block = (size_t)c->h * row;
    const bool gaps = c->r < c->stride_h || c->s < c->stride_w; /* pixels that no tap meets */

    for (int ih = 0; ih < c->h; ih++) {
        float *to = dx + (size_t)cb * block + (size_t)ih * row;
        for (int u = 0; gaps && u < n_u; u++)
            memset(to + (size_t)u * block, 0, sizeof(float) * row);
        for (int iw0 = 0; iw0 < imin(c->w, c->stride_w); iw0++) {
            size_t at;
            const struct conv phase = conv_phase(c, ih % c->stride_h, iw0, &at);
            if (phase.r)
                conv_row_blocked(&phase, dy, wt + at / VEC * DEPTH, cb, n_u, ih / c->stride_h,
                                 to + iw0 * VEC, block, (size_t)c->stride_w * VEC);
        }
    }
}

/* The taps of one phase of the data gradient, last to first, inputs and outputs exchanged; of
 * blocks [cb0, cb1) of inputs. */
static void turn_phase(const struct conv *c, operand *wt, const float *w, int ih0, int iw0, int cb0,
                       int cb1)
{
    size_t start;
    const struct conv p = conv_phase(c, ih0, iw0, &start);
    const int r0 = (ih0 + c->pad_t) % c->stride_h, s0 = (iw0 + c->pad_l) % c->stride_w;
    const int cb = cb1 - cb0, taps = p.r * p.s;

    for (int i = 0; i < blocks_of(c->k) * cb * taps; i++) {
        const int ob = i / (cb * taps), ib = cb0 + i / taps % cb, r = i % taps / p.s, s = i % p.s;
        const size_t at =
            start + conv_weight_index(&p, ib * VEC, ob * VEC, p.r - 1 - r, p.s - 1 - s);
        operand_turn(wt + at / VEC * DEPTH,
                     w + conv_weight_index(c, ob * VEC, ib * VEC, r0 + r * c->stride_h,
                                           s0 + s * c->stride_w));
    }
}

static void turn_weights(const struct conv *c, void *wt, const float *w, int cb0, int cb1)
{
    for (int ih0 = 0; ih0 < imin(c->h, c->stride_h); ih0++) {
        for (int iw0 = 0; iw0 < imin(c->w, c->stride_w); iw0++)
            turn_phase(c, wt, w, ih0, iw0, cb0, cb1);
    }
}

#endif
