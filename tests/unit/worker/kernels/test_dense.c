// LINK: worker/kernels common
// Dense layers: near a double-precision reference, in the promised sum order (lanes in a binary
// tree, 16 partials folded), and the same bytes on every instruction set.
#include "tests/test.h"
#include "tests/unit/fill.h"
#include "worker/kernels/kernels.h"

struct dense_mats {
    float *x, *w, *bias, *y, *dy, *dx, *kept_dx, *dw, *packed, *kept, *scratch;
};

static void mats_init(struct dense_mats *m, const struct dense *d, int n, uint32_t seed)
{
    size_t rows = (size_t)n, fw = dense_forward_scratch(d, n), bw = dense_backward_scratch(d, n);
    m->x = xaligned(rows * (size_t)d->in * 4);
    m->w = xaligned((size_t)d->in * (size_t)d->out * 4);
    m->bias = xaligned((size_t)d->out * 4);
    m->y = xaligned(rows * (size_t)d->out * 4);
    m->dy = xaligned(rows * (size_t)d->out * 4);
    m->dx = xaligned(rows * (size_t)d->in * 4);
    m->kept_dx = xaligned(rows * (size_t)d->in * 4);
    m->dw = xaligned((size_t)d->in * (size_t)d->out * 4);
    m->packed = xaligned(dense_lane_words(d, n) * 4);
    m->kept = xaligned((size_t)d->in * (size_t)d->out * 4);
    m->scratch = xaligned((fw > bw ? fw : bw) * 4);
    fill_uniform(m->x, rows * (size_t)d->in, seed);
    fill_uniform(m->w, (size_t)d->in * (size_t)d->out, seed + 1);
    fill_uniform(m->bias, (size_t)d->out, seed + 2);
    fill_uniform(m->dy, rows * (size_t)d->out, seed + 3);
}

static void mats_release(struct dense_mats *m)
{
    void *all[] = {m->x,       m->w,  m->bias,   m->y,    m->dy,     m->dx,
                   m->kept_dx, m->dw, m->packed, m->kept, m->scratch};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

static void run_all(const struct kernels *k, const struct dense *d, struct dense_mats *m, int n,
                    const struct lane_ends *lanes)
{
    int half = d->out / 32;
    k->dense->forward(d, m->y, m->x, m->w, m->bias, true, n, 0, half, m->scratch);
    k->dense->forward(d, m->y, m->x, m->w, m->bias, true, n, half, d->out / 16, m->scratch);
    k->dense->pack_lanes(d, m->packed, m->dy, n, lanes);
    for (int c = 0; c < dense_chunks(d); c++) {
        k->dense->backward_data(d, c, m->dx, m->dy, m->w, n, m->scratch);
        k->dense->keep_chunk(d, c, m->kept, m->w);
        k->dense->backward_kept(d, c, m->kept_dx, m->dy, m->kept, n, m->scratch);
        k->dense->backward_weights(d, c, m->dw + (size_t)c * DENSE_CHUNK * (size_t)d->out, m->x,
                                   m->packed, n, lanes, m->scratch);
    }
}

/* The promised order of one weight's gradient: fma in a lane, lanes left + right. */
static bool tree(const struct dense *d, const struct dense_mats *m, const struct lane_ends *l,
                 uint32_t first, int level, int out, int in, float *sum)
{
    float right;
    if (level == 0) {
        uint32_t b = first ? l->end[first - 1] : 0;
        *sum = 0;
        for (uint32_t i = b; i < l->end[first]; i++)
            *sum = fmaf(m->dy[(l->begin + i) * (size_t)d->out + (size_t)out],
                        m->x[(l->begin + i) * (size_t)d->in + (size_t)in], *sum);
        return b < l->end[first];
    }
    uint32_t half = 1u << (level - 1);
    if (!tree(d, m, l, first, level - 1, out, in, sum))
        return tree(d, m, l, first + half, level - 1, out, in, sum);
    if (tree(d, m, l, first + half, level - 1, out, in, &right))
        *sum = *sum + right;
    return true;
}

static void check_elements(const struct dense *d, const struct dense_mats *m, int n,
                           const struct lane_ends *l, uint32_t seed)
{
    for (uint32_t i = 0; i < 60; i++) {
        int in = (int)(fill_u32(seed, i) % (uint32_t)d->in);
        int out = (int)(fill_u32(seed, i + 100) % (uint32_t)d->out);
        int b = (int)(fill_u32(seed, i + 200) % (uint32_t)n);
        float y = 0, dw, part[16] = {0};
        for (int k = 0; k < d->in; k++)
            y = fmaf(m->w[dense_weight_index(d, out, k)], m->x[b * d->in + k], y);
        y += m->bias[out];
        CHECK(m->y[b * d->out + out] == (y > 0 ? y : 0.0f));
        for (int k = 0; k < d->out; k++)
            part[k % 16] =
                fmaf(m->w[dense_weight_index(d, k, in)], m->dy[b * d->out + k], part[k % 16]);
        for (int half = 8; half; half /= 2)
            for (int k = 0; k < half; k++)
                part[k] += part[k + half];
        CHECK(m->dx[b * d->in + in] == part[0]);
        if (tree(d, m, l, 0, l->level, out, in, &dw))
            CHECK(m->dw[dense_weight_index(d, out, in)] == dw);
    }
}

static void test_size(int in, int out, int n, int level, uint32_t lanes_samples, uint32_t seed)
{
    const struct dense d = {in, out};
    uint32_t end[64], lanes = 1u << level;
    struct lane_ends l = {.begin = (uint32_t)n - lanes_samples,
                          .end = end,
                          .level = level,
                          .full = lanes_samples >= lanes};
    struct dense_mats ref, got;
    for (uint32_t i = 0; i < lanes; i++)
        end[i] = (i + 1) * lanes_samples / lanes;
    mats_init(&ref, &d, n, seed);
    run_all(kernels_find("c"), &d, &ref, n, &l);
    check_elements(&d, &ref, n, &l, seed);
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        const struct kernels *k = kernels_find(*isa);
        if (!k)
            continue;
        mats_init(&got, &d, n, seed);
        run_all(k, &d, &got, n, &l);
        CHECK_BYTES(got.y, ref.y, (size_t)(n * out) * 4);
        CHECK_BYTES(got.dx, ref.dx, (size_t)(n * in) * 4);
        CHECK_BYTES(got.kept_dx, ref.dx, (size_t)(n * in) * 4);
        CHECK_BYTES(got.dw, ref.dw, (size_t)(in * out) * 4);
        mats_release(&got);
    }
    mats_release(&ref);
}

int main(void)
{
    kernels_thread_init();
    test_size(784, 128, 16, 2, 16, 1);
    test_size(3136, 64, 31, 3, 29, 2);
    test_size(64, 16, 1, 0, 1, 3);
    test_size(80, 48, 5, 3, 3, 4); /* empty lanes */
    /* either half has one group of outputs and a bit, whose sums wait for further inputs */
    test_size(272, 2 * 16 * DENSE_GROUP + 80, 7, 1, 7, 5);
    for (uint32_t s = 10; s < 40; s++) {
        int level = (int)(fill_u32(s, 0) % 5), n = 1 + (int)(fill_u32(s, 1) % 40);
        test_size(16 * (1 + (int)(fill_u32(s, 2) % 20)), 16 * (1 + (int)(fill_u32(s, 3) % 12)), n,
                  level, 1 + fill_u32(s, 4) % (uint32_t)n, s);
    }
    return test_result();
}
