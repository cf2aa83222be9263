// LINK: worker/kernels common worker/model/loss.c worker/train/scores.c worker/train/score_sums.c
// Losses of numbers and bits beside PyTorch's, metrics beside scikit-learn's (tests/vectors),
// gradients beside finite differences, and the ends of the range of outputs.
#include "tests/test.h"
#include "tests/unit/fill.h"
#include "tests/unit/net_reference.h"
#include "worker/model/loss.h"
#include "worker/train/score_sums.h"

#define ROW 32
#define MOST 200 /* outputs of a batch of the vectors */

struct numbers {
    const char *at;
    int missing;
};

static double next(struct numbers *n)
{
    char *end;
    const double v = strtod(n->at, &end);

    n->missing += end == n->at;
    n->at = end;
    return v;
}

static void next_floats(struct numbers *n, float *to, int count)
{
    for (int i = 0; i < count && i < MOST; i++) {
        const double v = next(n);

        to[i] = (float)v;
        CHECK((double)to[i] == v); /* both sides start from the same values */
    }
}

/* A batch as the files have it. */
struct vector_batch {
    int rows, columns;
    float y[MOST], t[MOST];
};

static void next_batch(struct numbers *n, struct vector_batch *b)
{
    b->rows = (int)next(n);
    b->columns = (int)next(n);
    CHECK(b->rows > 0 && b->columns > 0 && b->rows * b->columns <= MOST);
    next_floats(n, b->y, b->rows * b->columns);
    next_floats(n, b->t, b->rows * b->columns);
}

typedef void line_fn(const char *name, struct numbers *n);

static int each_line(const char *path, line_fn *check)
{
    AUTO(auto_fclose) FILE *f = fopen(path, "r");
    static char line[1 << 16];
    int seen = 0;

    CHECK(f != NULL);
    while (f && fgets(line, sizeof line, f)) {
        char name[32];
        struct numbers n = {line, 0};

        CHECK_INT(sscanf(line, "%31s", name), 1);
        n.at += strlen(name);
        check(name, &n);
        CHECK_INT(n.missing, 0);
        CHECK_STR(n.at, "\n");
        seen++;
    }
    return seen;
}

static enum loss_type type_of(const char *name)
{
    for (int i = 0; i < N_LOSSES; i++)
        if (strcmp(loss_defs[i].name, name) == 0)
            return (enum loss_type)i;
    TEST_FAIL("no loss %s", name);
    return LOSS_MSE;
}

/* The loss is in double on both sides: what differs is the last digits of log and exp, and the
 * sum's order; PyTorch loses what is below 1e-16 of a sigmoid's loss. Gradients are rounded to
 * float here, and become 0 where theirs go on below 2^-60. */
static void check_torch(const char *name, struct numbers *n)
{
    static struct vector_batch b;
    const double delta = next(n);
    double loss = 0, want[MOST];
    float dy[MOST + ROW];

    next_batch(n, &b);
    const double want_loss = next(n);
    for (int i = 0; i < b.rows * b.columns; i++)
        want[i] = next(n);
    for (int r = 0; r < b.rows; r++) {
        const int at = r * b.columns;
        loss += loss_values(type_of(name), delta, b.y + at, (size_t)b.columns, b.columns, b.t + at,
                            (uint32_t)b.rows, dy + at)
                    .loss;
    }
    CHECK_NEAR(loss / b.rows, want_loss, 1e-14 * want_loss + 1e-16);
    for (int i = 0; i < b.rows * b.columns; i++)
        CHECK_NEAR((double)dy[i], want[i], fmax(6e-8 * fabs(want[i]), 0x1p-60));
}

static void check_sklearn(const char *name, struct numbers *n)
{
    static struct vector_batch v;
    const bool bits = strcmp(name, "bits") == 0;
    const enum loss_type type = bits ? LOSS_SIGMOID_CROSS_ENTROPY : LOSS_MSE;
    double sums[2] = {0}, errors[MOST] = {0};
    struct score_sums totals;

    next_batch(n, &v);
    score_sums_init(&totals, loss_defs[type].labels, v.columns, 2);
    const struct batch b = {.values = v.t};
    for (int r = 0; r < v.rows; r++) {
        const float *y = v.y + r * v.columns, *t = v.t + r * v.columns;
        const struct loss_result one = loss_values(type, 1, y, ROW, v.columns, t, 1, NULL);

        sums[0] += one.scores[0] / v.rows;
        sums[1] += one.scores[1] / v.rows;
        score_sums_add(&totals, r % 2, &b, (size_t)r, y, &one);
    }
    for (int k = 0; k < v.columns && !bits; k++) {
        CHECK(v.rows == 1 || totals.errors[v.columns + k] > 0 ||
              v.y[v.columns + k] == v.t[v.columns + k]);
        const double first = (double)v.t[k];
        double mean = first;

        errors[k] = totals.errors[k] + totals.errors[v.columns + k];
        for (int r = 0; r < v.rows; r++)
            mean += ((double)v.t[r * v.columns + k] - first) / v.rows;
        for (int r = 0; r < v.rows; r++)
            totals.spread[k] += pow((double)v.t[r * v.columns + k] - mean, 2);
    }
    const struct scores s = score_sums_scores(&totals, errors);
    CHECK_NEAR(sums[0], next(n), 1e-12);
    CHECK_NEAR(bits ? sums[1] : sqrt(sums[1]), next(n), 1e-12);
    CHECK_NEAR(bits ? s.precision : s.r2, next(n), 1e-12);
    CHECK(bits ? isnan(s.r2) : isnan(s.f1));
    if (bits) {
        CHECK_NEAR(s.recall, next(n), 1e-12);
        CHECK_NEAR(s.f1, next(n), 1e-12);
    }
    score_sums_clear(&totals);
    const struct scores none = score_sums_scores(&totals, bits ? NULL : totals.errors);
    CHECK(bits ? none.f1 == 0 : none.r2 == 1);
    score_sums_release(&totals);
}

static void test_gradient(enum loss_type type, double delta, int n, uint32_t n_global,
                          uint32_t seed)
{
    const double h = 1e-5;
    float y[ROW], t[ROW], dy[ROW];
    double at[ROW];

    fill_uniform(y, ROW, seed);
    fill_uniform(t, ROW, seed + 1);
    for (int i = 0; i < ROW; i++) {
        at[i] = (double)(y[i] *= 5);
        t[i] = loss_defs[type].labels == LABELS_BITS ? t[i] > 0 : 3 * t[i];
    }
    memset(dy, 0x7f, sizeof dy);
    const struct loss_result r = loss_values(type, delta, y, ROW, n, t, n_global, dy);
    CHECK_NEAR(r.loss, reference_values(type, delta, at, n, t), 1e-14 * (1 + r.loss));
    for (int i = 0; i < n; i++) {
        const double was = at[i];
        at[i] = was + h;
        const double above = reference_values(type, delta, at, n, t);
        at[i] = was - h;
        const double below = reference_values(type, delta, at, n, t);
        at[i] = was;
        CHECK_NEAR((double)dy[i] * n_global, (above - below) / (2 * h), 1e-6);
    }
    for (int i = n; i < ROW; i++)
        CHECK(dy[i] == 0);
}

/* No exponential overflows, no small loss is lost, and nothing is a subnormal number. */
static void test_ends(void)
{
    static const float y[] = {3e38f, -3e38f, 100, -100, 40, -40}, ones[] = {1, 1, 1, 1, 1, 1};
    float dy[6];

    for (size_t i = 0; i < ARRAY_LEN(y); i++) {
        const double v = (double)y[i], lost = v > 0 ? exp(-v) : -v;
        const struct loss_result r =
            loss_values(LOSS_SIGMOID_CROSS_ENTROPY, 1, &y[i], 1, 1, &ones[i], 1, &dy[i]);

        CHECK_NEAR(r.loss, lost, 1e-14 * lost);
        CHECK(r.scores[0] == (v > 0) && r.scores[1] == (v > 0));
        CHECK_NEAR((double)dy[i], v > 0 ? (v < 41 ? -exp(-v) : 0) : -1, 1e-7 * exp(-fabs(v)));
    }
    const float nan = NAN, t = 0;
    for (int type = 0; type < N_LOSSES; type++)
        if (loss_defs[type].labels > LABELS_WORDS)
            CHECK(isnan(loss_values(type, 1, &nan, 1, 1, &t, 1, dy).loss));
}

/* An output of 0 says 0; one wrong label of several is no hit. */
static void test_bits(void)
{
    const float y[] = {0, 1, -1, 2}, right[] = {0, 1, 0, 1}, wrong[] = {1, 1, 0, 1};
    struct loss_result r = loss_values(LOSS_SIGMOID_CROSS_ENTROPY, 1, y, 4, 4, right, 1, NULL);

    CHECK(r.scores[0] == 1 && r.scores[1] == 1);
    r = loss_values(LOSS_SIGMOID_CROSS_ENTROPY, 1, y, 4, 4, wrong, 1, NULL);
    CHECK(r.scores[0] == 0 && r.scores[1] == 0.75);

    struct score_sums sums;
    const struct batch b = {.values = wrong};
    score_sums_init(&sums, LABELS_BITS, 4, 1);
    score_sums_add(&sums, 0, &b, 0, y, &r);
    CHECK(sums.bits[0].named == 0 && sums.bits[0].real == 1 && sums.bits[0].right == 0);
    CHECK(sums.bits[1].named == 1 && sums.bits[1].real == 1 && sums.bits[1].right == 1);
    CHECK(sums.bits[2].named == 0 && sums.bits[2].real == 0);
    score_sums_release(&sums);
}

/* A weight scales a gradient, and settles it. */
static void test_weigh(void)
{
    float dy[] = {4, -2, 0x1p-59f};

    loss_weigh(dy, 3, 0.25);
    CHECK(dy[0] == 1 && dy[1] == -0.5f && dy[2] == 0);
}

int main(void)
{
    kernels_thread_init();
    CHECK_INT(each_line("tests/vectors/losses-torch.txt", check_torch), 24);
    CHECK_INT(each_line("tests/vectors/scores-sklearn.txt", check_sklearn), 7);
    for (uint32_t i = 0; i < 20; i++) {
        const int n = 1 + (int)(fill_u32(i, 0) % ROW);

        test_gradient(LOSS_MSE, 0, n, 1 + i * 7, i);
        test_gradient(LOSS_MAE, 0, n, 1 + i * 7, i);
        test_gradient(LOSS_HUBER, 0.75, n, 1 + i * 7, i);
        test_gradient(LOSS_SIGMOID_CROSS_ENTROPY, 0, n, 1 + i * 7, i);
    }
    test_ends();
    test_bits();
    test_weigh();
    return test_result();
}
