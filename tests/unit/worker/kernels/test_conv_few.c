// LINK: worker/kernels common
// Convolutions of few pixels, in fp32 and bf16: several samples side by side, and the gradient of
// the weights of all lanes at once, have the bytes of one sample after the other, on every
// instruction set.
#include "tests/unit/conv_maps.h"

static const char *const isas[] = {"c", "avx2", "avx512", "avx512bf16", "neon"};

/* One of the two precisions of a convolution on an instruction set, and its weights. */
struct few {
    const struct kernels *k;
    const struct conv *c;
    bool bf16;
    float *w, *turned; /* turned: those of the data gradient */
    uint32_t *packed, *packed_turned;
    float *scratch, *one_scratch; /* as small as is promised; of one sample at a time */
};

static const struct conv_kernels *few_kernels(const struct kernels *k, bool bf16)
{
    return bf16 ? k->conv_bf16 : k->conv;
}

static size_t scratch_floats(const struct few *f)
{
    return f->bf16 ? conv_bf16_scratch_floats(f->c) : conv_scratch_floats(f->c);
}

static void few_begin(struct few *f, const struct kernels *k, const struct maps *m)
{
    const struct conv back = conv_transposed(f->c);
    const int in = blocks_of(f->c->c), out = blocks_of(f->c->k);

    f->k = k;
    f->w = m->w;
    f->turned = m->wt;
    f->packed = xaligned(conv_bf16_weight_words(f->c) * 4);
    f->packed_turned = xaligned(conv_bf16_weight_words(f->c) * 4);
    f->scratch = xaligned(scratch_floats(f) * 4);
    f->one_scratch = xaligned((scratch_floats(f) + conv_scratch_floats(&back)) * 4);
    k->conv->pack_transposed(f->c, f->turned, f->w, 0, in);
    k->conv_bf16->pack(f->c, f->packed, f->w, 0, out);
    k->conv_bf16->pack_transposed(f->c, f->packed_turned, f->w, 0, in);
}

static void few_end(struct few *f)
{
    void *all[] = {f->packed, f->packed_turned, f->scratch, f->one_scratch};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

/* n samples; 0: one as any map. */
static void forward(const struct few *f, int n, float *y, const float *x, const float *bias)
{
    const bool relu = bias;

    const struct conv_kernels *k = few_kernels(f->k, f->bf16);
    const void *w = f->bf16 ? (const void *)f->packed : f->w;

    if (n)
        k->forward_samples(f->c, n, y, x, w, bias, relu, f->scratch);
    else
        k->forward(f->c, y, NULL, x, w, bias, relu, false, f->one_scratch);
}

static void backward_data(const struct few *f, int n, float *dx, const float *dy)
{
    const struct conv_kernels *k = few_kernels(f->k, f->bf16);
    const void *wt = f->bf16 ? (const void *)f->packed_turned : f->turned;

    if (n)
        k->backward_data_samples(f->c, n, dx, dy, wt, f->scratch);
    else
        k->backward_data(f->c, dx, dy, wt, f->one_scratch);
}

/* At most so many rows of outputs, and strides. */
static struct conv few_conv(uint32_t seed, uint32_t rows, uint32_t strides)
{
    struct conv c = strided_conv(seed);

    c.stride_h = 1 + (int)(fill_u32(seed, 90) % strides);
    c.stride_w = 1 + (int)(fill_u32(seed, 91) % strides);
    c.oh = 1 + (int)(fill_u32(seed, 92) % rows);
    c.ow = 1 + (int)(fill_u32(seed, 93) % 4);
    c.h = (c.oh - 1) * c.stride_h + 1 + (int)(fill_u32(seed, 94) % 3);
    c.w = (c.ow - 1) * c.stride_w + 1 + (int)(fill_u32(seed, 95) % 3);
    return c;
}

/* By 1e-44 products are zeros of either sign, and so are sums; by 1e-37 many are subnormal. */
static void fill_gradient(float *dy, size_t n, uint32_t seed)
{
    static const float by[] = {1e-44F, 1e-37F, 1, 1};

    fill_uniform(dy, n, seed + 6);
    for (size_t i = 0; i < n; i++)
        dy[i] *= by[seed % 4];
}

static void test_samples(const struct conv *c, int n, bool bf16, uint32_t seed)
{
    const size_t in = conv_in_floats(c), out = conv_out_floats(c);
    AUTO(auto_free) float *x = xaligned((size_t)n * in * 4), *dx = xaligned((size_t)n * in * 4);
    AUTO(auto_free) float *y = xaligned((size_t)n * out * 4), *dy = xaligned((size_t)n * out * 4);
    AUTO(auto_free) float *bias = xaligned((size_t)blocks_of(c->k) * 64);
    struct few f = {.c = c, .bf16 = bf16};
    struct maps m;

    CHECK(n <= conv_samples(c));
    maps_init(&m, c, seed);
    fill_uniform(bias, (size_t)c->k, seed + 4);
    fill_uniform(x, (size_t)n * in, seed + 5);
    fill_gradient(dy, (size_t)n * out, seed);
    for (size_t isa = 0; isa < ARRAY_LEN(isas); isa++) {
        if (!kernels_find(isas[isa]))
            continue;
        few_begin(&f, kernels_find(isas[isa]), &m);
        memset(f.scratch, 0xFF, scratch_floats(&f) * 4);
        forward(&f, n, y, x, seed % 2 ? bias : NULL);
        memset(f.scratch, 0xFF, scratch_floats(&f) * 4);
        backward_data(&f, n, dx, dy);
        for (int i = 0; i < n; i++) {
            forward(&f, 0, m.y, x + (size_t)i * in, seed % 2 ? bias : NULL);
            backward_data(&f, 0, m.dx, dy + (size_t)i * out);
            CHECK_BYTES(y + (size_t)i * out, m.y, out * 4);
            CHECK_BYTES(dx + (size_t)i * in, m.dx, in * 4);
        }
        few_end(&f);
    }
    maps_release(&m);
}

/* All lanes of a block at once, or as one sample after another and then the tree. */
struct gradient {
    const struct conv *c;
    bool bf16;
    const float *x, *dy;
    struct lane_ends lanes;
    float *scratch;
};

/* dw = the sum of lanes [first, first + 2^level). */
static void lane_tree(const struct gradient *g, float *dw, uint32_t first, int level)
{
    const struct kernels *k = kernels_find("c");
    const struct conv *c = g->c;
    const struct lane_ends *l = &g->lanes;
    const uint32_t begin = first ? l->end[first - 1] : 0;

    for (uint32_t i = begin; level == 0 && i < l->end[first]; i++)
        few_kernels(k, g->bf16)
            ->backward_weights(c, dw, g->x + (l->begin + i) * conv_in_floats(c),
                               g->dy + (l->begin + i) * conv_out_floats(c), i == begin, 0,
                               blocks_of(c->k), g->scratch);
    if (level == 0)
        return;
    AUTO(auto_free) float *right = xaligned(conv_weight_floats(c) * 4);
    lane_tree(g, dw, first, level - 1);
    lane_tree(g, right, first + (1U << (level - 1)), level - 1);
    k->reduce->add(dw, right, conv_weight_floats(c));
}

/* Subnormals are zeros by thread, where lanes in bf16 do not meet. */
static bool by_thread(const struct kernels *k)
{
    return !strcmp(k->isa_bf16, "avx2") || !strcmp(k->isa_bf16, "avx512");
}

/* In all bytes, and of some blocks of outputs alone. */
static void check_lanes(const struct gradient *g, const struct kernels *k, const float *want, int n)
{
    const struct conv *c = g->c;
    const size_t floats = conv_weight_floats(c), block = conv_weight_block(c);
    AUTO(auto_free) float *dw = xaligned(floats * 4), *untouched = xaligned(floats * 4);
    AUTO(auto_free) float *scratch = xaligned(conv_lanes_scratch_floats(c, n) * 4);
    void (*sum)(const struct conv *, float *, const float *, const float *,
                const struct lane_ends *, int, int, float *) =
        few_kernels(k, g->bf16)->backward_weights_lanes;
    const int blocks = blocks_of(c->k), step = conv_lanes_blocks(c, n);

    if (g->bf16 && by_thread(k)) {
        CHECK(!sum);
        return;
    }
    memset(untouched, 0xA5, floats * 4);
    memset(dw, 0xA5, floats * 4);
    for (int ob = 0; ob < blocks; ob += step)
        sum(c, dw, g->x, g->dy, &g->lanes, ob, ob + step < blocks ? ob + step : blocks, scratch);
    CHECK_BYTES(dw, want, floats * 4);
    memset(dw, 0xA5, floats * 4);
    sum(c, dw, g->x, g->dy, &g->lanes, blocks - 1, blocks, scratch);
    CHECK_BYTES(dw + floats - block, want + floats - block, block * 4);
    CHECK_BYTES(dw, untouched, (floats - block) * 4);
}

static void test_lanes(const struct conv *c, int level, bool bf16, uint32_t seed)
{
    uint32_t end[8], n = 0;
    for (uint32_t i = 0; i < 1U << level; i++)
        end[i] = n += 1 + fill_u32(seed, i) % 3;
    const struct lane_ends lanes = {.begin = seed % 3, .end = end, .level = level, .full = true};
    const size_t all = lanes.begin + n, in = all * conv_in_floats(c),
                 out = all * conv_out_floats(c);
    AUTO(auto_free) float *x = xaligned(in * 4), *dy = xaligned(out * 4);
    AUTO(auto_free) float *want = xaligned(conv_weight_floats(c) * 4);
    AUTO(auto_free)
    float *scratch = xaligned((conv_scratch_floats(c) + conv_bf16_scratch_floats(c)) * 4);
    const struct gradient g = {c, bf16, x, dy, lanes, scratch};

    CHECK((int)n <= conv_lanes_samples(c));
    fill_uniform(x, in, seed + 1);
    fill_gradient(dy, out, seed);
    lane_tree(&g, want, 0, level);
    for (size_t i = 0; i < ARRAY_LEN(isas); i++) {
        if (kernels_find(isas[i]))
            check_lanes(&g, kernels_find(isas[i]), want, (int)n);
    }
}

int main(void)
{
    const struct conv many = {.c = 16, .h = 5, .w = 5, .k = 16, .oh = 5, .ow = 5, .r = 1, .s = 1};

    kernels_thread_init();
    for (uint32_t seed = 300; seed < 400; seed++) {
        const struct conv c = few_conv(seed, 5, 2);
        const int n = 1 + (int)(fill_u32(seed, 96) % 16);
        test_samples(&c, n, false, seed);
        test_samples(&c, n, true, seed);
    }
    for (uint32_t seed = 400; seed < 460; seed++) {
        const struct conv c = few_conv(seed, 4, 3);
        test_lanes(&c, (int)(seed % 4), false, seed);
        test_lanes(&c, (int)(seed % 4), true, seed);
    }
    CHECK_INT(conv_lanes_samples(&many), 0);
    return test_result();
}
