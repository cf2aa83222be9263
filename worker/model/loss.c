/* Losses; see loss.h. */
#include "worker/model/loss.h"

#include <math.h>

/* The loss of one output, and its gradient. */
struct term {
    double loss, slope;
};

static struct term mse(double y, double t, double delta)
{
    const double d = y - t;

    (void)delta;
    return (struct term){d * d, 2 * d};
}

static struct term mae(double y, double t, double delta)
{
    const double d = y - t;

    (void)delta;
    return (struct term){fabs(d), (d > 0) - (d < 0)};
}

static struct term huber(double y, double t, double delta)
{
    const double d = y - t;

    if (fabs(d) <= delta)
        return (struct term){0.5 * d * d, d};
    return (struct term){delta * (fabs(d) - 0.5 * delta), d > 0 ? delta : -delta};
}

/* log(1 + x) for 0 <= x <= 1, to the last bits of x also where 1 + x has lost them (Goldberg 1991,
 * theorem 4). */
static double log_1_plus(double x)
{
    const double sum = 1 + x;

    return sum == 1 ? x : math_log(sum) * (x / (sum - 1));
}

/* No exponential of a number above 0, so none overflows. Neither p nor 1 - p is computed as a
 * difference. */
static struct term sigmoid_cross_entropy(double y, double t, double delta)
{
    const double e = math_exp(-fabs(y)), larger = 1 / (1 + e), smaller = e / (1 + e);
    const double p = y > 0 ? larger : smaller, rest = y > 0 ? smaller : larger;

    (void)delta;
    return (struct term){(y > 0 ? y : 0) - y * t + log_1_plus(e), (1 - t) * p - t * rest};
}

/* The loss of a row of outputs with one label. p gets the values that the gradient is computed
 * from. */
static double softmax_cross_entropy(const struct kernels *k, float *p, const float *y, int n,
                                    int label)
{
    return (double)k->math->softmax(p, y, (size_t)n) - (double)y[label];
}

static double squared_error(const struct kernels *k, float *p, const float *y, int n, int label)
{
    double sum = 0;

    (void)k;
    for (int i = 0; i < n; i++) {
        const double d = (double)y[i] - (i == label);

        sum += 0.5 * d * d;
        p[i] = y[i];
    }
    return sum;
}

/* One or the other, by what the labels are. */
static const struct {
    double (*of_class)(const struct kernels *k, float *p, const float *y, int n, int label);
    struct term (*of_value)(double y, double t, double delta);
} losses[N_LOSSES] = {
    [LOSS_SOFTMAX_CROSS_ENTROPY] = {.of_class = softmax_cross_entropy},
    [LOSS_SQUARED_ERROR] = {.of_class = squared_error},
    [LOSS_MSE] = {.of_value = mse},
    [LOSS_MAE] = {.of_value = mae},
    [LOSS_HUBER] = {.of_value = huber},
    [LOSS_SIGMOID_CROSS_ENTROPY] = {.of_value = sigmoid_cross_entropy},
};

/* A gradient this small would only make subnormal numbers, which are slow, further down. */
static float loss_settle(float gradient)
{
    return gradient < 0x1p-60f && gradient > -0x1p-60f ? 0.0f : gradient;
}

struct loss_result loss_sample(enum loss_type type, const struct kernels *k, const float *y,
                               size_t row, int n_classes, int label, uint32_t n_global, float *dy,
                               float *probabilities)
{
    float *p = probabilities ? probabilities : dy;
    struct loss_result r = {.loss = losses[type].of_class(k, p, y, n_classes, label)};
    size_t above;

    r.predicted = (int)k->math->rank(y, (size_t)n_classes, (size_t)label, &above);
    r.scores[0] = r.predicted == label;
    r.scores[1] = above < 5;
    if (!dy)
        return r;
    const float of_label = loss_settle((p[label] - 1.0f) / (float)n_global);
    k->math->divide(dy, p, (float)n_global, (size_t)n_classes);
    dy[label] = of_label;
    memset(dy + n_classes, 0, (row - (size_t)n_classes) * sizeof *dy);
    return r;
}

static void score_numbers(double scores[2], const float *y, int n, const float *t)
{
    for (int i = 0; i < n; i++) {
        const double d = (double)y[i] - (double)t[i];

        scores[0] += fabs(d);
        scores[1] += d * d;
    }
    scores[0] /= n;
    scores[1] /= n;
}

static void score_bits(double scores[2], const float *y, int n, const float *t)
{
    int right = 0;

    for (int i = 0; i < n; i++)
        right += (y[i] > 0) == (t[i] > 0);
    scores[0] = right == n;
    scores[1] = (double)right / n;
}

struct loss_result loss_values(enum loss_type type, double delta, const float *y, size_t row, int n,
                               const float *t, uint32_t n_global, float *dy)
{
    const double share = 1 / ((double)n * (double)n_global);
    struct loss_result r = {0};

    for (int i = 0; i < n; i++) {
        const struct term term = losses[type].of_value((double)y[i], (double)t[i], delta);

        r.loss += term.loss;
        if (dy)
            dy[i] = loss_settle((float)(term.slope * share));
    }
    r.loss /= n;
    if (loss_defs[type].labels == LABELS_BITS)
        score_bits(r.scores, y, n, t);
    else
        score_numbers(r.scores, y, n, t);
    if (dy)
        memset(dy + n, 0, (row - (size_t)n) * sizeof *dy);
    return r;
}

void loss_weigh(float *dy, int n, double weight)
{
    for (int i = 0; i < n; i++)
        dy[i] = loss_settle((float)weight * dy[i]);
}
