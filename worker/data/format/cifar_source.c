/* The binary files of CIFAR-10 and CIFAR-100: found, mapped, read one after the other. */
#include "paceline/file.h"
#include "paceline/mem.h"
#include "worker/data/format/cifar.h"
#include "worker/data/store/bytes.h"
#include "worker/data/store/source.h"

#define MAX_FILES 6

static const struct cifar_set {
    struct cifar_format format;
    const char *folder; /* of the published archive, in which the files may still be */
    struct {
        const char *name;
        int set;
    } files[MAX_FILES];
} cifar_sets[] = {
    {{"cifar10", 1, 10},
     "cifar-10-batches-bin",
     {{"data_batch_1.bin", SET_TRAIN},
      {"data_batch_2.bin", SET_TRAIN},
      {"data_batch_3.bin", SET_TRAIN},
      {"data_batch_4.bin", SET_TRAIN},
      {"data_batch_5.bin", SET_TRAIN},
      {"test_batch.bin", SET_TEST}}},
    {{"cifar100", 2, 100}, "cifar-100-binary", {{"train.bin", SET_TRAIN}, {"test.bin", SET_TEST}}},
};

struct cifar_files {
    const struct cifar_set *set;
    struct {
        struct file_map map;
        char *path;
        uint32_t n;
    } at[MAX_FILES];
};

static const struct cifar_set *cifar_set_find(const char *name)
{
    const struct cifar_set *set = cifar_sets;

    while (strcmp(set->format.name, name) != 0)
        set++;
    return set;
}

/* In the folder itself, else in the archive's own within it. */
static int cifar_source_map_file(struct cifar_files *files, int i, const char *folder,
                                 struct err *err)
{
    AUTO(auto_free) char *own = file_in(folder, files->set->folder);
    const char *name = files->set->files[i].name;
    struct err failure;

    files->at[i].path = file_in(own, name);
    if (file_map_open(&files->at[i].map, files->at[i].path, &failure) == 0)
        return 0;
    free(files->at[i].path);
    files->at[i].path = file_in(folder, name);
    return file_map_open(&files->at[i].map, files->at[i].path, err);
}

static int cifar_source_open(struct source *s, const char *folder, struct err *err)
{
    struct cifar_files *files = s->files = xcalloc(1, sizeof *files);

    files->set = cifar_set_find(s->set->name);
    s->shape = s->set->shape;
    for (int i = 0; i < MAX_FILES && files->set->files[i].name; i++) {
        if (cifar_source_map_file(files, i, folder, err) ||
            cifar_records(&files->set->format, files->at[i].map.len, files->at[i].path,
                          &files->at[i].n, err))
            return -1;
        s->n[files->set->files[i].set] += files->at[i].n;
    }
    return 0;
}

static int cifar_source_read(struct source *s, const struct source_memory *to, struct err *err)
{
    const struct cifar_files *files = s->files;
    uint32_t done[N_SETS] = {0};

    for (int i = 0; i < MAX_FILES && files->at[i].path; i++) {
        int set = files->set->files[i].set;
        if (cifar_unpack(
                &files->set->format, files->at[i].map.bytes, files->at[i].n, files->at[i].path,
                to->images[set] ? to->images[set] + done[set] * (size_t)CIFAR_IMAGE_BYTES : NULL,
                to->labels[set] + done[set], err))
            return -1;
        done[set] += files->at[i].n;
    }
    return 0;
}

static void cifar_source_close(struct source *s)
{
    struct cifar_files *files = s->files;

    for (int i = 0; i < MAX_FILES; i++) {
        file_map_close(&files->at[i].map);
        free(files->at[i].path);
    }
    free(files);
}

static bool cifar_source_where(const struct source *s, int set, uint32_t i, const char **path,
                               size_t *at)
{
    const struct cifar_files *files = s->files;
    int f = 0;

    for (; files->set->files[f].set != set || i >= files->at[f].n; f++)
        i -= files->set->files[f].set == set ? files->at[f].n : 0;
    *path = files->at[f].path;
    *at = cifar_image_at(&files->set->format, i);
    return true;
}

static const struct source_kind cifar_source = {cifar_source_open, cifar_source_read,
                                                cifar_source_close, cifar_source_where};

const struct data_kind cifar_kind = {BYTES_KIND(
    cifar_source, "put the binary version's files into a folder and name it in spec.dataset.path")};
