// LINK: worker/train/slowness.c worker/kernels/random_scalar.c
#include "worker/train/slowness.h"
#include <math.h>

#include "tests/test.h"

enum { STEPS = 1000 };

int main(void)
{
    struct job job = {.training.seed = 7};
    double factors[] = {1, 3}, least = 9, most = 0, sum = 0;
    int alike = 0;

    CHECK(slowness(&job, 0, 0) == 1);
    job.debug.slowdown = factors;
    job.debug.n_slowdown = 2;
    CHECK(slowness(&job, 0, 5) == 1 && slowness(&job, 1, 5) == 3 && slowness(&job, 2, 5) == 1);

    /* From 1 to 1.5, evenly: the mean of 1000 is within 5 standard deviations; by rank and step. */
    job.debug.jitter = 0.5;
    for (int64_t step = 0; step < STEPS; step++) {
        double x = slowness(&job, 0, step);

        CHECK(x == slowness(&job, 0, step));
        alike += x == slowness(&job, 2, step) || x == slowness(&job, 0, step + 1);
        least = x < least ? x : least;
        most = x > most ? x : most;
        sum += x;
    }
    CHECK(least >= 1 && least < 1.01 && most > 1.49 && most < 1.5);
    CHECK_NEAR(sum / STEPS, 1.25, 5 * 0.5 / sqrt(12.0 * STEPS));
    CHECK_INT(alike, 0);
    CHECK(slowness(&job, 1, 9) >= 3 && slowness(&job, 1, 9) < 4.5);

    double of_seed_7 = slowness(&job, 0, 3);

    job.training.seed = 8;
    CHECK(slowness(&job, 0, 3) != of_seed_7);
    return test_result();
}
