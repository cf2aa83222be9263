// LINK: worker/kernels common
// Pooling beside its definition, over ties, NaN and windows that reach over the edge: the first of
// equal values wins and alone gets the gradient, padding never takes part, means are over the taps
// inside. The same bytes on every instruction set.
#include "tests/test.h"
#include "tests/unit/fill.h"
#include "worker/kernels/kernels.h"

#define VALUES 4096
#define LANES_OF_A_VECTOR 16

/* One channel as the kernels see it: stride 16 between pixels. */
struct pool_channel {
    const struct pool *p;
    const float *x, *dy;
    float *y, *dx;
};

static void define_max(const struct pool_channel *c, int oh, int ow, int *first)
{
    const struct pool *p = c->p;
    *first = -1;
    for (int i = 0; i < p->kernel_h * p->kernel_w; i++) {
        int h = oh * p->stride_h - p->pad_t + i / p->kernel_w;
        int w = ow * p->stride_w - p->pad_l + i % p->kernel_w;
        int at = (h * p->w + w) * LANES_OF_A_VECTOR;
        if (h < 0 || h >= p->h || w < 0 || w >= p->w)
            continue;
        if (*first < 0 || c->x[at] > c->x[*first])
            *first = at;
    }
}

static void define_channel(const struct pool_channel *c)
{
    const struct pool *p = c->p;
    for (int i = 0; i < p->h * p->w; i++)
        c->dx[i * LANES_OF_A_VECTOR] = 0;
    for (int i = 0; i < p->oh * p->ow; i++) {
        int first;
        define_max(c, i / p->ow, i % p->ow, &first);
        c->y[i * LANES_OF_A_VECTOR] = c->x[first];
        c->dx[first] += c->dy[i * LANES_OF_A_VECTOR];
    }
}

static struct pool drawn_pool(uint32_t seed)
{
    struct pool p = {
        .blocks = 1 + (int)(fill_u32(seed, 0) % 2),
        .h = 3 + (int)(fill_u32(seed, 1) % 6),
        .w = 3 + (int)(fill_u32(seed, 2) % 6),
        .kernel_h = 1 + (int)(fill_u32(seed, 3) % 3),
        .kernel_w = 1 + (int)(fill_u32(seed, 4) % 3),
        .stride_h = 1 + (int)(fill_u32(seed, 5) % 3),
        .stride_w = 1 + (int)(fill_u32(seed, 6) % 3),
    };
    p.pad_t = seed % 2 ? (p.kernel_h - 1) / 2 : 0;
    p.pad_l = seed % 2 ? (p.kernel_w - 1) / 2 : 0;
    p.oh = (p.h + 2 * p.pad_t - p.kernel_h) / p.stride_h + 1;
    p.ow = (p.w + 2 * p.pad_l - p.kernel_w) / p.stride_w + 1;
    return p;
}

/* Few values, so that windows have ties; zeros of both signs are equal. */
static void fill_ties(float *x, uint32_t seed)
{
    static const float values[] = {-2, -1, -0.0f, 0, 1, 1.5f};
    for (uint32_t i = 0; i < VALUES; i++)
        x[i] = values[fill_u32(seed, i) % ARRAY_LEN(values)];
}

static void test_max(uint32_t seed)
{
    static float x[VALUES], dy[VALUES], y[VALUES], dx[VALUES], want_y[VALUES], want_dx[VALUES];
    const struct pool p = drawn_pool(seed);
    const size_t in = (size_t)(p.h * p.w * LANES_OF_A_VECTOR);
    const size_t out = (size_t)(p.oh * p.ow * LANES_OF_A_VECTOR);

    fill_ties(x, seed);
    fill_uniform(dy, VALUES, seed + 1);
    for (size_t c = 0; c < (size_t)p.blocks * LANES_OF_A_VECTOR; c++) {
        size_t b = c / LANES_OF_A_VECTOR, lane = c % LANES_OF_A_VECTOR;
        define_channel(&(struct pool_channel){&p, x + b * in + lane, dy + b * out + lane,
                                              want_y + b * out + lane, want_dx + b * in + lane});
    }
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        const struct kernels *k = kernels_find(*isa);
        if (!k)
            continue;
        k->pool->max_forward(&p, y, x);
        CHECK_BYTES(y, want_y, (size_t)p.blocks * out * sizeof *y);
        k->pool->max_backward(&p, dx, dy, x);
        CHECK_BYTES(dx, want_dx, (size_t)p.blocks * in * sizeof *dx);
    }
}

/* Sum of dx is the sum of dy, and y the mean of constant windows, whatever lies outside. */
static void test_mean(uint32_t seed)
{
    static float x[VALUES], dy[VALUES], y[VALUES], dx[VALUES];
    const struct pool p = drawn_pool(seed);
    const int in = p.h * p.w, out = p.oh * p.ow;

    fill_uniform(dy, VALUES, seed);
    for (int i = 0; i < VALUES; i++)
        x[i] = 3;
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        const struct kernels *k = kernels_find(*isa);
        double given = 0, got = 0;
        if (!k)
            continue;
        k->pool->avg_forward(&p, y, x);
        k->pool->avg_backward(&p, dx, dy);
        for (int i = 0; i < out * LANES_OF_A_VECTOR; i++)
            CHECK(y[i] == 3);
        for (int i = 0; i < p.blocks * out; i++)
            given += (double)dy[i * LANES_OF_A_VECTOR + 5];
        for (int i = 0; i < p.blocks * in; i++)
            got += (double)dx[i * LANES_OF_A_VECTOR + 5];
        CHECK_NEAR(got, given, 1e-5);
    }
}

/* A NaN wins in the first place only. */
static void test_nan(void)
{
    const struct pool p = {1, 1, 2, 1, 1, 1, 2, 1, 2, 0, 0};
    float x[2 * LANES_OF_A_VECTOR] = {0}, y[LANES_OF_A_VECTOR];

    x[0] = NAN;                     /* channel 0, first place */
    x[LANES_OF_A_VECTOR + 1] = NAN; /* channel 1, second place */
    x[1] = 7;
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        if (!kernels_find(*isa))
            continue;
        kernels_find(*isa)->pool->max_forward(&p, y, x);
        CHECK(isnan(y[0]));
        CHECK(y[1] == 7);
    }
}

int main(void)
{
    kernels_thread_init();
    for (uint32_t seed = 1; seed <= 60; seed++) {
        test_max(seed);
        test_mean(seed);
    }
    test_nan();
    return test_result();
}
