/* Samples that are rows of numbers: .npy files, and tables of text. */
#include "paceline/mem.h"
#include "worker/data/format/arrays.h"
#include "worker/data/format/csv.h"
#include "worker/data/format/input_kind.h"
#include "worker/data/format/npy.h"

#define SHOWN 40 /* characters of a field or a list of names that are repeated */

struct npy_input {
    size_t at;
    struct npy_file {
        struct file_map map;
        struct npy npy;
    } files[];
};

static bool is_npy(const struct input_reader *r, const char *path, const uint8_t *head)
{
    (void)r;
    (void)path;
    return memcmp(head, "\x93NUMPY", 6) == 0;
}

static int open_npy_file(struct input *in, size_t i, struct shape shape, struct err *err)
{
    struct npy_input *own = in->own;
    struct npy_file *f = &own->files[i];

    if (file_map_open(&f->map, in->paths[i], err) ||
        npy_open(&f->npy, f->map.bytes, f->map.len, in->paths[i], err) ||
        arrays_check(&f->npy, shape, err))
        return -1;
    if (!in->reader->normalizer->floats && f->npy.kind != 'u')
        return err_set(err, ERR_INVALID,
                       "%s: found floats of %d bytes; the model was trained on images, of which "
                       "|u1, from 0 to 255, is needed",
                       in->paths[i], f->npy.size);
    if (f->npy.dims[0] != own->files[0].npy.dims[0])
        return err_set(err, ERR_INVALID, "%s: found %zu samples; %s has %zu", in->paths[i],
                       f->npy.dims[0], in->paths[0], own->files[0].npy.dims[0]);
    return 0;
}

static int npy_input_open(struct input *in, struct err *err)
{
    const struct job *job = in->reader->job;
    const size_t inputs = arrays_inputs(job);

    in->own = xcalloc(1, sizeof(struct npy_input) + in->n_paths * sizeof(struct npy_file));
    if (in->n_paths != (inputs ? inputs : 1)) {
        AUTO(auto_free) char *first = arrays_input_name(job, 0);
        return err_set(err, ERR_INVALID,
                       "%s: one array, but the model has %zu inputs; needed: an array of each, as "
                       "%s=FILE ..., or a folder of them",
                       in->paths[0], inputs, first);
    }
    for (size_t i = 0; i < in->n_paths; i++)
        if (open_npy_file(in, i, inputs ? arrays_input_shape(job, i) : in->reader->shape, err))
            return -1;
    return 0;
}

static int npy_input_next(struct input *in, float *x, struct err *err)
{
    struct npy_input *own = in->own;
    const size_t row = own->at;

    if (row == own->files[0].npy.dims[0])
        return 0;
    own->at++;
    for (size_t i = 0; i < in->n_paths; i++) {
        const struct npy *f = &own->files[i].npy;

        if (!in->reader->normalizer->floats) {
            normalizer_apply(in->reader->normalizer, x, f->values + row * f->n_each);
            return 1;
        }
        if (npy_floats(f, row, x))
            return err_set(err, ERR_DAMAGED,
                           "%s: sample %zu (counted from 0) has a value that is not finite",
                           f->name, row);
        x += f->n_each;
    }
    normalizer_apply_floats(in->reader->normalizer, x - input_values(in->reader));
    return 1;
}

static void npy_input_close(struct input *in)
{
    struct npy_input *own = in->own;

    for (size_t i = 0; i < in->n_paths; i++)
        file_map_close(&own->files[i].map);
    free(own);
}

const struct input_kind input_npy = {.many = true,
                                     .numbers = true,
                                     .is = is_npy,
                                     .open = npy_input_open,
                                     .next = npy_input_next,
                                     .close = npy_input_close};

struct csv_input {
    struct file_map map;
    struct csv csv;
    size_t *columns; /* [input_values] those of numbers */
    bool waits;      /* csv.fields are a row that has not been given yet */
};

static bool is_csv(const struct input_reader *r, const char *path, const uint8_t *head)
{
    (void)r;
    (void)head;
    return input_ends_with(path, ".csv");
}

/* Names of the columns of numbers, as many as fit: "length, width, ...". */
static void input_table_list_names(const struct csv *c, char *text, size_t size)
{
    size_t len = 0;
    double value;

    for (size_t i = 0; i < c->n_columns && len < SHOWN; i++)
        if (csv_number(c->fields[i], &value))
            len += (size_t)snprintf(text + len, size - len, "%s%.*s", len ? ", " : "", SHOWN,
                                    c->columns[i]);
    if (len >= SHOWN)
        snprintf(text + SHOWN, size - SHOWN, "...");
}

/* Finds the columns that the model was trained on by their names; other columns are ignored. */
static int input_table_find_names(struct csv_input *own, const char *const *names, size_t want,
                                  struct err *err)
{
    const struct csv *c = &own->csv;
    size_t at = 0; /* most tables have the columns in one order */

    for (size_t i = 0; i < want; i++) {
        size_t left = c->n_columns;

        for (; left && strcmp(c->columns[at], names[i]) != 0; left--)
            at = (at + 1) % c->n_columns;
        if (!left)
            return err_set(err, ERR_INVALID,
                           "%s: found no column %.*s; the model was trained on one", c->name, SHOWN,
                           names[i]);
        own->columns[i] = at;
        at = (at + 1) % c->n_columns;
    }
    return 0;
}

/* Chooses the columns of numbers by the first row; columns of words are ignored. */
static int find_columns(struct csv_input *own, size_t want, struct err *err)
{
    const struct csv *c = &own->csv;
    char names[2 * SHOWN + 4] = "";
    size_t n = 0;
    double value;

    for (size_t i = 0; i < c->n_columns; i++) {
        if (!csv_number(c->fields[i], &value))
            continue;
        if (n < want)
            own->columns[n] = i;
        n++;
    }
    if (n == want)
        return 0;
    input_table_list_names(c, names, sizeof names);
    return err_set(err, ERR_INVALID,
                   "%s: found %zu column%s of numbers (%s); the model takes %zu values, each a "
                   "column",
                   c->name, n, n == 1 ? "" : "s", names, want);
}

static int csv_input_open(struct input *in, struct err *err)
{
    struct csv_input *own = in->own = xcalloc(1, sizeof *own);
    int rc;

    if (file_map_open(&own->map, in->paths[0], err) ||
        csv_open(&own->csv, own->map.bytes, own->map.len, in->paths[0], err))
        return -1;
    rc = csv_next(&own->csv, err);
    if (rc < 0)
        return -1;
    own->waits = rc > 0;
    own->columns = xcalloc(input_values(in->reader), sizeof *own->columns);
    if (in->reader->columns)
        return input_table_find_names(own, in->reader->columns, input_values(in->reader), err);
    return rc ? find_columns(own, input_values(in->reader), err) : 0;
}

static int csv_input_next(struct input *in, float *x, struct err *err)
{
    struct csv_input *own = in->own;
    struct input_reader *r = in->reader;
    const bool bytes = !r->normalizer->floats;
    const int rc = own->waits ? 1 : csv_next(&own->csv, err);
    double value = 0;

    own->waits = false;
    if (rc <= 0)
        return rc;
    for (size_t i = 0; i < input_values(r); i++) {
        if (csv_value(&own->csv, own->columns[i], bytes ? &csv_byte : &csv_float, &value, err))
            return -1;
        if (bytes)
            r->bytes[i] = (uint8_t)value;
        else
            x[i] = (float)value;
    }
    if (bytes)
        normalizer_apply(r->normalizer, x, r->bytes);
    else
        normalizer_apply_floats(r->normalizer, x);
    return 1;
}

static void csv_input_close(struct input *in)
{
    struct csv_input *own = in->own;

    csv_release(&own->csv);
    file_map_close(&own->map);
    free(own->columns);
    free(own);
}

const struct input_kind input_csv = {.many = true,
                                     .numbers = true,
                                     .is = is_csv,
                                     .open = csv_input_open,
                                     .next = csv_input_next,
                                     .close = csv_input_close};
