// LINK: worker/kernels common
/* Optimiser steps: every ISA equals plain C over any values and sizes, and touches nothing else. */
#include "tests/unit/floats.h"

#define VEC_FLOATS 16

static float start[5][FLOATS_MAX], got[4][FLOATS_MAX], want[4][FLOATS_MAX];

static const struct {
    const char *name;
    size_t offset; /* of its member in struct update_kernels */
    int slots;
} updates[] = {
    {"sgd", offsetof(struct update_kernels, sgd), 0},
    {"momentum", offsetof(struct update_kernels, momentum), 1},
    {"adam", offsetof(struct update_kernels, adam), 2},
    {"adagrad", offsetof(struct update_kernels, adagrad), 1},
    {"adadelta", offsetof(struct update_kernels, adadelta), 2},
    {"rmsprop", offsetof(struct update_kernels, rmsprop), 1},
    {"rmsprop with momentum", offsetof(struct update_kernels, rmsprop), 2},
    {"rmsprop centered", offsetof(struct update_kernels, rmsprop), 3},
};

static void run(const struct kernels *k, size_t u, float to[4][FLOATS_MAX], size_t n,
                const struct update_coef *coef)
{
    int slots = updates[u].slots;
    update_fn *fn;

    memcpy(&fn, (const char *)k->update + updates[u].offset, sizeof fn);
    memcpy(to, start, 4 * sizeof *to);
    fn(to[0], start[4], slots > 0 ? to[1] : NULL, slots > 1 ? to[2] : NULL,
       slots > 2 ? to[3] : NULL, n, coef);
}

static void check_isa(const struct kernels *k, const struct kernels *plain)
{
    struct update_coef coef = {.scale = 0.7f,
                               .l2 = 0.01f,
                               .decay = 0.99f,
                               .rate = 0.1f,
                               .momentum = 0.9f,
                               .velocity_gain = 0.8f,
                               .beta1 = 0.9f,
                               .beta2 = 0.99f,
                               .gain1 = 0.1f,
                               .gain2 = 0.01f,
                               .epsilon_inside = 1e-5f,
                               .root_correction = 3,
                               .epsilon_outside = 1e-6f};

    for (size_t j = 0; j < FLOAT_SIZES * 4; j++) {
        size_t n = float_sizes[j / 4];

        for (int i = 0; i < 5; i++)
            if (j & 1)
                fill_any(start[i], FLOATS_MAX);
            else
                fill_uniform(start[i], FLOATS_MAX, i % 2, 1);
        coef.nesterov = (int)(j >> 1 & 1);
        for (size_t u = 0; u < sizeof updates / sizeof *updates; u++) {
            coef.centered = updates[u].slots == 3;
            run(k, u, got, n, &coef);
            run(plain, u, want, n, &coef);
            for (int i = 0; i < 4; i++) {
                CHECK_FLOATS(got[i], want[i], n, updates[u].name);
                CHECK_BYTES(got[i] + n, start[i] + n, (FLOATS_MAX - n) * sizeof(float));
                if (i > updates[u].slots)
                    CHECK_BYTES(got[i], start[i], n * sizeof(float));
            }
        }
    }
}

/* The running square may fall a rounding below the squared mean: no root of a negative number. */
static void check_centered_floor(const struct kernels *k, const struct kernels *plain)
{
    float w = 1, g = 0, square = 0x1p-10f, velocity = 0, mean = 0x1.01p-5f;
    const struct update_coef coef = {.scale = 1,
                                     .rate = 1,
                                     .velocity_gain = 1,
                                     .beta2 = 1,
                                     .root_correction = 1,
                                     .epsilon_outside = 0.5f,
                                     .centered = 1};

    (void)plain;
    k->update->rmsprop(&w, &g, &square, &velocity, &mean, 1, &coef);
    CHECK_NEAR(w, 1, 0);
    g = NAN;
    k->update->rmsprop(&w, &g, &square, &velocity, &mean, 1, &coef);
    CHECK(isnan(w));
}

/* Averages of a weight whose gradient has died decay to 0, not into the subnormal numbers. */
static void check_decay(const struct kernels *k, const struct kernels *plain)
{
    const struct update_coef coef = {.scale = 1,
                                     .decay = 1,
                                     .rate = 0.1f,
                                     .momentum = 0.9f,
                                     .velocity_gain = 1,
                                     .beta1 = 0.9f,
                                     .beta2 = 0.8f,
                                     .gain1 = 0.1f,
                                     .gain2 = 0.2f,
                                     .epsilon_inside = 1e-5f,
                                     .root_correction = 1,
                                     .epsilon_outside = 1e-6f};
    const float none[VEC_FLOATS] = {0};

    (void)plain;
    for (size_t u = 0; u < sizeof updates / sizeof *updates; u++) {
        float w[VEC_FLOATS] = {0}, s[3][VEC_FLOATS];
        int zeros = 0;
        update_fn *fn;

        memcpy(&fn, (const char *)k->update + updates[u].offset, sizeof fn);
        for (int i = 0; i < 3 * VEC_FLOATS; i++)
            s[i / VEC_FLOATS][i % VEC_FLOATS] = (float)(i + 1) * 1e-3f;
        for (int step = 0; step < 2000; step++) {
            fn(w, none, s[0], s[1], updates[u].slots == 3 ? s[2] : NULL, VEC_FLOATS, &coef);
            for (int i = 0; i < updates[u].slots * VEC_FLOATS; i++)
                if (fpclassify(s[i / VEC_FLOATS][i % VEC_FLOATS]) == FP_SUBNORMAL)
                    TEST_FAIL("%s, %s: a subnormal average in step %d", k->isa, updates[u].name,
                              step);
        }
        for (int i = 0; i < VEC_FLOATS; i++)
            zeros += s[0][i] == 0;
        CHECK_INT(zeros, strcmp(updates[u].name, "sgd") && strcmp(updates[u].name, "adagrad")
                             ? VEC_FLOATS
                             : 0);
    }
}

int main(void)
{
    each_isa(check_isa);
    each_isa(check_centered_floor);
    each_isa(check_decay);
    return test_result();
}
