#include "worker/data/batch/normalize.h"

#include <math.h>
#include <string.h>

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

/* The channels of so many inputs' shapes, one after the other; ends NULL: they are counted. */
static size_t list_channels(size_t *ends, const struct shape *shapes, size_t n)
{
    size_t channels = 0, end = 0;

    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < shapes[i].c; c++) {
            end += (size_t)shapes[i].h * (size_t)shapes[i].w;
            if (ends)
                ends[channels] = end;
            channels++;
        }
    return channels;
}

/* Of floats: pixels are channels of one value. */
static void init_floats(struct normalizer *n, const struct job *job)
{
    AUTO(auto_free) struct shape *shapes = xcalloc(job->model.n_layers + 1, sizeof *shapes);
    size_t inputs = 0;

    n->given_mean = (float)job->dataset.mean;
    n->given_std = (float)job->dataset.std;
    if (n->by == NORMALIZE_GIVEN)
        return;
    for (size_t i = 0; i < job->model.n_layers; i++)
        if (job->model.layers[i].type == LAYER_INPUT)
            shapes[inputs++] = net_input_shape(&job->model.layers[i]);
    if (inputs == 0 || n->by == NORMALIZE_PIXEL) {
        shapes[0] = n->shape;
        inputs = 1;
    }
    if (n->by == NORMALIZE_PIXEL)
        shapes[0] = (struct shape){n->shape.c * n->shape.h * n->shape.w, 1, 1};
    n->n_mean = list_channels(NULL, shapes, inputs);
    n->ends = xcalloc(n->n_mean, sizeof *n->ends);
    list_channels(n->ends, shapes, inputs);
    n->n_std = n->by == NORMALIZE_CHANNEL ? n->n_mean : 0;
}

static void init_bytes(struct normalizer *n, const struct job *job)
{
    const size_t channels = (size_t)n->shape.c;

    n->n_mean = n->by == NORMALIZE_CHANNEL ? channels
                : n->by == NORMALIZE_PIXEL ? channels * plane(n)
                                           : 0;
    n->n_std = n->by == NORMALIZE_CHANNEL ? channels : 0;
    n->tables = xcalloc(n_tables(n) * 256, sizeof *n->tables);
    if (n->by == NORMALIZE_GIVEN)
        fill_table(n->tables, job->dataset.mean, job->dataset.std);
}

void normalizer_init(struct normalizer *n, const struct job *job, struct shape shape)
{
    *n = (struct normalizer){.by = job->dataset.normalize_by, .shape = shape};
    n->floats = named_set_is_floats(job_named_set(job));
    if (n->floats)
        init_floats(n, job);
    else
        init_bytes(n, job);
    n->mean = xcalloc(n->n_mean, sizeof *n->mean);
    n->std = xcalloc(n->n_std, sizeof *n->std);
    for (size_t i = 0; i < n->n_std; i++)
        n->std[i] = 1;
    normalizer_use(n);
}

void normalizer_release(struct normalizer *n)
{
    free(n->ends);
    free(n->mean);
    free(n->std);
    free(n->tables);
    *n = (struct normalizer){0};
}

size_t normalizer_sums(const struct normalizer *n)
{
    if (n->floats)
        return 0;
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
    if (n->floats)
        return;
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

/* From its first value on, so that what never changes has a spread of exactly 0. */
struct channel_sums {
    double from, sum, squares;
};

static void normalize_add_floats(const struct normalizer *n, struct channel_sums *sums,
                                 const float *x)
{
    for (size_t c = 0, k = 0; c < n->n_mean; c++) {
        struct channel_sums s = sums[c];

        for (; k < n->ends[c]; k++) {
            const double d = (double)x[k] - s.from;

            s.sum += d;
            s.squares += d * d;
        }
        sums[c] = s;
    }
}

int normalizer_learn_floats(struct normalizer *n, normalizer_sample_fn *sample, void *arg,
                            uint32_t samples, struct err *err)
{
    AUTO(auto_free) struct channel_sums *sums = xcalloc(n->n_mean, sizeof *sums);
    const size_t values = n->n_mean ? n->ends[n->n_mean - 1] : 0;
    AUTO(auto_free) float *x = xcalloc(values, sizeof *x);

    for (uint32_t i = 0; i < samples && values; i++) {
        if (sample(arg, i, x, err))
            return -1;
        for (size_t c = 0; c < n->n_mean && i == 0; c++)
            sums[c].from = (double)x[c ? n->ends[c - 1] : 0];
        normalize_add_floats(n, sums, x);
    }
    for (size_t c = 0; c < n->n_mean; c++) {
        const size_t each = n->ends[c] - (c ? n->ends[c - 1] : 0);
        const double count = (double)samples * (double)each, mean = sums[c].sum / count;
        const double variance = sums[c].squares / count - mean * mean;

        n->mean[c] = (float)(sums[c].from + mean);
        if (n->n_std)
            n->std[c] = (float)sqrt(variance) > 0 ? (float)sqrt(variance) : 1;
    }
    return 0;
}

void normalizer_apply_floats(const struct normalizer *n, float *x)
{
    const size_t values = (size_t)n->shape.c * (size_t)n->shape.h * (size_t)n->shape.w;

    for (size_t k = 0; k < values && n->by == NORMALIZE_GIVEN; k++)
        x[k] = (x[k] - n->given_mean) / n->given_std;
    for (size_t c = 0, k = 0; c < n->n_mean; c++)
        for (; k < n->ends[c]; k++)
            x[k] = (x[k] - n->mean[c]) / (n->n_std ? n->std[c] : 1);
}
