// LINK: worker/optim/schedule.c worker/kernels/math_scalar.c
/* Learning-rate schedules at their corners and against libm. */
#include "tests/test.h"
#include "worker/optim/optim.h"

static struct job base(enum schedule_type type)
{
    return (struct job){.training = {.epochs = 10,
                                     .optimizer = {.learning_rate = 0.5},
                                     .schedule = {.type = type}}};
}

static void check_constant(void)
{
    struct job job = base(SCHED_CONSTANT);

    CHECK_NEAR(schedule_rate(&job, 0), 0.5, 0);
    CHECK_NEAR(schedule_rate(&job, 9.99), 0.5, 0);
    job.training.schedule.warmup_epochs = 2;
    job.training.schedule.warmup_from = 0.25;
    CHECK_NEAR(schedule_rate(&job, 0), 0.125, 0);
    CHECK_NEAR(schedule_rate(&job, 1), 0.3125, 0);
    CHECK_NEAR(schedule_rate(&job, 2), 0.5, 0);
}

static void check_piecewise(void)
{
    struct job job = base(SCHED_PIECEWISE);

    job.training.schedule.boundaries = (double[]){2, 4.5};
    job.training.schedule.n_boundaries = 2;
    job.training.schedule.values = (double[]){1, 0.5, 0.125};
    job.training.schedule.n_values = 3;
    CHECK_NEAR(schedule_rate(&job, 0), 0.5, 0);
    CHECK_NEAR(schedule_rate(&job, 1.999), 0.5, 0);
    CHECK_NEAR(schedule_rate(&job, 2), 0.25, 0);
    CHECK_NEAR(schedule_rate(&job, 4.5), 0.0625, 0);
    CHECK_NEAR(schedule_rate(&job, 100), 0.0625, 0);
    job.training.schedule.warmup_epochs = 3; /* to the value in force at its end */
    CHECK_NEAR(schedule_rate(&job, 1.5), 0.125, 0);
    CHECK_NEAR(schedule_rate(&job, 3), 0.25, 0);
}

static void check_cosine(void)
{
    struct job job = base(SCHED_COSINE);

    job.training.schedule.min_factor = 0.1;
    CHECK_NEAR(schedule_rate(&job, 0), 0.5, 0);
    CHECK_NEAR(schedule_rate(&job, 5), 0.5 * 0.55, 1e-16);
    CHECK_NEAR(schedule_rate(&job, 10), 0.05, 1e-16);
    CHECK_NEAR(schedule_rate(&job, 12), 0.05, 1e-16);
    for (int i = 0; i < 100; i++)
        CHECK_NEAR(schedule_rate(&job, 0.1 * i),
                   0.5 * (0.1 + 0.9 * 0.5 * (1 + cos(M_PI * 0.01 * i))), 3e-16);
    job.training.schedule.warmup_epochs = 2;
    CHECK_NEAR(schedule_rate(&job, 0), 0, 0);
    CHECK_NEAR(schedule_rate(&job, 1), 0.25, 0);
    CHECK_NEAR(schedule_rate(&job, 2), 0.5, 0);
    CHECK_NEAR(schedule_rate(&job, 6), 0.5 * 0.55, 1e-16);
    job.training.schedule.warmup_epochs = 10; /* nothing is left for the cosine */
    CHECK_NEAR(schedule_rate(&job, 10), 0.05, 1e-16);
}

static void check_exponential(void)
{
    struct job job = base(SCHED_EXPONENTIAL);

    job.training.schedule.decay_rate = 0.96;
    job.training.schedule.decay_epochs = 2;
    CHECK_NEAR(schedule_rate(&job, 0), 0.5, 0);
    CHECK_NEAR(schedule_rate(&job, 4), 0.5 * 0.96 * 0.96, 2e-16);
    for (int i = 0; i < 100; i++)
        CHECK_NEAR(schedule_rate(&job, 0.1 * i), 0.5 * pow(0.96, 0.05 * i), 5e-16);
    job.training.schedule.warmup_epochs = 1;
    CHECK_NEAR(schedule_rate(&job, 0.5), 0.25, 0);
    CHECK_NEAR(schedule_rate(&job, 1), 0.5, 0);
    CHECK_NEAR(schedule_rate(&job, 3), 0.48, 2e-16);
}

int main(void)
{
    check_constant();
    check_piecewise();
    check_cosine();
    check_exponential();
    return test_result();
}
