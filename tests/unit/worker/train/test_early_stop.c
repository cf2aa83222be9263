// LINK: worker/train/early_stop.c common/losses.c common/named_sets.c
/* When earlyStopping stops: sequences by hand, by the rule of Keras's EarlyStopping. */
#include "worker/train/early_stop.h"

#include <math.h>

#include "tests/test.h"

#define EPOCHS 8

/* The epoch after which it stops, or 0. */
static int64_t when(const struct job_early_stop *rule, const double values[EPOCHS],
                    struct early_stop *e)
{
    *e = (struct early_stop){0};
    for (int64_t epoch = 1; epoch <= EPOCHS; epoch++) {
        early_stop_add(e, rule, epoch, values[epoch - 1]);
        if (early_stop_due(e, rule))
            return epoch;
    }
    return 0;
}

static void check(enum metric monitor, int64_t patience, double delta, const double values[EPOCHS],
                  int64_t want, int64_t best)
{
    const struct job_early_stop rule = {monitor, patience, delta};
    struct early_stop e;

    CHECK_INT(when(&rule, values, &e), want);
    CHECK_INT(e.epoch, best);
}

static void test_loss(void)
{
    static const double falling[EPOCHS] = {9, 8, 7, 6, 5, 4, 3, 2};
    static const double still[EPOCHS] = {3, 3, 3, 3, 3, 3, 3, 3};
    static const double wavy[EPOCHS] = {5, 6, 4, 4.5, 4.25, 3.5, 4, 3.75};

    check(METRIC_LOSS, 1, 0, falling, 0, 8);
    check(METRIC_LOSS, 1, 0, still, 2, 1); /* the same is not better */
    check(METRIC_LOSS, 3, 0, still, 4, 1);
    check(METRIC_LOSS, 8, 0, still, 0, 1);
    check(METRIC_LOSS, 0, 0, still, 0, 1); /* off */
    check(METRIC_LOSS, 1, 0, wavy, 2, 1);
    check(METRIC_LOSS, 2, 0, wavy, 5, 3);
    check(METRIC_LOSS, 3, 0, wavy, 0, 6); /* waiting begins anew with each best */
    check(METRIC_PERPLEXITY, 2, 0, wavy, 5, 3);
}

static void test_accuracy(void)
{
    static const double rising[EPOCHS] = {0.25, 0.5, 0.5, 0.75, 0.625, 0.75, 0.5, 0.875};

    check(METRIC_ACCURACY, 1, 0, rising, 3, 2);
    check(METRIC_ACCURACY, 2, 0, rising, 6, 4);
    check(METRIC_ACCURACY, 3, 0, rising, 7, 4);
    check(METRIC_ACCURACY, 4, 0, rising, 0, 8);
}

/* By more than minDelta, and against the best, not against the one before. */
static void test_delta(void)
{
    static const double slow[EPOCHS] = {4, 3.75, 3.5, 3.25, 3, 2.75, 2.5, 2.25};
    static const double up[EPOCHS] = {0, 0.25, 0.5, 0.75, 1, 1, 1, 1};

    check(METRIC_LOSS, 2, 0.25, slow, 0, 7);  /* epochs 1, 3, 5, 7 are the best in turn */
    check(METRIC_LOSS, 1, 0.25, slow, 2, 1);  /* exactly minDelta is not more */
    check(METRIC_LOSS, 3, 0.875, slow, 4, 1); /* after the fifth it would have been enough */
    check(METRIC_LOSS, 4, 0.875, slow, 0, 5);
    check(METRIC_ACCURACY, 2, 0.25, up, 7, 5); /* epochs 1, 3, 5 */
}

static void test_no_number(void)
{
    static const double first[EPOCHS] = {NAN, 2, NAN, NAN, 1, 1, 1, 1};
    static const double never[EPOCHS] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    static const double infinite[EPOCHS] = {INFINITY, 5, INFINITY, 4, 3, 3, 2, 2};

    check(METRIC_LOSS, 2, 0, first, 4, 2);
    check(METRIC_ACCURACY, 2, 0, never, 2, 0);
    check(METRIC_LOSS, 2, 0, infinite, 0, 7);
}

/* Of each metric: a rising sequence is better or worse. */
static void check_directions(void)
{
    static const double rising[EPOCHS] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const bool larger[N_METRICS] = {
        [METRIC_ACCURACY] = true,  [METRIC_BINARY_ACCURACY] = true, [METRIC_R2] = true,
        [METRIC_PRECISION] = true, [METRIC_RECALL] = true,          [METRIC_F1] = true};

    for (int m = 0; m < N_METRICS; m++)
        check((enum metric)m, 1, 0, rising, larger[m] ? 0 : 2, larger[m] ? 8 : 1);
}

int main(void)
{
    test_loss();
    test_accuracy();
    test_delta();
    test_no_number();
    check_directions();
    return test_result();
}
