// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
/* Synthetic sets: what they are made from can be found in them again, without learning. */
#include <math.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/data/data.h"
#include "worker/data/store/source.h"

struct made {
    struct source s;
    struct source_memory m;
    size_t n; /* bytes of a sample */
};

static void make(struct made *made, struct job *job, const char *name, int samples, int classes,
                 int size, double noise, uint64_t seed)
{
    struct err err;

    *job = (struct job){0};
    job->dataset.name = (char *)name;
    job->dataset.samples = samples;
    job->dataset.classes = classes;
    job->dataset.size = size;
    job->dataset.noise = noise;
    job->training.seed = seed;
    const struct data_kind *kind = datasets_kind(job, &err);
    CHECK(kind && source_open(&made->s, kind, job, &err) == 0);
    made->n = source_image_bytes(&made->s);
    for (int set = 0; set < N_SETS; set++) {
        made->m.images[set] = xmalloc(made->s.n[set] * made->n);
        made->m.labels[set] = xcalloc(made->s.n[set], sizeof(uint16_t));
    }
    CHECK(source_read(&made->s, &made->m, &err) == 0);
}

static void release(struct made *made)
{
    for (int set = 0; set < N_SETS; set++) {
        free(made->m.images[set]);
        free(made->m.labels[set]);
    }
    source_close(&made->s);
}

static const char *const names[] = {"patterns", "spectra", "scenes"};

/* A sample depends on the seed, the set and its number, and on nothing else. */
static void test_stateless(void)
{
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        struct made few, many, other;
        struct job job[3];

        make(&few, &job[0], names[k], 40, 6, 21, 0.1, 5);
        make(&many, &job[1], names[k], 200, 6, 21, 0.1, 5);
        make(&other, &job[2], names[k], 40, 6, 21, 0.1, 6);
        CHECK_INT(few.s.n[SET_TEST], 8);
        CHECK_BYTES(few.m.images[SET_TRAIN], many.m.images[SET_TRAIN], 40 * few.n);
        CHECK_BYTES(few.m.labels[SET_TEST], many.m.labels[SET_TEST], 8 * sizeof(uint16_t));
        CHECK(memcmp(few.m.images[SET_TRAIN], other.m.images[SET_TRAIN], few.n) != 0);
        CHECK(memcmp(few.m.images[SET_TRAIN], few.m.images[SET_TEST], few.n) != 0);
        CHECK(memcmp(few.m.images[SET_TRAIN], few.m.images[SET_TRAIN] + few.n, few.n) != 0);
        release(&few);
        release(&many);
        release(&other);
    }
}

/* Each class is there, about as often as the others. */
static void test_classes(void)
{
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        struct made made;
        struct job job;
        int count[5] = {0};

        make(&made, &job, names[k], 1000, 5, 14, 0, 1);
        for (uint32_t i = 0; i < made.s.n[SET_TRAIN]; i++)
            if (made.m.labels[SET_TRAIN][i] < 5)
                count[made.m.labels[SET_TRAIN][i]]++;
        for (int c = 0; c < 5; c++)
            CHECK_NEAR(count[c], 200, 60); /* 4.7 deviations */
        release(&made);
    }
}

/* The noise has the deviation that was asked for, and no mean. */
static void test_noise(void)
{
    struct made plain, noisy;
    struct job job[2];
    double sum = 0, squares = 0;
    size_t n;

    make(&plain, &job[0], "spectra", 50, 4, 1800, 0, 3);
    make(&noisy, &job[1], "spectra", 50, 4, 1800, 0.05, 3);
    n = 50 * plain.n;
    for (size_t i = 0; i < n; i++) {
        double d = noisy.m.images[SET_TRAIN][i] - plain.m.images[SET_TRAIN][i];

        sum += d;
        squares += d * d;
    }
    CHECK_NEAR(sum / (double)n, 0, 0.3);
    CHECK_NEAR(sqrt(squares / (double)n), 0.05 * 255, 0.3);
    release(&plain);
    release(&noisy);
}

/* The redshift by hand: [O II] stands where its wavelength times 1+z says, in a clean spectrum. */
static void test_redshift(void)
{
    struct made made;
    struct job job;
    int right = 0;

    make(&made, &job, "spectra", 200, 8, 1800, 0, 2);
    for (uint32_t i = 0; i < 200; i++) {
        const uint8_t *x = made.m.images[SET_TRAIN] + i * made.n;
        int label = made.m.labels[SET_TRAIN][i], best = 0;
        double first = log10(2.0), step = (log10(2.8) - first) / 8, sharpest = -1e9;

        for (int bin = 20; bin < 1780; bin++) { /* every place where the line may be */
            double shift = 3.85 + (bin + 0.5) / 1800 * 0.2 - log10(3727);
            double sharp = 2.0 * x[bin] - x[bin - 15] - x[bin + 15];
            int far = bin + (int)lround((log10(5006.8) - log10(3727)) / 0.2 * 1800);

            if (far < 1785) { /* then [O III] is in sight, too */
                double third = 2.0 * x[far] - x[far - 15] - x[far + 15];

                sharp = 2 * (third < sharp ? third : sharp);
            }
            if (shift < first || shift >= first + 8 * step || sharp <= sharpest)
                continue;
            sharpest = sharp;
            best = (int)((shift - first) / step);
        }
        right += best == label;
    }
    CHECK(right >= 198); /* a line may lie on the border of two bins */
    release(&made);
}

/* No one instrument tells all classes of a scene apart: height is the label's parity, and only
 * that. */
static void test_instruments(void)
{
    struct made made;
    struct job job;
    size_t area = 12 * 12;

    make(&made, &job, "scenes", 300, 6, 12, 0, 4);
    CHECK_INT(made.s.shape.c, 12);
    for (uint32_t i = 0; i + 1 < 300; i++) {
        const uint8_t *a = made.m.images[SET_TRAIN] + i * made.n, *b = a + made.n;
        int la = made.m.labels[SET_TRAIN][i], lb = made.m.labels[SET_TRAIN][i + 1];
        double ratio_a = (a[area - 1] + 1.0) / (a[2 * area - 1] + 1.0);
        double ratio_b = (b[area - 1] + 1.0) / (b[2 * area - 1] + 1.0);

        CHECK_INT(a[9 * area - 1] > 0.45 * 255, la % 2); /* the last pixel is never at the edge */
        if (la / 2 == lb / 2) /* of one material: bands in one proportion */
            CHECK_NEAR(ratio_a / ratio_b, 1, 0.1);
    }
    release(&made);
}

int main(void)
{
    test_stateless();
    test_classes();
    test_noise();
    test_redshift();
    test_instruments();
    return test_result();
}
