// LINK: worker/kernels common
// LIBS: -lopenblas
// Convolutions and dense layers beside OpenBLAS (im2col and sgemm), an independent implementation
// in another order: forward, data gradient and weight gradient within a relative tolerance.
#include <cblas.h>

#include "tests/test.h"
#include "tests/unit/fill.h"
#include "worker/kernels/kernels.h"

#define TOLERANCE 2e-6 /* of the largest value, times the root of the number of terms */

static void check_near(const char *what, const float *got, const float *want, size_t n,
                       size_t terms)
{
    double largest = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - (double)want[i]);
        largest = fabs((double)want[i]) > largest ? fabs((double)want[i]) : largest;
        worst = d > worst || isnan(d) ? d : worst;
    }
    CHECK(largest > 0);
    CHECK_NEAR(worst, 0, TOLERANCE * largest * sqrt((double)terms));
    if (!(worst <= TOLERANCE * largest * sqrt((double)terms)))
        fprintf(stderr, "  %s\n", what);
}

static float *filled(size_t n, uint32_t seed)
{
    float *x = xmalloc(n * sizeof *x);
    fill_uniform(x, n, seed);
    return x;
}

/* columns[c*R*S + r*S + s][oh*OW + ow]: the pixel under each tap, 0 outside. back: adds the columns
 * to the image instead. */
static void im2col(const struct conv *c, float *columns, float *image, bool back)
{
    const int pixels = c->oh * c->ow;
    for (int row = 0; row < c->c * c->r * c->s; row++) {
        int ch = row / (c->r * c->s), r = row / c->s % c->r, s = row % c->s;
        for (int i = 0; i < pixels; i++) {
            int h = i / c->ow * c->stride_h - c->pad_t + r;
            int w = i % c->ow * c->stride_w - c->pad_l + s;
            float *column = &columns[row * pixels + i];
            bool inside = h >= 0 && h < c->h && w >= 0 && w < c->w;
            if (back && inside)
                image[(ch * c->h + h) * c->w + w] += *column;
            else if (!back)
                *column = inside ? image[(ch * c->h + h) * c->w + w] : 0;
        }
    }
}

/* Plain [C][H*W] to blocks of 16 channels, or from them. */
static void block_map(float *blocked, float *plain, int channels, int pixels, bool from)
{
    for (int i = 0; i < channels * pixels; i++) {
        int c = i / pixels;
        float *b = &blocked[(c / 16 * pixels + i % pixels) * 16 + c % 16];
        *(from ? &plain[i] : b) = *(from ? b : &plain[i]);
    }
}

struct oracle_sample {
    float *x, *w, *bias, *dy;       /* plain */
    float *bx, *bw, *bt, *by, *bdx; /* blocked: input, weights, transposed weights, output */
    float *columns, *scratch, *bbias;
};

static void conv_forward_oracle(const struct conv *c, const struct oracle_sample *m, float *y)
{
    const int pixels = c->oh * c->ow, depth = c->c * c->r * c->s;
    for (int i = 0; i < c->k * pixels; i++)
        y[i] = m->bias[i / pixels];
    im2col(c, m->columns, m->x, false);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, c->k, pixels, depth, 1, m->w, depth,
                m->columns, pixels, 1, y, pixels);
}

static void check_forward(const struct kernels *k, const struct conv *c,
                          const struct oracle_sample *m)
{
    const int pixels = c->oh * c->ow;
    AUTO(auto_free) float *want = xmalloc((size_t)(c->k * pixels) * 4);
    AUTO(auto_free) float *got = xmalloc((size_t)(c->k * pixels) * 4);

    conv_forward_oracle(c, m, want);
    k->conv->forward(c, m->by, NULL, c->plain ? m->x : m->bx, m->bw, m->bbias, false, false,
                     m->scratch);
    block_map(m->by, got, c->k, pixels, true);
    check_near("convolution forward", got, want, (size_t)(c->k * pixels),
               (size_t)(c->c * c->r * c->s));
}

static void check_weights(const struct kernels *k, const struct conv *c,
                          const struct oracle_sample *m)
{
    const int pixels = c->oh * c->ow, depth = c->c * c->r * c->s;
    AUTO(auto_free) float *want = xmalloc((size_t)(c->k * depth) * 4);
    AUTO(auto_free) float *got = xmalloc((size_t)(c->k * depth) * 4);
    AUTO(auto_free) float *dw = xaligned(conv_weight_floats(c) * 4);

    im2col(c, m->columns, m->x, false);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, c->k, depth, pixels, 1, m->dy, pixels,
                m->columns, pixels, 0, want, depth);
    block_map(m->by, m->dy, c->k, pixels, false);
    k->conv->backward_weights(c, dw, c->plain ? m->x : m->bx, m->by, true, 0, blocks_of(c->k),
                              m->scratch);
    for (int i = 0; i < c->k * depth; i++)
        got[i] = dw[conv_weight_index(c, i / depth, i % depth / (c->r * c->s), i / c->s % c->r,
                                      i % c->s)];
    check_near("convolution weights", got, want, (size_t)(c->k * depth), (size_t)pixels);
}

static void check_data(const struct kernels *k, const struct conv *c, const struct oracle_sample *m)
{
    const int pixels = c->oh * c->ow, depth = c->c * c->r * c->s, inputs = c->c * c->h * c->w;
    AUTO(auto_free) float *want = xcalloc((size_t)inputs, 4);
    AUTO(auto_free) float *got = xmalloc((size_t)inputs * 4);

    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, depth, pixels, c->k, 1, m->w, depth, m->dy,
                pixels, 0, m->columns, pixels);
    im2col(c, m->columns, want, true);
    block_map(m->by, m->dy, c->k, pixels, false);
    k->conv->pack_transposed(c, m->bt, m->bw, 0, blocks_of(c->c));
    k->conv->backward_data(c, m->bdx, m->by, m->bt, m->scratch);
    block_map(m->bdx, got, c->c, c->h * c->w, true);
    check_near("convolution data", got, want, (size_t)inputs, (size_t)(c->k * c->r * c->s));
}

static void test_conv(const struct kernels *k, const struct conv *c, uint32_t seed)
{
    const struct conv back = conv_transposed(c);
    size_t pixels = (size_t)(c->oh * c->ow), depth = (size_t)(c->c * c->r * c->s);
    size_t weights = (size_t)c->k * depth, in = (size_t)(blocks_of(c->c) * 16 * c->h * c->w);
    struct oracle_sample m = {
        .x = filled((size_t)(c->c * c->h * c->w), seed),
        .w = filled(weights, seed + 1),
        .bias = filled((size_t)c->k, seed + 2),
        .dy = filled((size_t)c->k * pixels, seed + 3),
        .bx = xaligned(in * 4),
        .bw = xaligned(conv_weight_floats(c) * 4),
        .bt = xaligned(conv_weight_floats(&back) * 4),
        .by = xaligned(conv_out_floats(c) * 4),
        .bdx = xaligned(in * 4),
        .columns = xmalloc(depth * pixels * 4),
        .scratch = xaligned((conv_scratch_floats(c) + conv_scratch_floats(&back)) * 4),
        .bbias = xaligned((size_t)blocks_of(c->k) * 64),
    };
    block_map(m.bx, m.x, c->c, c->h * c->w, false);
    memcpy(m.bbias, m.bias, (size_t)c->k * 4);
    for (int i = 0; i < (int)weights; i++)
        m.bw[conv_weight_index(c, i / (int)depth, i % (int)depth / (c->r * c->s), i / c->s % c->r,
                               i % c->s)] = m.w[i];
    check_forward(k, c, &m);
    check_weights(k, c, &m);
    if (!c->plain)
        check_data(k, c, &m);
    void *all[] = {m.x,  m.w,  m.bias, m.dy,      m.bx,      m.bw,
                   m.bt, m.by, m.bdx,  m.columns, m.scratch, m.bbias};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

static int drawn(uint32_t seed, uint32_t i, int from, int to)
{
    return from + (int)(fill_u32(seed, i) % (uint32_t)(to - from + 1));
}

/* Same padding as net_build's. */
static int same(int size, int kernel, int stride, int *out)
{
    *out = (size + stride - 1) / stride;
    int total = (*out - 1) * stride + kernel - size;
    return total > 0 ? total / 2 : 0;
}

#define SMALL_FROM 60

static struct conv drawn_conv(uint32_t seed)
{
    struct conv c = {
        .c = drawn(seed, 0, 1, 40),
        .h = drawn(seed, 1, 5, 20),
        .w = drawn(seed, 2, 5, 34),
        .k = drawn(seed, 3, 1, 50),
        .r = drawn(seed, 4, 1, 5),
        .s = drawn(seed, 5, 1, 5),
        .stride_h = drawn(seed, 6, 1, 3),
        .stride_w = drawn(seed, 7, 1, 3),
        .plain = seed % 4 == 0,
    };
    if (seed % 2)
        c.stride_h = c.stride_w = 1;
    if (seed > SMALL_FROM) { /* some taps are in the padding wherever the window is */
        c.h = drawn(seed, 1, 1, 4);
        c.w = drawn(seed, 2, 1, 4);
    }
    if (seed % 3 || seed > SMALL_FROM) {
        c.pad_t = same(c.h, c.r, c.stride_h, &c.oh);
        c.pad_l = same(c.w, c.s, c.stride_w, &c.ow);
    } else {
        c.oh = (c.h - c.r) / c.stride_h + 1;
        c.ow = (c.w - c.s) / c.stride_w + 1;
    }
    return c;
}

struct batch_of {
    float *x, *w, *dy, *bias; /* plain: w is [out][in] */
    float *bw, *y, *dx, *dw, *packed, *scratch;
};

static void run_dense(const struct kernels *k, const struct dense *d, const struct batch_of *m,
                      int n)
{
    uint32_t ends[4];
    const struct lane_ends lanes = {.end = ends, .level = 2, .full = n >= 4};

    for (uint32_t i = 0; i < 4; i++)
        ends[i] = (i + 1) * (uint32_t)n / 4;
    k->dense->forward(d, m->y, m->x, m->bw, m->bias, false, n, 0, d->out / 16, m->scratch);
    k->dense->pack_lanes(d, m->packed, m->dy, n, &lanes);
    for (int chunk = 0; chunk < dense_chunks(d); chunk++) {
        k->dense->backward_data(d, chunk, m->dx, m->dy, m->bw, n, m->scratch);
        k->dense->backward_weights(d, chunk, m->dw + (size_t)chunk * DENSE_CHUNK * (size_t)d->out,
                                   m->x, m->packed, n, &lanes, m->scratch);
    }
}

static void test_dense(const struct kernels *k, int in, int out, int n, uint32_t seed)
{
    const struct dense d = {in, out};
    size_t fw = dense_forward_scratch(&d, n), bw = dense_backward_scratch(&d, n);
    size_t weights = (size_t)in * (size_t)out, rows = (size_t)n;
    struct batch_of m = {
        .x = filled(rows * (size_t)in, seed),
        .w = filled(weights, seed + 1),
        .dy = filled(rows * (size_t)out, seed + 2),
        .bias = filled((size_t)out, seed + 3),
        .bw = xaligned(weights * 4),
        .y = xaligned(rows * (size_t)out * 4),
        .dx = xaligned(rows * (size_t)in * 4),
        .dw = xaligned(weights * 4),
        .packed = xaligned(dense_lane_words(&d, n) * 4),
        .scratch = xaligned((fw > bw ? fw : bw) * 4),
    };
    AUTO(auto_free) float *want = xmalloc((weights + rows * (size_t)(in + out)) * 4);
    AUTO(auto_free) float *got = xmalloc(weights * 4);

    for (int i = 0; i < (int)weights; i++)
        m.bw[dense_weight_index(&d, i / in, i % in)] = m.w[i];
    run_dense(k, &d, &m, n);

    for (int i = 0; i < n * out; i++)
        want[i] = m.bias[i % out];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, out, in, 1, m.x, in, m.w, in, 1, want,
                out);
    check_near("dense forward", m.y, want, rows * (size_t)out, (size_t)in);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, in, out, 1, m.dy, out, m.w, in, 0,
                want, in);
    check_near("dense data", m.dx, want, rows * (size_t)in, (size_t)out);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, n, 1, m.dy, out, m.x, in, 0, want,
                in);
    for (int i = 0; i < (int)weights; i++)
        got[i] = m.dw[dense_weight_index(&d, i / in, i % in)];
    check_near("dense weights", got, want, weights, rows);
    void *all[] = {m.x, m.w, m.dy, m.bias, m.bw, m.y, m.dx, m.dw, m.packed, m.scratch};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

int main(void)
{
    static const struct conv fashion[] = {
        {1, 28, 28, 32, 28, 28, 5, 5, 1, 1, 2, 2, true},
        {32, 14, 14, 64, 14, 14, 5, 5, 1, 1, 2, 2, false},
    };
    const struct kernels *k = kernels_select(NULL);

    kernels_thread_init();
    openblas_set_num_threads(1);
    for (size_t i = 0; i < ARRAY_LEN(fashion); i++)
        test_conv(k, &fashion[i], 1000 + 10 * (uint32_t)i);
    for (uint32_t seed = 1; seed <= SMALL_FROM + 60; seed++) {
        struct conv c = drawn_conv(seed);
        test_conv(k, &c, 10 * seed);
        test_dense(k, 16 * drawn(seed, 8, 1, 20), 16 * drawn(seed, 9, 1, 12),
                   drawn(seed, 10, 1, 40), 10 * seed);
    }
    test_dense(k, 3136, 1024, 32, 1);
    test_dense(k, 16, 16, 200000, 2); /* squared, more than an int holds */
    return test_result();
}
