#include "worker/data/image/resize.h"

#include "paceline/mem.h"

#define BITS 22

/* What each new pixel of an axis is made of: n old ones from first on, weights[i * most ...]. */
struct resize_axis {
    int in, out, most;
    int *first, *n;
    int32_t *weights;
};

struct resizer {
    struct resize_axis rows, columns;
    int32_t *sums; /* [w * c]: one new row in the old width */
    uint8_t *row;
    size_t room; /* of both */
};

struct resizer *resizer_new(void) { return xcalloc(1, sizeof(struct resizer)); }

static void axis_release(struct resize_axis *a)
{
    free(a->first);
    free(a->n);
    free(a->weights);
}

void resizer_free(struct resizer **r)
{
    if (!*r)
        return;
    axis_release(&(*r)->rows);
    axis_release(&(*r)->columns);
    free((*r)->sums);
    free((*r)->row);
    free(*r);
    *r = NULL;
}

/* Unscaled; 0 where x is outside the triangle. */
static int64_t weight_of(const struct resize_axis *a, int i, int64_t x)
{
    int64_t reach = 2 * (int64_t)(a->in > a->out ? a->in : a->out);
    int64_t away = (2 * x + 1) * a->out - (2 * (int64_t)i + 1) * a->in;

    away = away < 0 ? -away : away;
    return away < reach ? reach - away : 0;
}

static void axis_pixel(struct resize_axis *a, int i)
{
    int32_t *weights = a->weights + (size_t)i * (size_t)a->most;
    int64_t sum = 0, centre = (2 * (int64_t)i + 1) * a->in / (2 * (int64_t)a->out);
    int x = (int)centre - a->most / 2;

    x = x < 0 ? 0 : x;
    while (weight_of(a, i, x) == 0)
        x++;
    a->first[i] = x;
    for (a->n[i] = 0; x < a->in && weight_of(a, i, x) > 0; x++, a->n[i]++)
        sum += weight_of(a, i, x);
    for (int k = 0; k < a->n[i]; k++)
        weights[k] = (int32_t)(((weight_of(a, i, a->first[i] + k) << BITS) + sum / 2) / sum);
}

/* Kept while images have the same size, as they often do. */
static void axis_set(struct resize_axis *a, int in, int out)
{
    if (a->in == in && a->out == out)
        return;
    axis_release(a);
    a->in = in;
    a->out = out;
    a->most = 2 * (in / out + 2) + 1;
    a->first = xcalloc((size_t)out, sizeof *a->first);
    a->n = xcalloc((size_t)out, sizeof *a->n);
    a->weights = xcalloc((size_t)out * (size_t)a->most, sizeof *a->weights);
    for (int i = 0; i < out; i++)
        axis_pixel(a, i);
}

static uint8_t to_byte(int32_t sum)
{
    sum >>= BITS;
    return (uint8_t)(sum > 255 ? 255 : sum);
}

/* New row i in the old width, of n values. */
static void resize_sum_rows(struct resizer *r, const uint8_t *pixels, int i, size_t n)
{
    const struct resize_axis *a = &r->rows;

    for (size_t x = 0; x < n; x++)
        r->sums[x] = 1 << (BITS - 1);
    for (int k = 0; k < a->n[i]; k++) {
        const uint8_t *row = pixels + (size_t)(a->first[i] + k) * n;
        int32_t weight = a->weights[(size_t)i * (size_t)a->most + (size_t)k];
        for (size_t x = 0; x < n; x++)
            r->sums[x] += weight * row[x];
    }
    for (size_t x = 0; x < n; x++)
        r->row[x] = to_byte(r->sums[x]);
}

/* That row in its new width, to planes of `plane` values; c is a constant where this is inlined. */
static inline void narrow_row(const struct resizer *r, uint8_t *to, size_t plane, int c)
{
    const struct resize_axis *a = &r->columns;

    for (int i = 0; i < a->out; i++) {
        const int32_t *weights = a->weights + (size_t)i * (size_t)a->most;
        const uint8_t *from = r->row + (size_t)a->first[i] * (size_t)c;
        int32_t sum[3] = {1 << (BITS - 1), 1 << (BITS - 1), 1 << (BITS - 1)};
        for (int k = 0; k < a->n[i]; k++)
            for (int ch = 0; ch < c; ch++)
                sum[ch] += weights[k] * from[k * c + ch];
        for (int ch = 0; ch < c; ch++)
            to[(size_t)ch * plane + (size_t)i] = to_byte(sum[ch]);
    }
}

static void reorder(const struct image *from, uint8_t *to)
{
    size_t c = (size_t)from->shape.c, n = (size_t)from->shape.h * (size_t)from->shape.w;

    for (size_t ch = 0; ch < c; ch++)
        for (size_t i = 0; i < n; i++)
            to[ch * n + i] = from->pixels[i * c + ch];
}

void resize(struct resizer *r, const struct image *from, int to_h, int to_w, uint8_t *to)
{
    size_t n = (size_t)from->shape.w * (size_t)from->shape.c, plane = (size_t)to_h * (size_t)to_w;

    if (from->shape.h == to_h && from->shape.w == to_w) {
        reorder(from, to);
        return;
    }
    axis_set(&r->columns, from->shape.w, to_w);
    axis_set(&r->rows, from->shape.h, to_h);
    if (r->room < n) {
        r->sums = xrealloc(r->sums, n * sizeof *r->sums);
        r->row = xrealloc(r->row, n);
        r->room = n;
    }
    for (int y = 0; y < to_h; y++) {
        resize_sum_rows(r, from->pixels, y, n);
        if (from->shape.c == 3)
            narrow_row(r, to + (size_t)y * (size_t)to_w, plane, 3);
        else
            narrow_row(r, to + (size_t)y * (size_t)to_w, plane, 1);
    }
}
