#include "worker/data/normalize.h"

#include <math.h>

#include "paceline/mem.h"

enum { SUM, SQUARES, CHANNEL_SUMS }; /* of a channel */

__extension__ typedef unsigned __int128 wide; /* a set's pixels times the sum of their squares */

static size_t plane(const struct normalizer *n) { return (size_t)n->shape.h * (size_t)n->shape.w; }

static size_t n_tables(const struct normalizer *n)
{
    return n->by == NORMALIZE_CHANNEL ? (size_t)n->shape.c : 1;
}

static void fill_table(float *table, double mean, double std)
{
    for (int i = 0; i < 256; i++)
        table[i] = (float)((i / 255.0 - mean) / std);
}

void normalizer_init(struct normalizer *n, const struct job *job, struct shape shape)
{
    const size_t channels = (size_t)shape.c;

    *n = (struct normalizer){.by = job->dataset.normalize_by, .shape = shape};
    n->n_mean = n->by == NORMALIZE_CHANNEL ? channels
                : n->by == NORMALIZE_PIXEL ? channels * plane(n)
                                           : 0;
    n->n_std = n->by == NORMALIZE_CHANNEL ? channels : 0;
    n->mean = xcalloc(n->n_mean, sizeof *n->mean);
    n->std = xcalloc(n->n_std, sizeof *n->std);
    for (size_t i = 0; i < n->n_std; i++)
        n->std[i] = 1;
    n->tables = xcalloc(n_tables(n) * 256, sizeof *n->tables);
    if (n->by == NORMALIZE_GIVEN)
        fill_table(n->tables, job->dataset.mean, job->dataset.std);
    normalizer_use(n);
}

void normalizer_release(struct normalizer *n)
{
    free(n->mean);
    free(n->std);
    free(n->tables);
    *n = (struct normalizer){0};
}

size_t normalizer_sums(const struct normalizer *n)
{
    return n->by == NORMALIZE_CHANNEL ? n->n_mean * CHANNEL_SUMS : n->n_mean;
}

static void add_channel(uint64_t *sums, const uint8_t *bytes, size_t n)
{
    const size_t chunk = 1 << 16; /* whose squares fit 32 bits */

    for (size_t begin = 0; begin < n; begin += chunk) {
        const size_t end = n - begin < chunk ? n : begin + chunk;
        uint32_t sum = 0, squares = 0;

        for (size_t i = begin; i < end; i++) {
            sum += bytes[i];
            squares += (uint32_t)bytes[i] * bytes[i];
        }
        sums[SUM] += sum;
        sums[SQUARES] += squares;
    }
}

void normalizer_add(const struct normalizer *n, uint64_t *sums, const uint8_t *bytes)
{
    if (n->by == NORMALIZE_PIXEL)
        for (size_t k = 0; k < n->n_mean; k++)
            sums[k] += bytes[k];
    if (n->by == NORMALIZE_CHANNEL)
        for (size_t c = 0; c < n->n_mean; c++)
            add_channel(sums + c * CHANNEL_SUMS, bytes + c * plane(n), plane(n));
}

/* Of n values; the variance's numerator n * squares - sum^2 is exact. */
static void learn_channel(float *mean, float *std, const uint64_t *sums, uint64_t n)
{
    const wide spread = (wide)n * sums[SQUARES] - (wide)sums[SUM] * sums[SUM];
    const double count = 255.0 * (double)n;

    *mean = (float)((double)sums[SUM] / count);
    *std = spread ? (float)(sqrt((double)spread) / count) : 1;
}

void normalizer_learn(struct normalizer *n, const uint64_t *sums, uint64_t samples)
{
    if (n->by == NORMALIZE_PIXEL)
        for (size_t k = 0; k < n->n_mean; k++)
            n->mean[k] = (float)((double)sums[k] / (255.0 * (double)samples));
    if (n->by == NORMALIZE_CHANNEL)
        for (size_t c = 0; c < n->n_mean; c++)
            learn_channel(&n->mean[c], &n->std[c], sums + c * CHANNEL_SUMS, samples * plane(n));
    normalizer_use(n);
}

void normalizer_use(struct normalizer *n)
{
    if (n->by == NORMALIZE_PIXEL)
        fill_table(n->tables, 0, 1);
    if (n->by == NORMALIZE_CHANNEL)
        for (size_t c = 0; c < n->n_mean; c++)
            fill_table(n->tables + c * 256, (double)n->mean[c], (double)n->std[c]);
}

void normalizer_apply(const struct normalizer *n, float *x, const uint8_t *bytes)
{
    const size_t tables = n_tables(n), each = plane(n) * (size_t)n->shape.c / tables;

    for (size_t c = 0; c < tables; c++) {
        const float *table = n->tables + c * 256;

        for (size_t k = c * each; k < (c + 1) * each; k++)
            x[k] = table[bytes[k]];
    }
    if (n->by == NORMALIZE_PIXEL)
        for (size_t k = 0; k < n->n_mean; k++)
            x[k] -= n->mean[k];
}
