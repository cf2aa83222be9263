#include "cli/init/init_data.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/format.h"
#include "common/pattern.h"
#include "common/spec_table.h"
#include "paceline/buf.h"
#include "paceline/file.h"
#include "paceline/losses.h"
#include "paceline/mem.h"
#include "paceline/spec.h"
#include "paceline/text.h"
#include "worker/data/data.h"
#include "worker/data/format/csv.h"
#include "worker/data/format/npy.h"
#include "worker/data/image/image_folder.h"
#include "worker/data/image/image_reader.h"

#define MEASURED_MAX 200
#define LABEL_MAX 65535
#define NAMES_SHOWN 8
#define TEST_SPLIT 0.2

void init_data_release(struct init_data *d)
{
    for (size_t i = 0; i < d->n_inputs; i++)
        free(d->inputs[i].name);
    free(d->inputs);
    free(d->path);
    free(d->class_names);
    *d = (struct init_data){0};
}

static bool init_data_ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);

    return n >= m && strcasecmp(text + n - m, ending) == 0;
}

static bool exists(const char *folder, const char *name)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", folder, name);

    return access(path, F_OK) == 0;
}

static struct init_input *add_input(struct init_data *d, struct shape shape)
{
    d->inputs = xrealloc(d->inputs, (d->n_inputs + 1) * sizeof *d->inputs);
    d->inputs[d->n_inputs] = (struct init_input){.shape = shape};
    return &d->inputs[d->n_inputs++];
}

/* The first few names of classes or columns. */
static char *init_data_list_names(const char *const *names, size_t n)
{
    struct buf text;

    buf_init(&text, 0);
    for (size_t i = 0; i < n && i < NAMES_SHOWN; i++) {
        buf_puts(&text, i ? ", " : "");
        for (const char *c = names[i]; *c; c++) /* of one line, whatever a folder is called */
            buf_printf(&text, "%c", (unsigned char)*c < ' ' || *c == 127 ? '?' : *c);
    }
    if (n > NAMES_SHOWN)
        buf_puts(&text, ", ...");
    return text.data;
}

/* The sizes of some images of every class. */
struct sizes {
    int sides[MEASURED_MAX]; /* the shorter side of each */
    int n;
    struct shape first;
    bool alike, gray;
};

static void init_data_measure(struct sizes *s, const struct image_folder *f)
{
    const struct job job = {0};
    AUTO(image_reader_free) struct image_reader *r = image_reader_new(&job);
    const uint32_t n = f->n[SET_TRAIN], step = n / MEASURED_MAX + 1;
    struct err ignored;

    *s = (struct sizes){.alike = true, .gray = true};
    for (uint32_t i = 0; i < n && s->n < MEASURED_MAX; i += step) {
        const struct image_file *file = &f->files[SET_TRAIN][i];
        AUTO(auto_free) char *path = xasprintf("%s/%s", file->folder, file->name);
        struct shape shape;

        if (image_reader_measure(r, path, &shape, &ignored))
            continue;
        if (s->n == 0)
            s->first = shape;
        s->alike = s->alike && shape.h == s->first.h && shape.w == s->first.w;
        s->gray = s->gray && shape.c == 1;
        s->sides[s->n++] = shape.h < shape.w ? shape.h : shape.w;
    }
}

static int init_data_by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* A size that half of the images reach and that a CPU trains in minutes. */
static int choose_size(const int *sides, int n)
{
    static const int sizes[] = {64, 48, 32, 28};
    const int median = sides[n / 2];

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        if (sizes[i] <= median)
            return sizes[i];
    return median;
}

static int find_images(struct init_data *d, struct err *err)
{
    AUTO(image_folder_release) struct image_folder f;
    struct sizes s;

    d->splits = !exists(d->path, "train");
    if (image_folder_scan(&f, d->path, TEST_SPLIT, err))
        return -1;
    init_data_measure(&s, &f);
    if (!s.n)
        return err_set(err, ERR_DAMAGED, "%s: no image of its classes can be read", d->path);
    qsort(s.sides, (size_t)s.n, sizeof *s.sides, init_data_by_size);
    d->dataset = "images";
    d->outputs = f.n_classes;
    d->class_names = init_data_list_names(f.classes, (size_t)f.n_classes);
    d->n_train = f.n[SET_TRAIN];
    d->n_test = f.n[SET_TEST];
    d->gray = s.gray;
    d->least = s.sides[0];
    d->most = s.sides[s.n - 1];
    if (!s.alike || d->most > 64)
        d->image_size = choose_size(s.sides, s.n);
    add_input(d, (struct shape){s.gray ? 1 : 3, d->image_size ? d->image_size : s.first.h,
                                d->image_size ? d->image_size : s.first.w});
    return 0;
}

struct npy_open {
    struct file_map map;
    struct npy npy;
    char *path;
};

static void npy_open_close(struct npy_open *f)
{
    file_map_close(&f->map);
    free(f->path);
}

static int open_npy(struct npy_open *f, const char *folder, const char *name, struct err *err)
{
    *f = (struct npy_open){.path = xasprintf("%s/%s", folder, name)};
    return file_map_open(&f->map, f->path, err) ||
                   npy_open(&f->npy, f->map.bytes, f->map.len, f->path, err)
               ? -1
               : 0;
}

static int init_data_read_classes(struct init_data *d, const struct npy *y, struct err *err)
{
    int64_t most = -1;

    for (size_t i = 0; i < y->dims[0]; i++) {
        const int64_t label = npy_integer(y, i);

        if (label < 0 || label > LABEL_MAX)
            return err_set(err, ERR_DAMAGED, "%s: label %lld of sample %zu; 0 to %d are allowed",
                           y->name, (long long)label, i, LABEL_MAX);
        most = label > most ? label : most;
    }
    d->outputs = (int)most + 1;
    return 0;
}

/* Several labels of 0 and 1 are as many questions, whatever their type; else they are numbers. */
static int init_data_read_values(struct init_data *d, const struct npy *y, struct err *err)
{
    AUTO(auto_free) float *row = xcalloc(y->n_each, sizeof *row);
    bool bits = y->n_each > 1;

    if (y->n_dims > 2 || y->n_each > NET_INPUT_MAX)
        return err_set(err, ERR_INVALID,
                       "%s: found labels of %d dimensions; needed: one value for each sample, or a "
                       "row of them",
                       y->name, y->n_dims - 1);
    for (size_t i = 0; i < y->dims[0]; i++) {
        if (npy_numbers(y, i, row))
            return err_set(err, ERR_DAMAGED,
                           "%s: the label of sample %zu is not finite; needed: numbers that a "
                           "float of 32 bits can be",
                           y->name, i);
        for (size_t k = 0; k < y->n_each; k++)
            bits = bits && (row[k] == 0 || row[k] == 1);
    }
    d->loss = bits ? LOSS_SIGMOID_CROSS_ENTROPY : LOSS_MSE;
    d->outputs = (int)y->n_each;
    return 0;
}

static int init_data_read_labels(struct init_data *d, struct err *err)
{
    AUTO(npy_open_close) struct npy_open train = {0};
    AUTO(npy_open_close) struct npy_open test = {0};
    const struct npy *y = &train.npy;

    if (open_npy(&train, d->path, "train-y.npy", err) ||
        open_npy(&test, d->path, "test-y.npy", err))
        return -1;
    d->n_train = (uint32_t)y->dims[0];
    d->n_test = (uint32_t)test.npy.dims[0];
    return y->kind == 'f' || y->n_each != 1 ? init_data_read_values(d, y, err)
                                            : init_data_read_classes(d, y, err);
}

/* The NAME of train-NAME.npy, for the input layer that has this file. */
static int init_data_input_name(char **name, const char *folder, const char *file, struct err *err)
{
    const struct field *f = spec_field_find("spec.model.layers[].name");
    const size_t before = strlen("train-"), after = strlen(".npy");
    char shown[256], shown_file[256];

    *name = xasprintf("%.*s", (int)(strlen(file) - before - after), file + before);
    if (pattern_matches(f->pattern, *name))
        return 0;
    text_escape(shown_file, sizeof shown_file, file);
    text_escape(shown, sizeof shown, *name);
    return err_set(err, ERR_INVALID, "%s/%s: found %s as the name of an input; allowed: %s", folder,
                   shown_file, **name ? shown : "nothing", f->pattern_text);
}

/* Rows are vectors, [height][width], or [channels][height][width]. */
static int add_array(struct init_data *d, const char *file, struct err *err)
{
    AUTO(npy_open_close) struct npy_open f = {0};
    AUTO(auto_free) char *name = NULL;
    const size_t *dims = f.npy.dims;

    if (init_data_input_name(&name, d->path, file, err) || open_npy(&f, d->path, file, err))
        return -1;
    if (f.npy.n_each > NET_INPUT_MAX)
        return err_set(err, ERR_DAMAGED, "%s: found samples of %zu values; at most %d are allowed",
                       f.path, f.npy.n_each, NET_INPUT_MAX);
    if (f.npy.n_dims == 4 && dims[3] <= 4 && dims[1] > 4)
        return err_set(err, ERR_INVALID,
                       "%s: found samples of %zu x %zu x %zu, as of images whose channels come "
                       "last; needed: channels first, as of numpy.moveaxis(a, -1, 1)",
                       f.path, dims[1], dims[2], dims[3]);
    const int n = f.npy.n_dims;
    const struct shape shape =
        n <= 2 ? (struct shape){n > 1 ? (int)dims[1] : 1, 1, 1}
               : (struct shape){n > 3 ? (int)dims[1] : 1, (int)dims[n - 2], (int)dims[n - 1]};
    add_input(d, shape)->name = STEAL(name);
    return 0;
}

static int is_input_file(const struct dirent *e)
{
    return strncmp(e->d_name, "train-", 6) == 0 && init_data_ends_with(e->d_name, ".npy") &&
           strcmp(e->d_name, "train-y.npy") != 0;
}

static int find_arrays(struct init_data *d, struct err *err)
{
    struct dirent **files;
    const int n = scandir(d->path, &files, is_input_file, alphasort);
    int rc = 0;

    if (n < 0)
        return err_set(err, ERR_IO, "%s: %s", d->path, strerror(errno));
    d->dataset = "arrays";
    for (int i = 0; i < n; i++) {
        rc = rc ? rc : add_array(d, files[i]->d_name, err);
        free(files[i]);
    }
    free(files);
    if (rc)
        return -1;
    if (!n)
        return err_set(
            err, ERR_INVALID,
            "%s: labels, train-y.npy, but no inputs; needed: train-x.npy and test-x.npy, "
            "or files of other names for several inputs",
            d->path);
    return init_data_read_labels(d, err);
}

static int find_idx(struct init_data *d, struct err *err)
{
    struct job job = {0};
    struct datasets data;

    job.dataset.name = (char *)"idx";
    job.dataset.path = d->path;
    job.dataset.row_convert = true;
    job.training.batch_size = 1;
    if (datasets_load(&data, &job, "", 0, 1, err))
        return -1;
    d->dataset = "idx";
    d->outputs = data.train.classes;
    d->n_train = data.n_train;
    d->n_test = data.test.n;
    add_input(d, data.train.shape);
    datasets_release(&data);
    return 0;
}

/* Describes a table in the error, because no job is written for one. */
static int explain_table(const char *path, struct err *err)
{
    AUTO(file_map_close) struct file_map map = {0};
    AUTO(csv_release) struct csv c = {0};
    AUTO(auto_free) char *names = NULL;
    size_t rows = 0, numbers = 0;
    struct err ignored;
    double value;
    int rc;

    if (file_map_open(&map, path, err) || csv_open(&c, map.bytes, map.len, path, err))
        return -1;
    while ((rc = csv_next(&c, &ignored)) != 0) {
        for (size_t i = 0; i < c.n_columns && rc > 0 && rows == 0; i++)
            numbers += csv_number(c.fields[i], &value);
        rows += rc > 0;
    }
    names = init_data_list_names(c.columns, c.n_columns);
    return err_set(
        err, ERR_INVALID,
        "%s: a table of %zu rows, with %zu columns of numbers and %zu of words (%s); init writes "
        "no "
        "jobs for tables: dataset.name csv trains on train.csv and test.csv of a folder, with the "
        "classes in the column dataset.labelColumn (docs/reference/csv.md)",
        path, rows, numbers, c.n_columns - numbers, names);
}

/* A file of a data set stands for its folder. */
static int look_at_file(struct init_data *d, struct err *err)
{
    char *slash = strrchr(d->path, '/');

    if (init_data_ends_with(d->path, ".csv"))
        return explain_table(d->path, err);
    if (!init_data_ends_with(d->path, ".npy"))
        return err_set(err, ERR_INVALID,
                       "%s: a file; needed: a folder of folders of images, one per class, a folder "
                       "of arrays (.npy), or a table (.csv)",
                       d->path);
    *slash = '\0';
    if (exists(d->path, "train-y.npy"))
        return find_arrays(d, err);
    return err_set(err, ERR_INVALID,
                   "%s: no train-y.npy in this folder; needed: train-x.npy and test-x.npy, the "
                   "samples, and train-y.npy and test-y.npy, their labels",
                   d->path);
}

static int init_data_look(struct init_data *d, const char *path, struct err *err)
{
    struct stat st;

    d->path = realpath(path, NULL);
    if (!d->path || stat(d->path, &st))
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s",
                       path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return look_at_file(d, err);
    if (exists(d->path, "train-y.npy"))
        return find_arrays(d, err);
    if (exists(d->path, "train-images-idx3-ubyte") || exists(d->path, "train-images-idx3-ubyte.gz"))
        return find_idx(d, err);
    return find_images(d, err);
}

int init_data_find(struct init_data *d, const char *path, struct err *err)
{
    *d = (struct init_data){0};
    if (init_data_look(d, path, err) == 0)
        return 0;
    init_data_release(d);
    return -1;
}
