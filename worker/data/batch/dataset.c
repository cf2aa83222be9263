#include "worker/data/batch/dataset.h"

#include <time.h>

#include "paceline/mem.h"

void sample_reader_init(struct sample_reader *r, const struct dataset *set, const struct job *job)
{
    *r = (struct sample_reader){.ops = set->ops};
    r->room = xmalloc(dataset_pixels(set) * sizeof *r->room);
    r->bytes = xmalloc(dataset_pixels(set));
    if (set->ops->reader_new)
        r->own = set->ops->reader_new(job);
}

void sample_reader_release(struct sample_reader *r)
{
    if (r->own)
        r->ops->reader_free(r->own);
    free(r->room);
    free(r->bytes);
    *r = (struct sample_reader){0};
}

double sample_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * Computes the mean first and then the distances from it, because a difference of large sums would
 * lose them. If all labels are the same, the sum of up to 2^29 floats is exact, so the mean is
 * their value and the spread is 0.
 */
int dataset_spread(const struct dataset *set, const uint32_t *index, uint32_t n, double *spread,
                   struct err *err)
{
    const size_t each = (size_t)set->values;
    AUTO(auto_free) float *row = xcalloc(each, sizeof *row);
    AUTO(auto_free) double *mean = xcalloc(each, sizeof *mean);

    for (uint32_t i = 0; i < n; i++) {
        if (set->ops->values(set, index ? index[i] : i, row, err))
            return -1;
        for (size_t k = 0; k < each; k++)
            mean[k] += (double)row[k];
    }
    for (size_t k = 0; k < each; k++) {
        mean[k] /= n;
        spread[k] = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (set->ops->values(set, index ? index[i] : i, row, err))
            return -1;
        for (size_t k = 0; k < each; k++) {
            const double d = (double)row[k] - mean[k];

            spread[k] += d * d;
        }
    }
    return 0;
}
