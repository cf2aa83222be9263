// LINK: common/err.c common/mem.c common/net.c common/layer_shapes.c common/buf.c
// LINK: common/named_sets.c common/net_names.c common/text.c worker/data/batch/normalize.c
/* Statistics of tiny sets, by hand, and of large ones, where sums must not overflow. */
#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/data/batch/normalize.h"

/* Three samples of two channels of 1x2. */
static const uint8_t samples[3][4] = {{0, 10, 7, 7}, {20, 30, 7, 7}, {40, 50, 7, 7}};

static struct normalizer new_normalizer(enum normalize_by by, struct shape shape)
{
    struct normalizer n;
    struct job job = {0};

    job.dataset.normalize_by = by;
    job.dataset.mean = 0.25;
    job.dataset.std = 0.5;
    normalizer_init(&n, &job, shape);
    return n;
}

static void learn(struct normalizer *n)
{
    uint64_t sums[8] = {0};

    for (int i = 2; i >= 0; i--)
        normalizer_add(n, sums, samples[i]);
    normalizer_learn(n, sums, 3);
}

static void by_given(void)
{
    struct normalizer n = new_normalizer(NORMALIZE_GIVEN, (struct shape){2, 1, 2});
    float x[4];

    CHECK_INT(normalizer_sums(&n), 0);
    normalizer_apply(&n, x, samples[1]);
    for (int k = 0; k < 4; k++)
        CHECK(x[k] == (float)((samples[1][k] / 255.0 - 0.25) / 0.5));
    normalizer_release(&n);
}

/* Channel 0 has 0, 10 .. 50: mean 25, variance 1750 / 6. Channel 1 never changes. */
static void by_channel(void)
{
    struct normalizer n = new_normalizer(NORMALIZE_CHANNEL, (struct shape){2, 1, 2});
    const double std = sqrt(1750.0 / 6);
    float x[4];

    CHECK_INT(n.n_mean, 2);
    CHECK_INT(n.n_std, 2);
    learn(&n);
    CHECK_NEAR(n.mean[0], 25 / 255.0, 1e-8);
    CHECK_NEAR(n.std[0], std / 255, 1e-8);
    CHECK_NEAR(n.mean[1], 7 / 255.0, 1e-8);
    CHECK(n.std[1] == 1);
    normalizer_apply(&n, x, samples[2]);
    CHECK_NEAR(x[0], 15 / std, 1e-6);
    CHECK_NEAR(x[1], 25 / std, 1e-6);
    CHECK_NEAR(x[2], 0, 1e-8);
    normalizer_release(&n);
}

static void by_pixel(void)
{
    struct normalizer n = new_normalizer(NORMALIZE_PIXEL, (struct shape){2, 1, 2});
    const double want[] = {20, 20, 0, 0};
    float x[4];

    CHECK_INT(n.n_mean, 4);
    CHECK_INT(n.n_std, 0);
    learn(&n);
    CHECK_NEAR(n.mean[0], 20 / 255.0, 1e-8);
    CHECK_NEAR(n.mean[1], 30 / 255.0, 1e-8);
    normalizer_apply(&n, x, samples[2]);
    for (int k = 0; k < 4; k++)
        CHECK_NEAR(x[k], want[k] / 255, 1e-7);
    normalizer_release(&n);
}

/* A white image whose squares do not fit 32 bits, and a million of them, whose spread's numerator
 * does not fit 64. */
static void large(void)
{
    enum { SIDE = 300, PIXELS = SIDE * SIDE };
    struct normalizer n = new_normalizer(NORMALIZE_CHANNEL, (struct shape){1, SIDE, SIDE});
    AUTO(auto_free) uint8_t *white = xcalloc(PIXELS, 1);
    uint64_t sums[2] = {0};

    memset(white, 255, PIXELS);
    normalizer_add(&n, sums, white);
    CHECK_INT(sums[0], 255ll * PIXELS);
    CHECK_INT(sums[1], 65025ll * PIXELS);
    sums[0] *= 500000;
    sums[1] *= 500000;
    normalizer_learn(&n, sums, 1000000); /* the other half is black */
    CHECK(n.mean[0] == 0.5F);
    CHECK(n.std[0] == 0.5F);
    normalizer_release(&n);
}

/* Two inputs, of a channel of three values and of two channels of one, one of which never changes.
 * Sample i of the first has 1e6 + 4i .. : numbers that are large beside their spread. */
static int floats_sample(void *arg, uint32_t i, float *x, struct err *err)
{
    const float sample[] = {1e6F + 4 * (float)i, 1e6F, 1e6F - 4 * (float)i, 0.1F, (float)i};

    if (arg && i == 1)
        return err_set(err, ERR_DAMAGED, "sample 1");
    memcpy(x, sample, sizeof sample);
    return 0;
}

static struct normalizer floats_normalizer(enum normalize_by by, bool inputs)
{
    static struct layer_spec layers[] = {
        {.type = LAYER_INPUT, .shape = {1, 1, 3}, .n_shape = 3},
        {.type = LAYER_RELU},
        {.type = LAYER_INPUT, .shape = {2}, .n_shape = 1},
    };
    struct normalizer n;
    struct job job = {0};

    job.dataset.name = (char *)"arrays";
    job.dataset.normalize_by = by;
    job.dataset.mean = 2;
    job.dataset.std = 4;
    job.model.layers = inputs ? layers : NULL;
    job.model.n_layers = inputs ? ARRAY_LEN(layers) : 0;
    normalizer_init(&n, &job, inputs ? (struct shape){5, 1, 1} : (struct shape){1, 1, 5});
    return n;
}

/* Of samples 0, 1, 2 the first channel has 1e6 + {0, 0, 0, 4, 0, -4, 8, 0, -8}. */
static void floats_by_channel(void)
{
    struct normalizer n = floats_normalizer(NORMALIZE_CHANNEL, true);
    struct err err = {0};
    float x[5];

    CHECK_INT(n.n_mean, 3);
    CHECK_INT(n.n_std, 3);
    CHECK_INT(normalizer_sums(&n), 0);
    CHECK_INT(normalizer_learn_floats(&n, floats_sample, NULL, 3, &err), 0);
    CHECK(n.mean[0] == 1e6F);
    CHECK_NEAR(n.std[0], sqrt(160 / 9.0), 1e-6);
    CHECK(n.mean[1] == 0.1F);
    CHECK(n.std[1] == 1);
    CHECK(n.mean[2] == 1);
    CHECK_NEAR(n.std[2], sqrt(2 / 3.0), 1e-7);
    CHECK_INT(floats_sample(NULL, 2, x, &err), 0);
    normalizer_apply_floats(&n, x);
    CHECK_NEAR(x[0], 8 / sqrt(160 / 9.0), 1e-6);
    CHECK_NEAR(x[2], -8 / sqrt(160 / 9.0), 1e-6);
    CHECK(x[3] == 0);
    CHECK_NEAR(x[4], 1 / sqrt(2 / 3.0), 1e-6);
    CHECK_INT(normalizer_learn_floats(&n, floats_sample, &n, 3, &err), -1);
    CHECK_STR(err.msg, "sample 1");
    normalizer_release(&n);
}

static void floats_by_pixel_and_given(void)
{
    struct normalizer pixel = floats_normalizer(NORMALIZE_PIXEL, true);
    struct normalizer one = floats_normalizer(NORMALIZE_CHANNEL, false);
    struct normalizer given = floats_normalizer(NORMALIZE_GIVEN, true);
    struct err err = {0};
    float x[5];

    CHECK_INT(pixel.n_mean, 5);
    CHECK_INT(pixel.n_std, 0);
    CHECK_INT(one.n_mean, 1);
    CHECK_INT(given.n_mean, 0);
    CHECK_INT(normalizer_learn_floats(&pixel, floats_sample, NULL, 3, &err), 0);
    CHECK_INT(normalizer_learn_floats(&given, floats_sample, NULL, 3, &err), 0);
    CHECK(pixel.mean[0] == 1e6F + 4);
    CHECK(pixel.mean[4] == 1);
    CHECK_INT(floats_sample(NULL, 2, x, &err), 0);
    normalizer_apply_floats(&pixel, x);
    CHECK(x[0] == 4 && x[1] == 0 && x[2] == -4 && x[3] == 0 && x[4] == 1);
    CHECK_INT(floats_sample(NULL, 2, x, &err), 0);
    normalizer_apply_floats(&given, x);
    CHECK(x[0] == (1e6F + 8 - 2) / 4 && x[4] == 0);
    normalizer_release(&pixel);
    normalizer_release(&one);
    normalizer_release(&given);
}

int main(void)
{
    floats_by_channel();
    floats_by_pixel_and_given();
    by_given();
    by_channel();
    by_pixel();
    large();
    return test_result();
}
