/* The four IDX files of a data set: found, mapped, their headers checked against each other. */
#include <pthread.h>
#include <sched.h>

#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/data/format/idx.h"
#include "worker/data/store/bytes.h"
#include "worker/data/store/source.h"

enum idx_name { TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS, N_FILES };

static const struct {
    const char *name;
    int dims;
} idx_names[N_FILES] = {
    [TRAIN_IMAGES] = {"train-images-idx3-ubyte", 3},
    [TRAIN_LABELS] = {"train-labels-idx1-ubyte", 1},
    [TEST_IMAGES] = {"t10k-images-idx3-ubyte", 3},
    [TEST_LABELS] = {"t10k-labels-idx1-ubyte", 1},
};

struct idx_files {
    struct mapped_idx {
        struct idx_file idx; /* idx.name is path */
        char *path;
        struct file_map map;
    } at[N_FILES];
};

/* Maps the plain file, else the one with .gz. */
static int idx_source_map_file(struct mapped_idx *f, const char *folder, const char *name,
                               struct err *err)
{
    static const char *const endings[] = {"", ".gz"};
    struct err failure = {0};

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        AUTO(auto_free) char *file = xasprintf("%s%s", name, endings[i]);

        free(f->path);
        f->path = file_in(folder, file);
        if (file_map_open(&f->map, f->path, &failure) == 0)
            return 0;
        if (failure.code != ERR_NOT_FOUND) {
            *err = failure;
            return -1;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "%s: not found, with or without .gz", f->path);
}

/* As many labels as images; test images of the size of the training images. */
static int check_pairs(const struct mapped_idx *files, struct err *err)
{
    const uint32_t *train = files[TRAIN_IMAGES].idx.dims, *test = files[TEST_IMAGES].idx.dims;

    for (int i = TRAIN_IMAGES; i < N_FILES; i += TEST_IMAGES - TRAIN_IMAGES) {
        uint32_t images = files[i].idx.dims[0], labels = files[i + 1].idx.dims[0];
        if (images != labels)
            return err_set(err, ERR_DAMAGED, "%s: %u labels; %s has %u images", files[i + 1].path,
                           labels, files[i].path, images);
    }
    if (train[1] != test[1] || train[2] != test[2])
        return err_set(err, ERR_DAMAGED, "%s: images of %u x %u; the training images are %u x %u",
                       files[TEST_IMAGES].path, test[1], test[2], train[1], train[2]);
    return 0;
}

static int idx_source_open(struct source *s, const char *folder, struct err *err)
{
    struct idx_files *files = s->files = xcalloc(1, sizeof *files);
    const uint32_t *dims = files->at[TRAIN_IMAGES].idx.dims;

    for (int i = 0; i < N_FILES; i++) {
        struct mapped_idx *f = &files->at[i];
        if (idx_source_map_file(f, folder, idx_names[i].name, err) ||
            idx_open(&f->idx, f->map.bytes, f->map.len, f->path, idx_names[i].dims, err))
            return -1;
    }
    s->n[SET_TRAIN] = dims[0];
    s->n[SET_TEST] = files->at[TEST_IMAGES].idx.dims[0];
    s->shape = (struct shape){.c = 1, .h = (int)dims[1], .w = (int)dims[2]};
    return check_pairs(files->at, err);
}

/* Images and labels of one set; a thread of its own when there is a core for it. */
struct unpack_task {
    const struct mapped_idx *files; /* images, labels */
    uint8_t *images;
    uint16_t *labels;
    int rc;
    struct err err;
};

/* A file is inflated with its header, which ends just before the payload. Labels are widened in
 * their own memory, of which the bytes take the second half. */
static void *idx_source_unpack_set(void *arg)
{
    struct unpack_task *t = arg;
    const struct idx_file *images = &t->files[0].idx, *labels = &t->files[1].idx;
    uint8_t *bytes = (uint8_t *)t->labels + labels->payload;

    t->rc = t->images ? idx_unpack(images, t->images - images->header, &t->err) : 0;
    if (t->rc == 0)
        t->rc = idx_unpack(labels, bytes - labels->header, &t->err);
    for (size_t i = 0; i < labels->payload && t->rc == 0; i++)
        t->labels[i] = bytes[i];
    return NULL;
}

static bool has_second_core(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

static int unpack_both(const struct mapped_idx *files, const struct source_memory *to,
                       struct err *err)
{
    struct unpack_task train = {files + TRAIN_IMAGES, to->images[SET_TRAIN], to->labels[SET_TRAIN],
                                .rc = 0};
    struct unpack_task test = {files + TEST_IMAGES, to->images[SET_TEST], to->labels[SET_TEST],
                               .rc = 0};
    pthread_t thread;
    bool apart = has_second_core() && !pthread_create(&thread, NULL, idx_source_unpack_set, &test);

    idx_source_unpack_set(&train);
    if (apart)
        pthread_join(thread, NULL);
    else
        idx_source_unpack_set(&test);
    if (!train.rc && !test.rc)
        return 0;
    *err = train.rc ? train.err : test.err;
    return -1;
}

static int idx_source_read(struct source *s, const struct source_memory *to, struct err *err)
{
    const struct idx_files *files = s->files;

    if (unpack_both(files->at, to, err))
        return -1;
    for (uint32_t i = 0; i < s->n[SET_TRAIN] && !s->set->classes; i++)
        if (to->labels[SET_TRAIN][i] >= s->classes)
            s->classes = to->labels[SET_TRAIN][i] + 1;
    for (int set = 0; set < N_SETS; set++)
        for (uint32_t i = 0; i < s->n[set]; i++)
            if (to->labels[set][i] >= s->classes)
                return err_set(err, ERR_DAMAGED, "%s: label %d of sample %u; 0 to %d are allowed",
                               files->at[set ? TEST_LABELS : TRAIN_LABELS].path, to->labels[set][i],
                               i, s->classes - 1);
    return 0;
}

static void idx_source_close(struct source *s)
{
    struct idx_files *files = s->files;

    for (int i = 0; i < N_FILES; i++) {
        file_map_close(&files->at[i].map);
        free(files->at[i].path);
    }
    free(files);
}

/* A compressed file can only be read from the front. */
static bool idx_source_where(const struct source *s, int set, uint32_t i, const char **path,
                             size_t *at)
{
    const struct idx_files *files = s->files;
    const struct mapped_idx *images = &files->at[set ? TEST_IMAGES : TRAIN_IMAGES];

    *path = images->path;
    *at = images->idx.header + i * source_image_bytes(s);
    return !images->idx.gzip;
}

static const struct source_kind idx_source = {idx_source_open, idx_source_read, idx_source_close,
                                              idx_source_where};

const struct data_kind idx_kind = {
    BYTES_KIND(idx_source, "put the four files into a folder and name it in spec.dataset.path")};
