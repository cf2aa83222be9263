/* paceline diff: where two safetensors files part. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/report/table.h"
#include "paceline/file.h"
#include "paceline/mem.h"
#include "paceline/text.h"
#include "worker/checkpoint/safetensors.h"

enum { SAME = 0, DIFFERENT = 1 }; /* exit codes, as of diff(1) */

static const struct command_line command = {
    COMMAND_OPERANDS(SIZE_MAX, "A.safetensors"),
    .before =
        "usage: paceline diff A.safetensors B.safetensors\n"
        "\n"
        "Compares two checkpoints bit by bit: the first tensor and element that differ, with both\n"
        "values and their bits, and the largest difference of every tensor that differs.\n"
        "Exit codes: 0 equal, 1 different, 2 wrong usage, 3 a file is missing or damaged.\n",
    .after = "examples:\n"
             "  paceline diff a.safetensors b.safetensors\n",
};

/* The differences between two tensors of the same type and shape. */
struct deviation {
    size_t first, count; /* elements; first is valid when count > 0 */
    double largest;      /* NaN as soon as one side is NaN alone */
};

static uint64_t element_bits(const struct st_tensor *t, size_t i)
{
    size_t bytes = st_dtype_bytes(t->dtype);
    uint64_t bits = 0;

    for (size_t k = bytes; k-- > 0;)
        bits = bits << 8 | ((const uint8_t *)t->data)[i * bytes + k];
    return bits;
}

static double element_value(const struct st_tensor *t, size_t i)
{
    switch (t->dtype) {
    case ST_F32:
        return (double)((const float *)t->data)[i];
    case ST_F64:
        return ((const double *)t->data)[i];
    case ST_I64:
        return (double)((const int64_t *)t->data)[i];
    case ST_U8:
        break;
    }
    return ((const uint8_t *)t->data)[i];
}

static size_t element_count(const struct st_tensor *t)
{
    return t->bytes / st_dtype_bytes(t->dtype);
}

static struct deviation diff_compare(const struct st_tensor *a, const struct st_tensor *b)
{
    struct deviation d = {0};

    if (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0)
        return d;
    for (size_t i = 0; i < element_count(a); i++) {
        double distance;
        if (element_bits(a, i) == element_bits(b, i))
            continue;
        distance = fabs(element_value(a, i) - element_value(b, i));
        if (isnan(distance) || distance > d.largest)
            d.largest = distance;
        if (!d.count++)
            d.first = i;
    }
    return d;
}

/* 0.1 (0x3dcccccd); integers in full. */
static struct format_text element_text(const struct st_tensor *t, size_t i)
{
    int digits = 2 * (int)st_dtype_bytes(t->dtype);
    uint64_t bits = element_bits(t, i);
    struct format_text text;

    if (t->dtype == ST_I64)
        snprintf(text.s, sizeof text.s, "%" PRId64 " (0x%0*" PRIx64 ")", (int64_t)bits, digits,
                 bits);
    else
        snprintf(text.s, sizeof text.s, "%.*g (0x%0*" PRIx64 ")", t->dtype == ST_F64 ? 17 : 9,
                 element_value(t, i), digits, bits);
    return text;
}

static void print_index(const struct st_tensor *t, size_t i)
{
    int64_t index[ARRAY_LEN(t->dims)];

    for (int d = t->n_dims; d-- > 0;) {
        index[d] = (int64_t)(i % (size_t)t->dims[d]);
        i /= (size_t)t->dims[d];
    }
    for (int d = 0; d < t->n_dims; d++)
        printf("%s%" PRId64, d ? "," : "[", index[d]);
    fputs(t->n_dims ? "]" : "", stdout);
}

static void print_type(const struct st_tensor *t)
{
    printf("%s[", st_dtype_name(t->dtype));
    for (int d = 0; d < t->n_dims; d++)
        printf("%s%" PRId64, d ? "," : "", t->dims[d]);
    printf("]");
}

static bool same_type(const struct st_tensor *a, const struct st_tensor *b)
{
    return a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->dims, b->dims, (size_t)a->n_dims * sizeof *a->dims) == 0;
}

static void print_first(const struct st_tensor *a, const struct st_tensor *b, size_t i)
{
    printf("first difference: ");
    text_print(stdout, a->name);
    print_index(a, i);
    printf(": %s and %s\n", element_text(a, i).s, element_text(b, i).s);
}

static void print_types(const struct st_tensor *a, const struct st_tensor *b)
{
    text_print(stdout, a->name);
    printf(": ");
    print_type(a);
    printf(" and ");
    print_type(b);
    printf("\n");
}

static void diff_add_row(struct text_table *t, const struct st_tensor *a, const struct deviation *d)
{
    struct format_text largest;

    table_cell(t, a->name);
    table_cell(t, format_count((double)element_count(a)).s);
    table_cell(t, format_count((double)d->count).s);
    snprintf(largest.s, sizeof largest.s, "%.6g", d->largest);
    table_cell(t, largest.s);
}

/* The tensors that both files have. */
static int diff_tensors(const struct st_file *a, const struct st_file *b)
{
    static const char *const head[] = {"tensor", "-elements", "-different", "-largest difference",
                                       NULL};
    AUTO(table_release) struct text_table rows;
    int verdict = SAME;

    table_init(&rows, head);
    for (size_t i = 0; i < a->n; i++) {
        const struct st_tensor *x = &a->tensors[i], *y = st_find(b, x->name);
        struct deviation d = {0};
        if (!y)
            continue;
        if (!same_type(x, y)) {
            verdict = DIFFERENT;
            print_types(x, y);
            continue;
        }
        d = diff_compare(x, y);
        if (!d.count)
            continue;
        verdict = DIFFERENT;
        if (!rows.n_cells)
            print_first(x, y, d.first);
        diff_add_row(&rows, x, &d);
    }
    if (rows.n_cells)
        table_print(&rows, stdout);
    return verdict;
}

static void print_only_in(const char *kind, const char *name, const char *path)
{
    printf("%s", kind);
    text_print(stdout, name);
    printf(": only in ");
    text_print(stdout, path);
    printf("\n");
}

static int tensors_only_in(const struct st_file *a, const struct st_file *b, const char *path)
{
    int verdict = SAME;

    for (size_t i = 0; i < a->n; i++)
        if (!st_find(b, a->tensors[i].name)) {
            verdict = DIFFERENT;
            print_only_in("", a->tensors[i].name, path);
        }
    return verdict;
}

/* The keys that both files have. */
static int diff_metadata(const struct st_file *a, const struct st_file *b)
{
    int verdict = SAME;

    for (size_t i = 0; i < a->n_meta; i++) {
        const struct st_meta *m = &a->meta[i];
        const char *other = st_meta_get(b, m->key);
        if (other && strcmp(other, m->value) != 0) {
            verdict = DIFFERENT;
            printf("metadata ");
            text_print(stdout, m->key);
            printf(": ");
            text_print(stdout, m->value);
            printf(" and ");
            text_print(stdout, other);
            printf("\n");
        }
    }
    return verdict;
}

static int metadata_only_in(const struct st_file *a, const struct st_file *b, const char *path)
{
    int verdict = SAME;

    for (size_t i = 0; i < a->n_meta; i++)
        if (!st_meta_get(b, a->meta[i].key)) {
            verdict = DIFFERENT;
            print_only_in("metadata ", a->meta[i].key, path);
        }
    return verdict;
}

static void print_step(const char *path, const struct st_file *f)
{
    const char *step = st_meta_get(f, "step");

    text_print(stdout, path);
    printf(": step ");
    text_print(stdout, step ? step : "unknown");
    printf("\n");
}

static int diff(const struct st_file *a, const struct st_file *b, const char *const paths[2])
{
    int verdict;

    print_step(paths[0], a);
    print_step(paths[1], b);
    verdict = diff_tensors(a, b);
    verdict |= tensors_only_in(a, b, paths[0]);
    verdict |= tensors_only_in(b, a, paths[1]);
    verdict |= diff_metadata(a, b);
    verdict |= metadata_only_in(a, b, paths[0]);
    verdict |= metadata_only_in(b, a, paths[1]);
    if (verdict == SAME)
        printf("equal: %s, bit by bit\n", format_plural((double)a->n, "tensor").s);
    return verdict;
}

static void diff_say_cut_short(const char *sentence)
{
    fprintf(stderr, "paceline diff: %s\n", sentence);
}

int cmd_diff(int argc, char **argv)
{
    AUTO(st_close) struct st_file a = {0};
    AUTO(st_close) struct st_file b = {0};
    AUTO(options_release) struct options o;
    const char **paths;
    struct err err;
    int code;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (o.operands.n != 2)
        return cli_usage_error("diff", "the number of files is %zu; it takes 2", o.operands.n);
    paths = o.operands.items;
    file_map_guard(diff_say_cut_short);
    if (st_open(&a, paths[0], &err) || st_open(&b, paths[1], &err)) {
        fprintf(stderr, "paceline diff: %s\n", err.msg);
        return EXIT_DATA;
    }
    return diff(&a, &b, paths);
}
