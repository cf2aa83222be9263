#include "worker/data/sources.h"

#include "paceline/mem.h"

static const struct {
    const char *name;
    int dims;
} source_files[N_SOURCES] = {
    [TRAIN_IMAGES] = {"train-images-idx3-ubyte", 3},
    [TRAIN_LABELS] = {"train-labels-idx1-ubyte", 1},
    [TEST_IMAGES] = {"t10k-images-idx3-ubyte", 3},
    [TEST_LABELS] = {"t10k-labels-idx1-ubyte", 1},
};

#define PUT_IN_FOLDER "put the four files into a folder and name it in spec.dataset.path"

static const struct known_set {
    const char *name, *folder, *advice;
    int classes;
} known_sets[] = {
    {"fashion-mnist", "/usr/share/datasets/fashion-mnist",
     "install the Debian package dataset-fashion-mnist or set spec.dataset.path", 10},
    {"mnist", NULL, PUT_IN_FOLDER ", or into mnist in the folder that PACELINE_DATA names", 10},
    {"idx", NULL, PUT_IN_FOLDER, 0},
};

static const struct known_set *known_set_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(known_sets); i++)
        if (strcmp(known_sets[i].name, name) == 0)
            return &known_sets[i];
    err_set(err, ERR_INVALID, "spec.dataset.name: \"%s\"; fashion-mnist, mnist and idx are allowed",
            name);
    return NULL;
}

/* The folder to look in, malloc'ed; NULL when nothing names one. */
static char *find_folder(const struct known_set *set, const char *path)
{
    const char *data = getenv("PACELINE_DATA");

    if (path || set->folder)
        return xstrdup(path ? path : set->folder);
    return data ? xasprintf("%s/%s", data, set->name) : NULL;
}

/* Maps the plain file, else the one with .gz. */
static int source_map(struct source *s, const char *folder, const char *name, struct err *err)
{
    static const char *const endings[] = {"", ".gz"};
    struct err failure = {0};

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        free(s->path);
        s->path = xasprintf("%s/%s%s", folder, name, endings[i]);
        if (file_map_open(&s->map, s->path, &failure) == 0)
            return 0;
        if (failure.code != ERR_NOT_FOUND) {
            *err = failure;
            return -1;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "%s: not found, with or without .gz", s->path);
}

static int source_open(struct source *s, const char *folder, enum source_file which,
                       struct err *err)
{
    if (source_map(s, folder, source_files[which].name, err))
        return -1;
    return idx_open(&s->idx, s->map.bytes, s->map.len, s->path, source_files[which].dims, err);
}

/* As many labels as images; test images of the size of the training images. */
static int check_pairs(const struct sources *s, struct err *err)
{
    const struct source *files = s->files;
    const uint32_t *train = files[TRAIN_IMAGES].idx.dims, *test = files[TEST_IMAGES].idx.dims;

    for (int i = TRAIN_IMAGES; i < N_SOURCES; i += TEST_IMAGES - TRAIN_IMAGES) {
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

int sources_open(struct sources *s, const struct job *job, struct err *err)
{
    const struct known_set *set = known_set_find(job->dataset.name, err);
    AUTO(auto_free) char *folder = set ? find_folder(set, job->dataset.path) : NULL;

    *s = (struct sources){.classes = set ? set->classes : 0};
    if (!set)
        return -1;
    if (!folder)
        return err_set(err, ERR_NOT_FOUND, "dataset %s: no folder is given; %s", set->name,
                       set->advice);
    for (int i = 0; i < N_SOURCES; i++) {
        struct err failure;
        if (source_open(&s->files[i], folder, (enum source_file)i, &failure) == 0)
            continue;
        sources_close(s);
        if (failure.code == ERR_NOT_FOUND)
            return err_set(err, ERR_NOT_FOUND, "dataset %s: %s; %s", set->name, failure.msg,
                           set->advice);
        return err_set(err, failure.code, "dataset %s: %s", set->name, failure.msg);
    }
    if (check_pairs(s, err) == 0)
        return 0;
    sources_close(s);
    return err_wrap(err, "dataset %s", set->name);
}

void sources_close(struct sources *s)
{
    for (int i = 0; i < N_SOURCES; i++) {
        struct source *f = &s->files[i];
        file_map_close(&f->map);
        free(f->path);
        *f = (struct source){0};
    }
}
