#include "worker/train/scores.h"

static double share(int64_t part, int64_t all) { return all > 0 ? (double)part / (double)all : 0; }

struct scores scores_macro(const int64_t *counts, int n)
{
    struct scores sum = {0};
    int classes = 0;

    for (int k = 0; k < n; k++) {
        const int64_t right = counts[k * n + k];
        int64_t samples = 0, named = 0;

        for (int i = 0; i < n; i++) {
            samples += counts[k * n + i];
            named += counts[i * n + k];
        }
        if (samples + named == 0)
            continue;
        classes++;
        sum.precision += share(right, named);
        sum.recall += share(right, samples);
        sum.f1 += share(2 * right, samples + named);
    }
    if (classes > 0)
        sum = (struct scores){sum.precision / classes, sum.recall / classes, sum.f1 / classes};
    return sum;
}
