/* Losses; see loss.h. */
#include "worker/model/loss.h"

/* A gradient this small would only make subnormal numbers, which are slow, further down. */
static float settle(float gradient)
{
    return gradient < 0x1p-60f && gradient > -0x1p-60f ? 0.0f : gradient;
}

struct loss_result loss_sample(enum loss_type type, const struct kernels *k, const float *y,
                               size_t row, int n_classes, int label, uint32_t n_global, float *dy,
                               float *probabilities)
{
    struct loss_result r = {0};
    float *p = probabilities ? probabilities : dy;
    size_t above;

    if (type == LOSS_SOFTMAX_CROSS_ENTROPY) {
        r.loss = (double)k->math->softmax(p, y, (size_t)n_classes) - (double)y[label];
    } else {
        for (int i = 0; i < n_classes; i++) {
            double d = (double)y[i] - (i == label);
            r.loss += 0.5 * d * d;
            p[i] = y[i];
        }
    }
    r.predicted = (int)k->math->rank(y, (size_t)n_classes, (size_t)label, &above);
    r.correct = r.predicted == label;
    r.top5 = above < 5;
    if (!dy)
        return r;
    const float of_label = settle((p[label] - 1.0f) / (float)n_global);
    k->math->divide(dy, p, (float)n_global, (size_t)n_classes);
    dy[label] = of_label;
    memset(dy + n_classes, 0, (row - (size_t)n_classes) * sizeof *dy);
    return r;
}

double loss_side(enum loss_type type, const struct kernels *k, const float *y, size_t row,
                 int n_classes, int label, uint32_t n_global, float *dy, double weight)
{
    const double loss = loss_sample(type, k, y, row, n_classes, label, n_global, dy, NULL).loss;

    for (int i = 0; i < n_classes; i++)
        dy[i] = settle((float)weight * dy[i]);
    return weight * loss;
}
