#include "operator/api/index_map.h"

#include <ctype.h>
#include <string.h>

int64_t index_map_get(const struct index_map *l, int index)
{
    size_t low = 0, high = l->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (l->ranges[middle].last < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n && l->ranges[low].first <= index ? l->ranges[low].value : 0;
}

/* Appends first..last; merged with the range before where it continues it. Empty ones vanish. */
static void append(struct index_map *l, int first, int last, int64_t value)
{
    struct index_map_range *before = l->n ? &l->ranges[l->n - 1] : NULL;

    if (value == 0 || first > last)
        return;
    if (before && before->last + 1 == first && before->value == value)
        before->last = last;
    else
        l->ranges[l->n++] = (struct index_map_range){first, last, value};
}

static int min_int(int a, int b) { return a < b ? a : b; }
static int index_map_max_int(int a, int b) { return a > b ? a : b; }

void index_map_set_range(struct index_map *l, int first, int last, int64_t value, struct arena *a)
{
    /* Cutting a hole into one range makes two; the new one may stand between them. */
    struct index_map out = {.ranges = arena_alloc(a, (l->n + 2) * sizeof *out.ranges)};
    size_t i = 0;

    for (; i < l->n && l->ranges[i].first < first; i++)
        append(&out, l->ranges[i].first, min_int(l->ranges[i].last, first - 1), l->ranges[i].value);
    append(&out, first, last, value);
    for (i = i ? i - 1 : 0; i < l->n; i++)
        append(&out, index_map_max_int(l->ranges[i].first, last + 1), l->ranges[i].last,
               l->ranges[i].value);
    *l = out;
}

void index_map_set(struct index_map *l, int index, int64_t value, struct arena *a)
{
    index_map_set_range(l, index, index, value, a);
}

void index_map_pack(struct index_map *l, const int64_t *values, int n, struct arena *a)
{
    size_t ranges = 0;

    for (int i = 0; i < n; i++)
        ranges += values[i] && (i == 0 || values[i] != values[i - 1]);
    *l = (struct index_map){.ranges = arena_alloc(a, ranges * sizeof *l->ranges)};
    for (int i = 0; i < n; i++)
        append(l, i, i, values[i]);
}

void index_map_unpack(const struct index_map *l, int64_t *values, int n)
{
    memset(values, 0, (size_t)n * sizeof *values);
    for (size_t i = 0; i < l->n; i++)
        for (int k = l->ranges[i].first; k <= l->ranges[i].last && k < n; k++)
            values[k] = l->ranges[i].value;
}

void index_map_copy(struct index_map *out, const struct index_map *in, struct arena *a)
{
    *out = (struct index_map){.ranges = arena_alloc(a, in->n * sizeof *in->ranges), .n = in->n};
    if (in->n)
        memcpy(out->ranges, in->ranges, in->n * sizeof *in->ranges);
}

int index_map_count(const struct index_map *l, int below)
{
    int count = 0;

    for (size_t i = 0; i < l->n && l->ranges[i].first < below; i++)
        count += min_int(l->ranges[i].last + 1, below) - l->ranges[i].first;
    return count;
}

int64_t index_map_max(const struct index_map *l)
{
    int64_t max = 0;

    for (size_t i = 0; i < l->n; i++)
        if (l->ranges[i].value > max)
            max = l->ranges[i].value;
    return max;
}

int index_map_end(const struct index_map *l) { return l->n ? l->ranges[l->n - 1].last + 1 : 0; }

bool index_map_equal(const struct index_map *a, const struct index_map *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->ranges[i].first != b->ranges[i].first || a->ranges[i].last != b->ranges[i].last ||
            a->ranges[i].value != b->ranges[i].value)
            return false;
    return true;
}

/* A number of min..max at *text, which moves after it; -1: there is none. */
static int64_t index_map_number(const char **text, int64_t min, int64_t max)
{
    int64_t value = 0;

    if (!isdigit((unsigned char)**text))
        return -1;
    for (; isdigit((unsigned char)**text); (*text)++) {
        value = value * 10 + (**text - '0');
        if (value > max)
            return -1;
    }
    return value >= min ? value : -1;
}

int index_map_parse(struct index_map *out, const char *text, bool values, struct arena *a,
                    struct err *err)
{
    struct index_map l = {0};
    const char *at = text;
    size_t entries = *text != '\0';
    int end = -1; /* of the last range */

    for (const char *c = text; *c; c++)
        entries += *c == ',';
    if (entries > INDEX_MAP_MAX_INDEX + 1)
        return err_set(err, ERR_INVALID, "more than %d ranges", INDEX_MAP_MAX_INDEX + 1);
    l.ranges = arena_alloc(a, entries * sizeof *l.ranges);
    while (entries--) {
        int64_t first = index_map_number(&at, end + 1, INDEX_MAP_MAX_INDEX), last = first,
                value = 1;

        if (first >= 0 && *at == '-') {
            at++;
            last = index_map_number(&at, first, INDEX_MAP_MAX_INDEX);
        }
        if (values && last >= 0 && *at++ == ':')
            value = index_map_number(&at, 1, INDEX_MAP_MAX_VALUE);
        else if (values)
            value = -1;
        if (first < 0 || last < 0 || value < 0 || *at != (entries ? ',' : '\0'))
            return err_set(err, ERR_INVALID, "\"%.60s\" is no list of ranges up to %d%s", text,
                           INDEX_MAP_MAX_INDEX, values ? " with values" : "");
        at += entries > 0;
        append(&l, (int)first, (int)last, value);
        end = (int)last;
    }
    *out = l;
    return 0;
}

void index_map_encode(const struct index_map *l, bool values, struct buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct index_map_range *r = &l->ranges[i];

        buf_printf(out, "%s%d", i ? "," : "", r->first);
        if (r->last > r->first)
            buf_printf(out, "-%d", r->last);
        if (values)
            buf_printf(out, ":%lld", (long long)r->value);
    }
}
