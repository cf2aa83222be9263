/*
 * Tables as a data set: train.csv and test.csv of a folder, plain or as .gz, with the same columns.
 * The column dataset.labelColumn has the class of each row, a whole number from 0. All others are
 * numbers: a sample's values, in the order of the training table.
 */
#include <libdeflate.h>

#include "paceline/file.h"
#include "paceline/mem.h"
#include "paceline/text.h"
#include "worker/data/format/csv.h"
#include "worker/data/store/kind.h"

#define INFLATE_MAX 1032 /* bytes that a byte of a gzip file becomes, at most */
#define GZIP_LEAST 18    /* bytes of a gzip file */
#define SHOWN 40         /* characters of a name that are repeated */

static const struct csv_need label_need = {
    .whole = true, .max = UINT16_MAX, .needed = "a class, a whole number from 0 to 65535"};

struct named_column {
    const char *name;
    size_t at;
};

struct table {
    char *path;
    struct file_map map;
    uint8_t *unpacked; /* of a .gz file; NULL: the map is text */
    struct csv csv;
    struct named_column *by_name; /* [csv.n_columns] in the order of the names */
    size_t label;                 /* the column of the labels */
    size_t *columns;              /* [n_values] the others, in the order of the training table */
    float *x;                     /* [n][n_values] */
    uint16_t *labels;
    size_t n, room;
};

struct tables {
    struct table of[N_SETS];
    size_t n_values;
    int classes;
    struct shape shape;
};

static void tables_release(struct tables *t)
{
    for (int set = 0; set < N_SETS; set++) {
        struct table *table = &t->of[set];

        csv_release(&table->csv);
        file_map_close(&table->map);
        free(table->path);
        free(table->unpacked);
        free(table->by_name);
        free(table->columns);
        free(table->x);
        free(table->labels);
    }
}

/* The file ends with the number of its bytes when unpacked. */
static int table_unpack(struct table *t, size_t *len, struct err *err)
{
    const uint8_t *end = t->map.bytes + t->map.len;

    if (t->map.len < GZIP_LEAST)
        return err_set(err, ERR_DAMAGED, "%s: %zu bytes; no gzip file", t->path, t->map.len);
    *len = (size_t)end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
    if (*len / INFLATE_MAX > t->map.len)
        return err_set(err, ERR_DAMAGED,
                       "%s: says that it has %zu bytes, more than gzip can pack "
                       "into %zu",
                       t->path, *len, t->map.len);
    t->unpacked = xmalloc(*len + 1);
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    const enum libdeflate_result result =
        inflater ? libdeflate_gzip_decompress(inflater, t->map.bytes, t->map.len, t->unpacked, *len,
                                              NULL)
                 : LIBDEFLATE_BAD_DATA;
    libdeflate_free_decompressor(inflater);
    return result == LIBDEFLATE_SUCCESS
               ? 0
               : err_set(err, ERR_DAMAGED,
                         "%s: damaged gzip data; needed: one gzip file of less "
                         "than 4 GiB",
                         t->path);
}

/* Reads the plain file, else the one with .gz, and the names of its columns. */
static int table_open(struct table *t, const char *folder, const char *name, struct err *err)
{
    AUTO(auto_free) char *packed = xasprintf("%s.gz", name);
    size_t len = 0;

    t->path = file_in(folder, name);
    int rc = file_map_read(&t->map, t->path, err);
    if (rc == 0)
        return csv_open(&t->csv, t->map.bytes, t->map.len, t->path, err);
    if (err->code != ERR_NOT_FOUND)
        return -1;
    free(t->path);
    t->path = file_in(folder, packed);
    if (file_map_read(&t->map, t->path, err))
        return err->code == ERR_NOT_FOUND
                   ? err_set(err, ERR_NOT_FOUND,
                             "%s/%s: not found, with or without .gz; needed: "
                             "train.csv and test.csv",
                             folder, name)
                   : -1;
    if (table_unpack(t, &len, err))
        return -1;
    return csv_open(&t->csv, t->unpacked, len, t->path, err);
}

static int column_order(const void *a, const void *b)
{
    return strcmp(((const struct named_column *)a)->name, ((const struct named_column *)b)->name);
}

/* Each column needs a name of its own, that a checkpoint can keep. */
static int table_index_names(struct table *t, struct err *err)
{
    const struct csv *c = &t->csv;

    t->by_name = xcalloc(c->n_columns, sizeof *t->by_name);
    for (size_t i = 0; i < c->n_columns; i++)
        t->by_name[i] = (struct named_column){c->columns[i], i};
    qsort(t->by_name, c->n_columns, sizeof *t->by_name, column_order);
    for (size_t i = 0; i < c->n_columns; i++) {
        const char *name = t->by_name[i].name;

        if (i && strcmp(t->by_name[i - 1].name, name) == 0)
            return err_set(err, ERR_DAMAGED,
                           "%s:%zu: found two columns \"%.*s\"; each needs a name of its own",
                           c->name, c->line, SHOWN, name);
        for (const char *p = name; *p;) {
            const size_t n = text_character(p, strlen(p));

            if (!n)
                return err_set(err, ERR_DAMAGED, "%s:%zu: a column's name is no UTF-8", c->name,
                               c->line);
            p += n;
        }
    }
    return 0;
}

/* NULL: no column has the name. */
static const struct named_column *table_find(const struct table *t, const char *name)
{
    const struct named_column wanted = {.name = name};

    return bsearch(&wanted, t->by_name, t->csv.n_columns, sizeof *t->by_name, column_order);
}

/* Finds the columns of a table in the order of the training table. */
static int table_find_columns(struct tables *t, int set, const char *label, struct err *err)
{
    struct table *table = &t->of[set];
    const struct csv *c = &table->csv, *train = &t->of[SET_TRAIN].csv;
    const struct named_column *labels;
    size_t n = 0;

    if (table_index_names(table, err))
        return -1;
    labels = table_find(table, label);
    if (!labels)
        return err_set(err, ERR_DAMAGED,
                       "%s:%zu: found no column \"%.*s\"; spec.dataset.labelColumn names the "
                       "column of the labels",
                       c->name, c->line, SHOWN, label);
    if (c->n_columns != train->n_columns)
        return err_set(err, ERR_DAMAGED, "%s:%zu: found %zu columns; %s has %zu", c->name, c->line,
                       c->n_columns, train->name, train->n_columns);
    table->label = labels->at;
    table->columns = xcalloc(c->n_columns, sizeof *table->columns);
    for (size_t i = 0; i < train->n_columns; i++) {
        const struct named_column *found = table_find(table, train->columns[i]);

        if (!found)
            return err_set(err, ERR_DAMAGED, "%s:%zu: found no column \"%.*s\", which %s has",
                           c->name, c->line, SHOWN, train->columns[i], train->name);
        if (found != labels)
            table->columns[n++] = found->at;
    }
    return 0;
}

static void table_make_room(struct table *t, size_t n_values)
{
    if (t->n < t->room)
        return;
    t->room = t->room ? 2 * t->room : 256;
    t->x = xrealloc(t->x, t->room * n_values * sizeof *t->x);
    t->labels = xrealloc(t->labels, t->room * sizeof *t->labels);
}

/* The last row of the table; test labels are of classes that were trained. */
static int table_add_row(struct tables *t, int set, struct err *err)
{
    struct table *table = &t->of[set];
    const struct csv *c = &table->csv;
    double value = 0;

    table_make_room(table, t->n_values);
    for (size_t i = 0; i < t->n_values; i++) {
        if (csv_value(c, table->columns[i], &csv_float, &value, err))
            return -1;
        table->x[table->n * t->n_values + i] = (float)value;
    }
    if (csv_value(c, table->label, &label_need, &value, err))
        return -1;
    if (set == SET_TRAIN && value >= t->classes)
        t->classes = (int)value + 1;
    if (value >= t->classes)
        return err_set(err, ERR_DAMAGED,
                       "%s:%zu: column %.*s: found %d; allowed: 0 to %d, the classes of %s",
                       c->name, c->line, SHOWN, c->columns[table->label], (int)value,
                       t->classes - 1, t->of[SET_TRAIN].path);
    table->labels[table->n++] = (uint16_t)value;
    return 0;
}

static int table_read_rows(struct tables *t, int set, struct err *err)
{
    struct table *table = &t->of[set];
    int rc;

    while ((rc = csv_next(&table->csv, err)) > 0)
        if (table->n == INT32_MAX || table_add_row(t, set, err))
            return table->n == INT32_MAX
                       ? err_set(err, ERR_DAMAGED, "%s: more than %d rows", table->path, INT32_MAX)
                       : -1;
    if (rc == 0 && !table->n)
        return err_set(err, ERR_DAMAGED, "%s: no row after the names of the columns", table->path);
    return rc;
}

/* A class without rows cannot be learnt: more likely labels count from 1. */
static int tables_check_classes(const struct tables *t, struct err *err)
{
    const struct table *train = &t->of[SET_TRAIN];
    AUTO(auto_free) bool *seen = xcalloc((size_t)t->classes, sizeof *seen);

    for (size_t i = 0; i < train->n; i++)
        seen[train->labels[i]] = true;
    for (int label = 0; label < t->classes; label++)
        if (!seen[label])
            return err_set(
                err, ERR_DAMAGED,
                "%s: column %.*s: no row has %d; needed: rows of each class from 0 to %d",
                train->path, SHOWN, train->csv.columns[train->label], label, t->classes - 1);
    return 0;
}

/* The values of a sample: a channel each, or as the input layers take them. */
static int tables_set_shape(struct tables *t, const struct job *job, struct err *err)
{
    const struct csv *c = &t->of[SET_TRAIN].csv;
    const struct shape in = job_inputs_shape(job);
    const size_t taken = (size_t)in.c * (size_t)in.h * (size_t)in.w;

    t->n_values = c->n_columns - 1;
    if (t->n_values < 1 || t->n_values > NET_INPUT_MAX)
        return err_set(err, ERR_DAMAGED,
                       "%s:%zu: found %zu columns beside the labels; allowed: 1 to %d", c->name,
                       c->line, t->n_values, NET_INPUT_MAX);
    if (in.c && taken != t->n_values)
        return err_set(err, ERR_INVALID,
                       "%s:%zu: found %zu columns beside the labels; the input layers take %zu "
                       "values",
                       c->name, c->line, t->n_values, taken);
    t->shape = in.c ? in : (struct shape){(int)t->n_values, 1, 1};
    return 0;
}

static int tables_read_both(struct tables *t, const struct job *job, struct err *err)
{
    static const char *const names[N_SETS] = {[SET_TRAIN] = "train.csv", [SET_TEST] = "test.csv"};

    for (int set = 0; set < N_SETS; set++) {
        if (table_open(&t->of[set], job->dataset.path, names[set], err) ||
            table_find_columns(t, set, job->dataset.label_column, err) ||
            (set == SET_TRAIN && tables_set_shape(t, job, err)) || table_read_rows(t, set, err))
            return -1;
    }
    return tables_check_classes(t, err);
}

static int tables_read(struct tables *t, const struct job *job, struct err *err)
{
    *t = (struct tables){0};
    return tables_read_both(t, job, err) ? err_wrap(err, "dataset csv") : 0;
}

/* What the bytes of a host start with; offsets count from here. */
struct table_layout {
    uint32_t n[N_SETS];
    int classes;
    struct shape shape;
    size_t names, x[N_SETS], labels[N_SETS], bytes;
};

static struct table_layout tables_plan(const struct tables *t)
{
    const struct table *train = &t->of[SET_TRAIN];
    struct table_layout l = {
        .classes = t->classes, .shape = t->shape, .names = sizeof l, .bytes = sizeof l};

    for (size_t i = 0; i < t->n_values; i++)
        l.bytes += strlen(train->csv.columns[train->columns[i]]) + 1;
    for (int set = 0; set < N_SETS; set++) {
        l.n[set] = (uint32_t)t->of[set].n;
        l.x[set] = (l.bytes + 63) & ~(size_t)63;
        l.labels[set] = l.x[set] + l.n[set] * t->n_values * sizeof(float);
        l.bytes = l.labels[set] + l.n[set] * sizeof(uint16_t);
    }
    return l;
}

static int table_fill(void *arg, struct host_room *room, struct err *err)
{
    const struct job *job = arg;
    AUTO(tables_release) struct tables t;

    if (tables_read(&t, job, err))
        return -1;
    const struct table_layout plan = tables_plan(&t);
    char *to = host_room_take(room, plan.bytes, err);
    if (!to)
        return err_wrap(err, "dataset csv");
    memcpy(to, &plan, sizeof plan);
    for (size_t i = 0, at = plan.names; i < t.n_values; i++) {
        const char *name = t.of[SET_TRAIN].csv.columns[t.of[SET_TRAIN].columns[i]];

        memcpy(to + at, name, strlen(name) + 1);
        at += strlen(name) + 1;
    }
    for (int set = 0; set < N_SETS; set++) {
        memcpy(to + plan.x[set], t.of[set].x, t.of[set].n * t.n_values * sizeof(float));
        memcpy(to + plan.labels[set], t.of[set].labels, t.of[set].n * sizeof(uint16_t));
    }
    return 0;
}

static const void *table_raw(const struct dataset *set, uint32_t id, struct sample_reader *r,
                             const struct normalizer *n, struct err *err)
{
    (void)r, (void)n, (void)err;
    return (const float *)(const void *)set->images + id * dataset_pixels(set);
}

static int table_row(const struct dataset *set, uint32_t id, struct sample_reader *r,
                     const struct normalizer *n, float *x, struct err *err)
{
    memcpy(x, table_raw(set, id, r, n, err), dataset_pixels(set) * sizeof *x);
    normalizer_apply_floats(n, x);
    return 0;
}

static const struct dataset_ops table_ops = {.floats = true, .row = table_row, .raw = table_raw};

static int csv_load(const struct data_kind *k, struct datasets *d, const struct job *job,
                    const struct host_rank *h, struct err *err)
{
    (void)k;
    if (host_memory_make(&d->memory, h, table_fill, (void *)(uintptr_t)job, err))
        return -1;
    const struct table_layout *l = d->memory.begin;
    const char *base = d->memory.begin;
    for (int set = 0; set < N_SETS; set++)
        *(set == SET_TRAIN ? &d->train : &d->test) =
            (struct dataset){.ops = &table_ops,
                             .n = l->n[set],
                             .number = set,
                             .shape = l->shape,
                             .classes = l->classes,
                             .positions = 1,
                             .images = (const uint8_t *)base + l->x[set],
                             .labels = (const uint16_t *)(const void *)(base + l->labels[set])};
    d->columns = base + l->names;
    return 0;
}

static int csv_look(const struct data_kind *k, struct data_facts *f, const struct job *job,
                    bool whole, struct err *err)
{
    AUTO(tables_release) struct tables t;

    (void)k, (void)whole;
    if (tables_read(&t, job, err))
        return -1;
    *f = (struct data_facts){.shape = t.shape,
                             .n_train = (uint32_t)t.of[SET_TRAIN].n,
                             .n_test = (uint32_t)t.of[SET_TEST].n,
                             .classes = t.classes};
    return 0;
}

const struct data_kind csv_kind = {.load = csv_load, .look = csv_look};
