#include "worker/data/format/arrays.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "paceline/digest.h"
#include "paceline/file.h"
#include "paceline/losses.h"
#include "paceline/mem.h"
#include "worker/data/format/npy.h"
#include "worker/data/store/kind.h"

#define LABELS "y"      /* the name of their files */
#define ONE_INPUT "x"   /* of an input that has no layer */
#define LABEL_MAX 65535 /* a label is two bytes */
#define PART_BYTES 8192 /* of a row, that are read at once */
/* "SAMPLE ..." of what is no float */
#define BAD "has a value that is not finite; needed: numbers that a float of 32 bits can be"

struct array_file {
    char *path;
    int fd; /* -1: not open */
    struct file_map map;
    struct npy npy; /* npy.name is path */
    size_t at;      /* of the first row in the file */
};

/* An input, or the labels. */
struct array {
    const struct layer_spec *layer; /* NULL: there is none */
    struct array_file of[N_SETS];
};

struct arrays {
    struct array labels, *inputs;
    int n_inputs;
    uint32_t n[N_SETS];
    struct shape shape; /* of a sample */
    enum label_kind kind;
    uint16_t *numbers[N_SETS]; /* the labels, where they are classes */
    uint64_t digests[N_SETS];  /* of the labels that stay in their files */
};

static void arrays_free(void *files)
{
    struct arrays *a = files;

    for (int i = -1; a && i < a->n_inputs; i++)
        for (int set = 0; set < N_SETS; set++) {
            struct array_file *f = i < 0 ? &a->labels.of[set] : &a->inputs[i].of[set];
            file_map_close(&f->map);
            if (f->path && f->fd >= 0)
                close(f->fd);
            free(f->path);
        }
    for (int set = 0; a && set < N_SETS; set++)
        free(a->numbers[set]);
    if (a)
        free(a->inputs);
    free(a);
}

static int open_files(struct array *a, const char *folder, const char *name, struct err *err)
{
    static const char *const sets[N_SETS] = {[SET_TRAIN] = "train", [SET_TEST] = "test"};

    for (int set = 0; set < N_SETS; set++) {
        AUTO(auto_free) char *file = xasprintf("%s-%s.npy", sets[set], name);
        struct array_file *f = &a->of[set];

        f->path = file_in(folder, file);
        f->fd = -1;
        if (file_map_open(&f->map, f->path, err) ||
            npy_open(&f->npy, f->map.bytes, f->map.len, f->path, err))
            return -1;
        f->at = (size_t)(f->npy.values - f->map.bytes);
        f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
        if (f->fd < 0)
            return err_set(err, ERR_IO, "%s: %s", f->path, strerror(errno));
    }
    return 0;
}

/* The dimensions of a sample: "3 x 32 x 32". */
static char *dims_text(const struct npy *f)
{
    char *text = f->n_dims > 1 ? xasprintf("%zu", f->dims[1]) : xstrdup("1");

    for (int i = 2; i < f->n_dims; i++) {
        AUTO(auto_free) char *before = text;
        text = xasprintf("%s x %zu", before, f->dims[i]);
    }
    return text;
}

/* Rows of as many values, or of the same dimensions but for those of 1: another order of channels
 * would be another image. */
static bool has_shape(const struct npy *f, struct shape s)
{
    const size_t sizes[] = {(size_t)s.c, (size_t)s.h, (size_t)s.w};
    size_t k = 0;

    if (f->n_each != sizes[0] * sizes[1] * sizes[2])
        return false;
    for (int i = 1; i < f->n_dims && f->n_dims > 2; i++) {
        if (f->dims[i] == 1)
            continue;
        while (k < ARRAY_LEN(sizes) && sizes[k] == 1)
            k++;
        if (k == ARRAY_LEN(sizes) || sizes[k++] != f->dims[i])
            return false;
    }
    return true;
}

/* Of an input that has no layer: (n, w), (n, h, w) or (n, c, h, w). */
static int shape_of(struct shape *s, const struct npy *f, struct err *err)
{
    const size_t *d = f->dims;
    const int n = f->n_dims;

    if (f->n_each > NET_INPUT_MAX)
        return err_set(err, ERR_DAMAGED, "%s: found samples of %zu values; at most %d are allowed",
                       f->name, f->n_each, NET_INPUT_MAX);
    *s =
        (struct shape){n > 3 ? (int)d[1] : 1, n > 2 ? (int)d[n - 2] : 1, n > 1 ? (int)d[n - 1] : 1};
    return 0;
}

int arrays_check(const struct npy *f, struct shape s, struct err *err)
{
    if (f->kind == 'i' || f->kind == 'b' || (f->kind == 'u' && f->size > 1))
        return err_set(err, ERR_DAMAGED,
                       "%s: found %s of %d bytes; allowed of an input: <f4, <f8 and |u1", f->name,
                       f->kind == 'b' ? "bools" : "integers", f->size);
    if (!has_shape(f, s)) {
        AUTO(auto_free) char *text = dims_text(f);
        return err_set(err, ERR_DAMAGED, "%s: found samples of %s; needed: %d x %d x %d", f->name,
                       text, s.c, s.h, s.w);
    }
    return 0;
}

static int check_input(const struct npy *f, struct shape s, uint32_t n, const char *labels,
                       struct err *err)
{
    if (arrays_check(f, s, err))
        return -1;
    if (f->dims[0] != n)
        return err_set(err, ERR_DAMAGED, "%s: found %zu samples; %s has %u labels", f->name,
                       f->dims[0], labels, n);
    return 0;
}

static int check_classes(const struct npy *f, struct err *err)
{
    if (f->kind != 'f' && f->n_each == 1)
        return 0;
    return err_set(err, ERR_DAMAGED,
                   "%s: found %zu %s per sample; needed: one integer, the class; numbers need "
                   "spec.model.loss: mse, mae or huber, several labels of 0 and 1 "
                   "sigmoidCrossEntropy",
                   f->name, f->n_each, f->kind == 'f' ? "floats" : "integers");
}

/* Checks that a label is a number, or a row of as many numbers as in the other set. */
static int check_values(const struct npy *f, const struct npy *train, struct err *err)
{
    if (f->n_dims > 2 || f->n_each > NET_INPUT_MAX)
        return err_set(err, ERR_DAMAGED,
                       "%s: found labels of %d dimensions, %zu values in all; needed for each "
                       "sample: one value, or a row of at most %d",
                       f->name, f->n_dims - 1, f->n_each, NET_INPUT_MAX);
    if (f->n_each != train->n_each)
        return err_set(err, ERR_DAMAGED, "%s: found labels of %zu values; %s has %zu", f->name,
                       f->n_each, train->name, train->n_each);
    return 0;
}

static int check_labels(struct arrays *a, struct err *err)
{
    for (int set = 0; set < N_SETS; set++) {
        const struct npy *f = &a->labels.of[set].npy;

        if (labels_are_classes(a->kind) ? check_classes(f, err)
                                        : check_values(f, &a->labels.of[SET_TRAIN].npy, err))
            return -1;
        if (f->dims[0] > INT32_MAX)
            return err_set(err, ERR_DAMAGED, "%s: found %zu samples; at most %d are allowed",
                           f->name, f->dims[0], INT32_MAX);
        a->n[set] = (uint32_t)f->dims[0];
    }
    return 0;
}

/* Input layer i; NULL: there are no more. */
static const struct layer_spec *input_layer(const struct job *job, size_t i)
{
    for (size_t k = 0; k < job->model.n_layers; k++)
        if (job->model.layers[k].type == LAYER_INPUT && i-- == 0)
            return &job->model.layers[k];
    return NULL;
}

size_t arrays_inputs(const struct job *job)
{
    size_t n = 0;

    while (input_layer(job, n))
        n++;
    return n;
}

char *arrays_input_name(const struct job *job, size_t i)
{
    const struct layer_spec *layer = input_layer(job, i);

    if (!layer)
        return xstrdup(ONE_INPUT);
    return layer->name ? xstrdup(layer->name) : xasprintf("input%zu", i + 1);
}

struct shape arrays_input_shape(const struct job *job, size_t i)
{
    return net_input_shape(input_layer(job, i));
}

/* The inputs: one for each layer of that type. */
static void list_inputs(struct arrays *a, const struct job *job)
{
    a->n_inputs = (int)arrays_inputs(job);
    a->inputs = xcalloc((size_t)a->n_inputs + 1, sizeof *a->inputs);
    for (int i = 0; i < a->n_inputs; i++)
        a->inputs[i].layer = input_layer(job, (size_t)i);
    a->n_inputs += !a->n_inputs;
}

static int open_input(struct arrays *a, int i, const struct job *job, struct err *err)
{
    const char *folder = job->dataset.path;
    struct array *input = &a->inputs[i];
    const struct layer_spec *layer = input->layer;
    AUTO(auto_free) char *name = arrays_input_name(job, (size_t)i);

    if (strcmp(name, LABELS) == 0)
        return err_set(err, ERR_INVALID,
                       "layer %s: an input of the labels' name; allowed: another name", name);
    if (open_files(input, folder, name, err) ||
        (!layer && shape_of(&a->shape, &input->of[SET_TRAIN].npy, err)))
        return -1;
    for (int set = 0; set < N_SETS; set++) {
        if (check_input(&input->of[set].npy, layer ? net_input_shape(layer) : a->shape, a->n[set],
                        a->labels.of[set].path, err))
            return -1;
        file_map_close(&input->of[set].map); /* rows are read */
    }
    return 0;
}

static int open_all(struct arrays *a, const struct job *job, struct err *err)
{
    const char *folder = job->dataset.path;

    a->kind = job_labels(job);
    list_inputs(a, job);
    a->shape = job_inputs_shape(job);
    if (a->inputs[0].layer && (!a->shape.c || a->shape.c > NET_INPUT_MAX))
        return err_set(err, ERR_INVALID,
                       "the input layers have shapes that no sample has; needed: vectors, or "
                       "channels, height and width, of at most %d values in all",
                       NET_INPUT_MAX);
    if (open_files(&a->labels, folder, LABELS, err) || check_labels(a, err))
        return -1;
    for (int i = 0; i < a->n_inputs; i++)
        if (open_input(a, i, job, err))
            return -1;
    return 0;
}

/* NULL: failed. */
static struct arrays *arrays_open(const struct job *job, struct err *err)
{
    struct arrays *a = xcalloc(1, sizeof *a);
    struct err why;

    if (open_all(a, job, &why) == 0)
        return a;
    err_set(err, why.code, "dataset arrays: %s%s", why.msg,
            why.code == ERR_NOT_FOUND
                ? "; needed: train-NAME.npy and test-NAME.npy for each input layer (without one "
                  "for x), and the labels as train-y.npy and test-y.npy"
                : "");
    arrays_free(a);
    return NULL;
}

/* Classes: one more than the largest label to train with. */
static int arrays_read_labels(struct arrays *a, int *classes, struct err *err)
{
    int64_t end = LABEL_MAX + 1;

    *classes = 0;
    for (int set = 0; set < N_SETS; set++) {
        const struct npy *f = &a->labels.of[set].npy;

        a->numbers[set] = xcalloc(a->n[set], sizeof *a->numbers[set]);
        for (uint32_t i = 0; i < a->n[set]; i++) {
            const int64_t label = npy_integer(f, i);

            if (label < 0 || label >= end)
                return err_set(err, ERR_DAMAGED,
                               "dataset arrays: %s: label %lld of sample %u; 0 to %lld are allowed",
                               f->name, (long long)label, i, (long long)end - 1);
            if (set == SET_TRAIN && label >= *classes)
                *classes = (int)label + 1;
            a->numbers[set][i] = (uint16_t)label;
        }
        end = *classes;
    }
    return 0;
}

static int check_bits(const struct npy *f, uint32_t i, const float *row, struct err *err)
{
    for (size_t k = 0; k < f->n_each; k++)
        if (row[k] != 0 && row[k] != 1)
            return err_set(err, ERR_DAMAGED,
                           "dataset arrays: %s: label %g of sample %u; allowed with "
                           "sigmoidCrossEntropy: 0 and 1",
                           f->name, (double)row[k], i);
    return 0;
}

/* Labels that are values stay in their files, as inputs do. This reads each of them once, to check
 * and digest it. */
static int arrays_read_values(struct arrays *a, struct err *err)
{
    const size_t each = a->labels.of[SET_TRAIN].npy.n_each;
    AUTO(auto_free) float *row = xcalloc(each, sizeof *row);

    for (int set = 0; set < N_SETS; set++) {
        const struct npy *f = &a->labels.of[set].npy;
        struct digest seen = digest_begin(a->n[set]);

        for (uint32_t i = 0; i < a->n[set]; i++) {
            if (npy_numbers(f, i, row))
                return err_set(err, ERR_DAMAGED, "dataset arrays: %s: the label of sample %u " BAD,
                               f->name, i);
            if (a->kind == LABELS_BITS && check_bits(f, i, row, err))
                return -1;
            digest_add(&seen, row, each * sizeof *row);
        }
        a->digests[set] = digest_end(&seen);
        file_map_close(&a->labels.of[set].map);
    }
    return 0;
}

/* What a mapped file would not say: that it ends before. */
static int read_part(const struct array_file *f, size_t at, uint8_t *to, size_t n, struct err *err)
{
    ssize_t got;

    for (size_t have = 0; have < n; have += (size_t)got) {
        got = pread(f->fd, to + have, n - have, (off_t)(at + have));
        if (got < 0)
            return err_set(err, ERR_IO, "dataset arrays: %s: %s", f->path, strerror(errno));
        if (got == 0)
            return err_set(err, ERR_DAMAGED,
                           "dataset arrays: %s: cut short since the start: %zu bytes at %zu are "
                           "gone",
                           f->path, n - have, at + have);
    }
    return 0;
}

/* Values of the file to floats: npy_floats, or npy_numbers. */
typedef int convert_fn(const struct npy *f, size_t i, float *x);

static int read_row(const struct array_file *f, uint32_t id, convert_fn *convert, float *x,
                    struct err *err)
{
    const size_t each = f->npy.n_each, size = (size_t)f->npy.size, most = PART_BYTES / size;
    uint8_t bytes[PART_BYTES];
    struct npy part = f->npy;

    part.values = bytes;
    for (size_t k = 0; k < each; k += part.n_each) {
        part.n_each = each - k < most ? each - k : most;
        if (read_part(f, f->at + (id * each + k) * size, bytes, part.n_each * size, err))
            return -1;
        if (convert(&part, 0, x + k))
            return err_set(err, ERR_DAMAGED, "dataset arrays: %s: sample %u (counted from 0) " BAD,
                           f->path, id);
    }
    return 0;
}

static int arrays_sample(const struct dataset *set, uint32_t id, float *x, struct err *err)
{
    const struct arrays *a = set->own;

    for (int i = 0; i < a->n_inputs; i++) {
        const struct array_file *f = &a->inputs[i].of[set->number];

        if (read_row(f, id, npy_floats, x, err))
            return -1;
        x += f->npy.n_each;
    }
    return 0;
}

static const void *arrays_raw(const struct dataset *set, uint32_t id, struct sample_reader *r,
                              const struct normalizer *n, struct err *err)
{
    (void)n;
    return arrays_sample(set, id, r->room, err) ? NULL : r->room;
}

static int arrays_row(const struct dataset *set, uint32_t id, struct sample_reader *r,
                      const struct normalizer *n, float *x, struct err *err)
{
    const double start = sample_seconds();

    if (arrays_sample(set, id, x, err))
        return -1;
    normalizer_apply_floats(n, x);
    r->converting += sample_seconds() - start;
    return 0;
}

static int arrays_values(const struct dataset *set, uint32_t id, float *values, struct err *err)
{
    const struct arrays *a = set->own;

    return read_row(&a->labels.of[set->number], id, npy_numbers, values, err);
}

static const struct dataset_ops arrays_ops = {
    .floats = true, .mapped = true, .row = arrays_row, .raw = arrays_raw, .values = arrays_values};

static int arrays_load(const struct data_kind *k, struct datasets *d, const struct job *job,
                       const struct host_rank *h, struct err *err)
{
    struct arrays *a = d->files = arrays_open(job, err);
    struct dataset *const sets[N_SETS] = {[SET_TRAIN] = &d->train, [SET_TEST] = &d->test};
    int classes, values = 0;

    (void)k, (void)h;
    d->files_free = arrays_free;
    if (!a)
        return -1;
    if (labels_are_classes(a->kind)) {
        if (arrays_read_labels(a, &classes, err))
            return -1;
    } else {
        if (arrays_read_values(a, err))
            return -1;
        classes = values = (int)a->labels.of[SET_TRAIN].npy.n_each;
    }
    for (int set = 0; set < N_SETS; set++)
        *sets[set] = (struct dataset){.n = a->n[set],
                                      .ops = &arrays_ops,
                                      .own = a,
                                      .number = set,
                                      .shape = a->shape,
                                      .classes = classes,
                                      .values = values,
                                      .positions = 1,
                                      .labels = a->numbers[set],
                                      .values_digest = a->digests[set]};
    return 0;
}

static int arrays_look(const struct data_kind *k, struct data_facts *f, const struct job *job,
                       bool whole, struct err *err)
{
    struct datasets d = {0};

    if (whole) {
        const int rc = arrays_load(k, &d, job, NULL, err);

        *f = (struct data_facts){.shape = d.train.shape,
                                 .n_train = d.train.n,
                                 .n_test = d.test.n,
                                 .classes = d.train.classes,
                                 .values = d.train.values};
        arrays_free(d.files);
        return rc;
    }
    struct arrays *a = arrays_open(job, err);
    if (!a)
        return -1;
    *f = (struct data_facts){
        .shape = a->shape, .n_train = a->n[SET_TRAIN], .n_test = a->n[SET_TEST]};
    arrays_free(a);
    return 0;
}

const struct data_kind arrays_kind = {.load = arrays_load, .look = arrays_look};
