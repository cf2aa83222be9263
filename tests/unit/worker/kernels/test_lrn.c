// LINK: worker/kernels common
// Local response normalisation beside its definition in double precision, over few and many
// channels, neighbours that reach beyond them and powers with and without square roots; its
// gradient beside finite differences of that definition. Lanes after the last channel stay zero;
// the same bytes on every instruction set.
#include <math.h>

#include "tests/test.h"
#include "tests/unit/fill.h"
#include "worker/kernels/kernels.h"

#define PIXELS 7 /* a strip and a rest */
#define CHANNELS_MAX 64
#define FLOATS (PIXELS * CHANNELS_MAX)

static const struct lrn_case {
    int channels, half;
    float alpha, beta, k;
} cases[] = {
    {3, 2, 1e-4f, 0.75f, 2},  {16, 2, 0.5f, 0.75f, 1}, {37, 2, 0.3f, 0.75f, 1.5f},
    {40, 0, 0.7f, 0.5f, 1},   {20, 17, 0.1f, 0.6f, 2}, {5, 30, 0.2f, 0.75f, 0.5f},
    {33, 3, 2, 1.25f, 0.25f}, {64, 1, 0, 0.75f, 3},    {18, 4, 0.4f, 0, 1},
};

/* The offset of channel c of a pixel. */
static size_t place(int pixel, int c)
{
    return (size_t)((c / 16) * PIXELS + pixel) * 16 + (size_t)c % 16;
}

static double scale_of(const struct lrn_case *l, const double *x, int c)
{
    double sum = 0;

    for (int j = c - l->half; j <= c + l->half; j++)
        sum += j >= 0 && j < l->channels ? x[j] * x[j] : 0;
    return (double)l->k + (double)l->alpha * sum;
}

/* The sum of dy * y over a pixel's channels: its derivatives are the gradient. */
static double weighted(const struct lrn_case *l, const double *x, const double *dy)
{
    double sum = 0;

    for (int c = 0; c < l->channels; c++)
        sum += dy[c] * x[c] * pow(scale_of(l, x, c), -(double)l->beta);
    return sum;
}

static void fill_map(float *map, const struct lrn_case *l, uint32_t seed, float factor)
{
    memset(map, 0, FLOATS * sizeof *map);
    for (int px = 0; px < PIXELS; px++)
        for (int c = 0; c < l->channels; c++)
            map[place(px, c)] = factor * fill_value(seed, (uint32_t)(px * CHANNELS_MAX + c));
}

static void read_pixel(double *to, const float *map, const struct lrn_case *l, int px)
{
    for (int c = 0; c < l->channels; c++)
        to[c] = (double)map[place(px, c)];
}

static void check_pixel(const struct lrn_case *l, int px, const float *maps[4])
{
    double x[CHANNELS_MAX], dy[CHANNELS_MAX], y[CHANNELS_MAX], dx[CHANNELS_MAX];

    read_pixel(x, maps[0], l, px);
    read_pixel(dy, maps[1], l, px);
    read_pixel(y, maps[2], l, px);
    read_pixel(dx, maps[3], l, px);
    for (int c = 0; c < l->channels; c++) {
        const double was = x[c], step = 1e-5;
        double above, below;

        /* a power of a rounded logarithm, or three roundings */
        CHECK_NEAR(y[c], x[c] * pow(scale_of(l, x, c), -(double)l->beta), 2e-6 * fabs(x[c]));
        x[c] = was + step;
        above = weighted(l, x, dy);
        x[c] = was - step;
        below = weighted(l, x, dy);
        x[c] = was;
        CHECK_NEAR(dx[c], (above - below) / (2 * step), 2e-5);
    }
}

static void check_zeros(const float *map, const struct lrn_case *l, int blocks)
{
    for (int px = 0; px < PIXELS; px++)
        for (int c = l->channels; c < blocks * 16; c++)
            CHECK(map[place(px, c)] == 0);
}

static void test_case(const struct lrn_case *l, uint32_t seed)
{
    static float x[FLOATS], dy[FLOATS], y[FLOATS], dx[FLOATS], want_y[FLOATS], want_dx[FLOATS];
    const struct lrn lrn = {(l->channels + 15) / 16, PIXELS, l->half, l->alpha, l->beta, l->k};
    const size_t used = (size_t)lrn.blocks * PIXELS * 16 * sizeof(float);
    AUTO(auto_free) float *room = xmalloc((lrn_room(&lrn) + 1) * sizeof *room);

    fill_map(x, l, seed, 3);
    fill_map(dy, l, seed + 1, 1);
    for (const char *const *isa = kernels_isas; *isa; isa++) {
        const struct kernels *k = kernels_find(*isa);
        if (!k)
            continue;
        room[lrn_room(&lrn)] =
            77; /* nothing is written past it, and what is in it does not count */
        memset(room, 0x3f, lrn_room(&lrn) * sizeof *room);
        k->lrn->forward(&lrn, y, x, room);
        memset(room, 0x3f, lrn_room(&lrn) * sizeof *room);
        k->lrn->backward(&lrn, dx, dy, x, y, room);
        CHECK(room[lrn_room(&lrn)] == 77);
        if (isa == kernels_isas) {
            memcpy(want_y, y, sizeof y);
            memcpy(want_dx, dx, sizeof dx);
            for (int px = 0; px < PIXELS; px++)
                check_pixel(l, px, (const float *[]){x, dy, y, dx});
            check_zeros(y, l, lrn.blocks);
            check_zeros(dx, l, lrn.blocks);
        }
        CHECK_BYTES(y, want_y, used);
        CHECK_BYTES(dx, want_dx, used);
    }
}

int main(void)
{
    kernels_thread_init();
    for (uint32_t i = 0; i < ARRAY_LEN(cases); i++)
        test_case(&cases[i], 10 * i);
    return test_result();
}
