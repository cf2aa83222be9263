/* Losses; see loss.h. Plain C: ten outputs a sample, the order is the loop's. */
#include "worker/model/loss.h"

/* A gradient this small would only make subnormal numbers, which are slow, further down. */
static float settle(float gradient)
{
    return gradient < 0x1p-60f && gradient > -0x1p-60f ? 0.0f : gradient;
}

static void rank_outputs(const float *y, int n, int label, struct loss_result *r)
{
    const float score = y[label];
    int best = 0, above = 0;

    for (int i = 0; i < n; i++) {
        best = y[i] > y[best] ? i : best;
        above += y[i] > score || (y[i] == score && i < label);
    }
    r->predicted = best;
    r->correct = best == label;
    r->top5 = above < 5;
}

struct loss_result loss_sample(enum loss_type type, const struct kernels *k, const float *y,
                               size_t row, int n_classes, int label, uint32_t n_global, float *dy,
                               float *probabilities)
{
    struct loss_result r = {0};
    float *p = probabilities ? probabilities : dy;

    if (type == LOSS_SOFTMAX_CROSS_ENTROPY) {
        r.loss = (double)k->math->softmax(p, y, (size_t)n_classes) - (double)y[label];
    } else {
        for (int i = 0; i < n_classes; i++) {
            double d = (double)y[i] - (i == label);
            r.loss += 0.5 * d * d;
            p[i] = y[i];
        }
    }
    rank_outputs(y, n_classes, label, &r);
    if (!dy)
        return r;
    const float of_label = settle((p[label] - 1.0f) / (float)n_global);
    for (int i = 0; i < n_classes; i++)
        dy[i] = settle(p[i] / (float)n_global);
    dy[label] = of_label;
    memset(dy + n_classes, 0, (row - (size_t)n_classes) * sizeof *dy);
    return r;
}
