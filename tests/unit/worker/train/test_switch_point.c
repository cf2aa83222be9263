// LINK: worker/train/switch_point.c
/* When StrategySwitch switches: rounding, the plateau rule by hand, what no loss can do to it. */
#include "worker/train/switch_point.h"

#include <math.h>

#include "tests/test.h"

/* The epoch after which it switches, of so many, and why; 0: it never does. */
static int64_t when(const struct job_switch *s, double epochs, const double *loss,
                    enum switch_reason *reason)
{
    struct losses l = {0};

    for (int64_t epoch = 1; (double)epoch < epochs + 1; epoch++) {
        if (loss)
            losses_add(&l, (int)s->window, loss[epoch - 1]);
        *reason = switch_due(s, epochs, epoch, &l);
        if (*reason != SWITCH_NOT)
            return epoch;
    }
    return 0;
}

static void check_fraction(double fraction, double epochs, int64_t want)
{
    const struct job_switch s = {.when = WHEN_FRACTION, .fraction = fraction};
    enum switch_reason reason;

    CHECK_INT(when(&s, epochs, NULL, &reason), want);
    CHECK_INT(reason, want ? SWITCH_FRACTION : SWITCH_NOT);
}

/* Study 002's own points, halves, and that each strategy has an epoch. */
static void test_fraction(void)
{
    check_fraction(0.25, 180, 45);
    check_fraction(0.75, 40, 30);
    check_fraction(0.5, 5, 3);
    check_fraction(0.49, 5, 2);
    check_fraction(0.01, 5, 1);
    check_fraction(0.99, 5, 4);
    check_fraction(0.5, 2, 1);
    check_fraction(0.5, 1, 0);
    check_fraction(0.9, 2.5, 2); /* training.steps amid the third */
    check_fraction(0.5, 0.5, 0);
}

static void test_epoch(void)
{
    const struct job_switch s = {.when = WHEN_EPOCH, .epoch = 3};
    enum switch_reason reason;

    CHECK_INT(when(&s, 8, NULL, &reason), 3);
    CHECK_INT(reason, SWITCH_EPOCH);
    CHECK_INT(when(&s, 3, NULL, &reason), 0);
    CHECK_INT(when(&s, 3.5, NULL, &reason), 3);
    CHECK_INT(switch_due(&s, 8, 5, &(struct losses){0}), SWITCH_EPOCH); /* late is not never */
}

static void check_plateau(const double loss[8], int64_t want, enum switch_reason why)
{
    const struct job_switch s = {
        .when = WHEN_PLATEAU, .fraction = 0.9, .window = 4, .threshold = 0.1};
    enum switch_reason reason;

    CHECK_INT(when(&s, 8, loss, &reason), want);
    CHECK_INT(reason, why);
}

static void test_plateau(void)
{
    static const double falling[8] = {128, 64, 32, 16, 8, 4, 2, 1};
    static const double still[8] = {4, 4, 4, 4, 4, 4, 4, 4};
    /* changes of 0.5, 0.1, 0.1, 0.1 of the loss before: 0.2333 after epoch 4, 0.1 after 5 */
    static const double slower[8] = {2, 1, 1.1, 0.99, 1.08899, 9, 1, 9};
    static const double zero[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    static const double from_zero[8] = {0, 0, 1, 0, 1, 0, 1, 0};
    static const double nan_at_2[8] = {1, NAN, 1, 1, 1, 1, 1, 1};
    static const double infinite[8] = {INFINITY, INFINITY, INFINITY, INFINITY,
                                       INFINITY, INFINITY, INFINITY, INFINITY};

    check_plateau(falling, 7, SWITCH_FALLBACK);
    check_plateau(still, 4, SWITCH_PLATEAU);
    check_plateau(slower, 5, SWITCH_PLATEAU);
    check_plateau(zero, 4, SWITCH_PLATEAU);
    check_plateau(from_zero, 7, SWITCH_FALLBACK);
    check_plateau(nan_at_2, 6, SWITCH_PLATEAU); /* when it has left the window */
    check_plateau(infinite, 7, SWITCH_FALLBACK);
}

/* s of known numbers, of the newest of them, and of too few. */
static void test_change(void)
{
    struct losses l = {0};

    CHECK(isnan(losses_change(&l, 3)));
    losses_add(&l, 3, 2);
    losses_add(&l, 3, 1);
    CHECK(isnan(losses_change(&l, 3)));
    losses_add(&l, 3, 1.25);
    CHECK(losses_change(&l, 3) == 0.375);
    losses_add(&l, 3, 2.5);
    CHECK(losses_change(&l, 3) == 0.625);
    CHECK_INT(l.n, 3);
    for (int i = 0; i < 100; i++)
        losses_add(&l, LOSSES_MAX, i);
    CHECK_INT(l.n, LOSSES_MAX);
    CHECK(l.of_epoch[LOSSES_MAX - 1] == 99);
    losses_add(&l, 3, 100); /* resumed with a smaller window */
    CHECK_INT(l.n, 3);
    CHECK(l.of_epoch[0] == 98);
}

static void test_momentum(void)
{
    struct job_switch s = {.momentum = MOMENTUM_RAMP, .factor = 0.25, .ramp_epochs = 3};

    CHECK(switch_momentum(&s, 0) == 0.25);
    CHECK(switch_momentum(&s, 1) == 0.5);
    CHECK(switch_momentum(&s, 2) == 0.75);
    CHECK(switch_momentum(&s, 3) == 1);
    CHECK(switch_momentum(&s, 30) == 1);
    s.momentum = MOMENTUM_SCALE; /* the buffer's affair */
    CHECK(switch_momentum(&s, 0) == 1);
}

int main(void)
{
    test_fraction();
    test_epoch();
    test_plateau();
    test_change();
    test_momentum();
    return test_result();
}
