#include "worker/train/score_sums.h"

#include "paceline/mem.h"

void score_sums_init(struct score_sums *t, enum label_kind kind, int n, int lanes)
{
    const size_t each = (size_t)n;

    *t = (struct score_sums){.kind = kind, .n = n, .lanes = lanes};
    if (kind == LABELS_BITS) {
        t->bits = xcalloc(each, sizeof *t->bits);
    } else if (kind == LABELS_NUMBERS) {
        t->errors = xcalloc(each * (size_t)lanes, sizeof *t->errors);
        t->spread = xcalloc(each, sizeof *t->spread);
    } else if (n <= METRIC_CLASSES_MAX) {
        t->confusion = xcalloc(each * each, sizeof *t->confusion);
    }
}

void score_sums_release(struct score_sums *t)
{
    free(t->confusion);
    free(t->bits);
    free(t->errors);
    free(t->spread);
    *t = (struct score_sums){0};
}

int64_t *score_sums_counts(const struct score_sums *t, size_t *n)
{
    const size_t each = (size_t)t->n;

    _Static_assert(sizeof(struct bit_counts) == 3 * sizeof(int64_t), "a list of integers");
    *n = t->confusion ? each * each : t->bits ? 3 * each : 0;
    return t->confusion ? t->confusion : t->bits ? &t->bits->right : NULL;
}

size_t score_sums_bytes(const struct score_sums *t)
{
    size_t n;

    (void)score_sums_counts(t, &n);
    return n * sizeof(int64_t) +
           (t->errors ? (size_t)(t->lanes + 1) * (size_t)t->n * sizeof(double) : 0);
}

void score_sums_clear(struct score_sums *t)
{
    size_t n;
    int64_t *counts = score_sums_counts(t, &n);

    if (counts)
        memset(counts, 0, n * sizeof *counts);
    if (t->errors)
        memset(t->errors, 0, (size_t)t->lanes * (size_t)t->n * sizeof *t->errors);
}

static void score_sums_add_bits(struct score_sums *t, const float *y, const float *label)
{
    for (int k = 0; k < t->n; k++) {
        const bool named = y[k] > 0, real = label[k] > 0;

        t->bits[k].right += named && real;
        t->bits[k].named += named;
        t->bits[k].real += real;
    }
}

static void add_errors(double *errors, int n, const float *y, const float *label)
{
    for (int k = 0; k < n; k++) {
        const double d = (double)y[k] - (double)label[k];

        errors[k] += d * d;
    }
}

void score_sums_add(struct score_sums *t, int lane, const struct batch *b, size_t sample,
                    const float *y, const struct loss_result *r)
{
    if (t->confusion)
        t->confusion[b->labels[sample] * (uint32_t)t->n + (uint32_t)r->predicted]++;
    else if (t->bits)
        score_sums_add_bits(t, y, b->values + sample * (size_t)t->n);
    else if (t->errors)
        add_errors(t->errors + (size_t)lane * (size_t)t->n, t->n, y,
                   b->values + sample * (size_t)t->n);
}

struct scores score_sums_scores(const struct score_sums *t, const double *errors)
{
    if (t->confusion)
        return scores_of_classes(t->confusion, t->n);
    if (t->bits)
        return scores_of_bits(t->bits, t->n);
    return errors ? scores_of_numbers(errors, t->spread, t->n) : no_scores;
}
