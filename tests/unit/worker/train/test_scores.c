// LINK: worker/train/scores.c
/* Precision, recall and F1 beside the examples of scikit-learn's documentation (precision_score,
 * recall_score and f1_score with average="macro"), and by hand. */
#include "tests/test.h"
#include "worker/train/scores.h"

/* y_true = [0, 1, 2, 0, 1, 2], y_pred = [0, 2, 1, 0, 0, 1]: 0.22, 0.33, 0.27. */
static void test_example(void)
{
    const int64_t counts[] = {2, 0, 0, 1, 0, 1, 0, 2, 0};
    const struct scores s = scores_of_classes(counts, 3);

    CHECK_NEAR(s.precision, 2.0 / 9, 1e-15);
    CHECK_NEAR(s.recall, 1.0 / 3, 1e-15);
    CHECK_NEAR(s.f1, 4.0 / 15, 1e-15);
}

/* Of 10 samples 8 are of class 0; one of each class is named the other. Rows are labels. */
static void test_uneven(void)
{
    const int64_t counts[] = {6, 2, 1, 1};
    const struct scores s = scores_of_classes(counts, 2);

    CHECK_NEAR(s.precision, (6.0 / 7 + 1.0 / 3) / 2, 1e-15);
    CHECK_NEAR(s.recall, (0.75 + 0.5) / 2, 1e-15);
    CHECK_NEAR(s.f1, (0.8 + 0.4) / 2, 1e-15);
}

/* Class 2 was named and has no sample: it counts with 0. Class 3 is neither: it does not count. */
static void test_absent(void)
{
    const int64_t counts[16] = {[0] = 3, [2] = 1, [5] = 4};
    const struct scores s = scores_of_classes(counts, 4);

    CHECK_NEAR(s.precision, (1.0 + 1.0 + 0) / 3, 1e-15);
    CHECK_NEAR(s.recall, (0.75 + 1.0 + 0) / 3, 1e-15);
    CHECK_NEAR(s.f1, (6.0 / 7 + 1.0 + 0) / 3, 1e-15);
}

static void test_nothing(void)
{
    const int64_t counts[4] = {0};
    const struct scores s = scores_of_classes(counts, 2);

    CHECK(s.precision == 0 && s.recall == 0 && s.f1 == 0);
}

int main(void)
{
    test_example();
    test_uneven();
    test_absent();
    test_nothing();
    return test_result();
}
