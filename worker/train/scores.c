#include "worker/train/scores.h"

#include <math.h>

const struct scores no_scores = {NAN, NAN, NAN, NAN};

static double scores_share(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : 0;
}

/* The sums over so many classes or outputs as means. */
static struct scores averaged(double precision, double recall, double f1, int n)
{
    const double each = n > 0 ? n : 1;

    return (struct scores){precision / each, recall / each, f1 / each, NAN};
}

struct scores scores_of_classes(const int64_t *counts, int n)
{
    double precision = 0, recall = 0, f1 = 0;
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
        precision += scores_share(right, named);
        recall += scores_share(right, samples);
        f1 += scores_share(2 * right, samples + named);
    }
    return averaged(precision, recall, f1, classes);
}

struct scores scores_of_bits(const struct bit_counts *counts, int n)
{
    double precision = 0, recall = 0, f1 = 0;

    for (int k = 0; k < n; k++) {
        precision += scores_share(counts[k].right, counts[k].named);
        recall += scores_share(counts[k].right, counts[k].real);
        f1 += scores_share(2 * counts[k].right, counts[k].named + counts[k].real);
    }
    return averaged(precision, recall, f1, n);
}

static double r2(double errors, double spread)
{
    if (spread > 0 || errors != errors)
        return 1 - errors / spread;
    return errors > 0 ? 0 : 1;
}

struct scores scores_of_numbers(const double *errors, const double *spread, int n)
{
    struct scores s = no_scores;
    double sum = 0;

    for (int k = 0; k < n; k++)
        sum += r2(errors[k], spread[k]);
    s.r2 = sum / n;
    return s;
}
