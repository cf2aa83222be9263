// LINK: common/err.c common/mem.c worker/kernels/random_scalar.c worker/data/batch/augment.c
// LINK: common/text.c
/* Windows of tiny images, by hand; and what is drawn. */
#include "tests/test.h"
#include "worker/data/batch/augment.h"

/* Two channels of 2x3. */
static const struct shape shape = {2, 2, 3};
static const uint8_t image[] = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};

static void windows(void)
{
    static const struct {
        struct augment_view view;
        uint8_t want[sizeof image];
    } cases[] = {
        {{0, 0, false}, {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16}},
        {{0, 0, true}, {3, 2, 1, 6, 5, 4, 13, 12, 11, 16, 15, 14}},
        {{1, 0, false}, {4, 5, 6, 0, 0, 0, 14, 15, 16, 0, 0, 0}},
        {{-1, 0, false}, {0, 0, 0, 1, 2, 3, 0, 0, 0, 11, 12, 13}},
        {{0, 1, false}, {2, 3, 0, 5, 6, 0, 12, 13, 0, 15, 16, 0}},
        {{0, -1, false}, {0, 1, 2, 0, 4, 5, 0, 11, 12, 0, 14, 15}},
        {{-1, -2, true}, {0, 0, 0, 1, 0, 0, 0, 0, 0, 11, 0, 0}},
        {{1, 2, true}, {0, 0, 6, 0, 0, 0, 0, 0, 16, 0, 0, 0}},
        {{2, 0, false}, {0}},
        {{0, -3, true}, {0}},
        {{0, 7, false}, {0}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t got[sizeof image];

        memset(got, 99, sizeof got);
        augment_apply(got, image, shape, cases[i].view);
        CHECK_BYTES(got, cases[i].want, sizeof got);
    }
}

static bool same(struct augment_view a, struct augment_view b)
{
    return a.top == b.top && a.left == b.left && a.mirrored == b.mirrored;
}

/* Every place about as often as any other, half of them mirrored, each by itself. */
static void draws(void)
{
    enum { SAMPLES = 20000, PAD = 2, PLACES = 2 * PAD + 1 };
    const struct augment a = {.flip = true, .pad = PAD, .seed = 5};
    const struct augment other = {.flip = true, .pad = PAD, .seed = 6};
    int count[PLACES][PLACES][2] = {0}, by_epoch = 0, by_seed = 0;
    const double each = (double)SAMPLES / (PLACES * PLACES * 2);

    CHECK(augment_any(&a));
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const struct augment_view v = augment_draw(&a, 3, i);

        CHECK(same(v, augment_draw(&a, 3, i)));
        CHECK(v.top >= -PAD && v.top <= PAD && v.left >= -PAD && v.left <= PAD);
        count[v.top + PAD][v.left + PAD][v.mirrored]++;
        by_epoch += same(v, augment_draw(&a, 4, i));
        by_seed += same(v, augment_draw(&other, 3, i));
    }
    for (int y = 0; y < PLACES; y++)
        for (int x = 0; x < PLACES; x++)
            for (int m = 0; m < 2; m++) /* 6 standard deviations */
                CHECK_NEAR(count[y][x][m], each, 6 * sqrt(each));
    CHECK_NEAR(by_epoch, each, 6 * sqrt(each));
    CHECK_NEAR(by_seed, each, 6 * sqrt(each));
}

static void off(void)
{
    const struct augment none = {.seed = 5}, pad = {.pad = 3, .seed = 5};

    CHECK(!augment_any(&none));
    for (uint32_t i = 0; i < 100; i++) {
        CHECK(same(augment_draw(&none, 0, i), (struct augment_view){0}));
        CHECK(!augment_draw(&pad, 0, i).mirrored);
    }
}

int main(void)
{
    windows();
    draws();
    off();
    return test_result();
}
