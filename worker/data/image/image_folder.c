#include "worker/data/image/image_folder.h"

#include <dirent.h>
#include <errno.h>
#include <strings.h>
#include <sys/stat.h>

#include "paceline/digest.h"
#include "paceline/file.h"
#include "paceline/mem.h"

#define MAX_CLASSES 65535
#define TREE_DEPTH 64

static const char *const endings[] = {".jpg", ".jpeg", ".png"};
static const char *const test_folders[] = {"test", "val"};

struct names {
    const char **at;
    size_t n;
    uint32_t n_skipped; /* what is no image, or no folder; and the first of them */
    const char *skipped;
};

/* The path without the slash that may end it: names follow it after one. */
static const char *bare_path(struct arena *arena, const char *path)
{
    const size_t n = strlen(path);

    return arena_printf(arena, "%.*s", (int)(n - (n > 1 && path[n - 1] == '/')), path);
}

static bool image_folder_is_folder(const char *folder, const char *name)
{
    AUTO(auto_free) char *path = file_in(folder, name);
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_image(const char *name)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; i < ARRAY_LEN(endings) && dot; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void close_folder(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/* The folders, or the images, in a folder, sorted. The list is malloc'ed, its names are the
 * arena's. */
static int image_folder_list(struct names *names, struct arena *arena, const char *folder,
                             bool folders, struct err *err)
{
    AUTO(close_folder) DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t room = 0;

    *names = (struct names){0};
    if (!dir)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s",
                       folder, strerror(errno));
    for (errno = 0; (entry = readdir(dir)); errno = 0) {
        if (entry->d_name[0] == '.')
            continue;
        if (!(folders ? image_folder_is_folder(folder, entry->d_name) : is_image(entry->d_name))) {
            if (!names->n_skipped++)
                names->skipped = arena_printf(arena, "%s/%s", folder, entry->d_name);
            continue;
        }
        if (names->n == room)
            names->at = xrealloc(names->at, (room = 2 * room + 64) * sizeof *names->at);
        names->at[names->n++] = arena_strdup(arena, entry->d_name);
    }
    if (errno) {
        free(names->at);
        *names = (struct names){0};
        return err_set(err, ERR_IO, "%s: %s", folder, strerror(errno));
    }
    if (names->n)
        qsort(names->at, names->n, sizeof *names->at, compare_names);
    return 0;
}

static int list_classes(struct image_folder *f, const char *path, struct err *err)
{
    struct names classes;

    if (image_folder_list(&classes, &f->names, path, true, err))
        return -1;
    f->classes = classes.at;
    f->n_classes = (int)classes.n;
    if (classes.n < 1 || classes.n > MAX_CLASSES)
        return err_set(err, ERR_DAMAGED, "%s: %zu folders; 1 to %d are allowed, one per class",
                       path, classes.n, MAX_CLASSES);
    return 0;
}

/* Whether file i of a class is kept back: so that of its first k files share * k are, rounded down.
 */
static bool kept_back(size_t i, double share)
{
    return (int64_t)((double)(i + 1) * share) > (int64_t)((double)i * share);
}

/* The files of one class, to test or to train with, or by the share; how many there were. */
static int add_class(struct image_folder *f, const char *path, int label, int set, double share,
                     size_t *n, struct err *err)
{
    const char *folder = arena_printf(&f->names, "%s/%s", path, f->classes[label]);
    struct names names;

    if (image_folder_list(&names, &f->names, folder, false, err))
        return -1;
    *n = names.n;
    f->skipped = f->n_skipped ? f->skipped : names.skipped;
    f->n_skipped += names.n_skipped;
    for (int s = 0; s < N_SETS; s++)
        f->files[s] = xrealloc(f->files[s], (f->n[s] + names.n + 1) * sizeof *f->files[s]);
    for (size_t i = 0; i < names.n; i++) {
        int to = kept_back(i, share) ? SET_TEST : set;
        f->files[to][f->n[to]++] = (struct image_file){folder, names.at[i], (uint16_t)label};
    }
    free(names.at);
    if (f->n[SET_TRAIN] > INT32_MAX || f->n[SET_TEST] > INT32_MAX)
        return err_set(err, ERR_DAMAGED, "%s: more than %d images", path, INT32_MAX);
    return 0;
}

static int image_folder_add_training(struct image_folder *f, const char *path, double share,
                                     struct err *err)
{
    size_t n;

    if (list_classes(f, path, err))
        return -1;
    for (int i = 0; i < f->n_classes; i++) {
        if (add_class(f, path, i, SET_TRAIN, share, &n, err))
            return -1;
        if (n == 0)
            return err_set(err, ERR_DAMAGED,
                           "%s/%s: a class without images; files ending in .jpg, .jpeg or .png are "
                           "needed",
                           path, f->classes[i]);
    }
    return 0;
}

/* Classes to test with may be fewer. */
static int add_test(struct image_folder *f, const char *path, struct err *err)
{
    struct names classes;
    int rc = image_folder_list(&classes, &f->names, path, true, err);
    size_t n;

    for (size_t i = 0; i < classes.n && rc == 0; i++) {
        const char **label = bsearch(&classes.at[i], f->classes, (size_t)f->n_classes,
                                     sizeof *f->classes, compare_names);
        if (!label)
            rc = err_set(err, ERR_DAMAGED, "%s/%s: no class of the training images", path,
                         classes.at[i]);
        else
            rc = add_class(f, path, (int)(label - f->classes), SET_TEST, 0, &n, err);
    }
    free(classes.at);
    return rc;
}

static int scan_both(struct image_folder *f, const char *path, struct err *err)
{
    AUTO(auto_free) char *train = file_in(path, "train");

    if (image_folder_add_training(f, train, 0, err))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(test_folders); i++) {
        AUTO(auto_free) char *test = file_in(path, test_folders[i]);
        if (image_folder_is_folder(path, test_folders[i]))
            return add_test(f, test, err);
    }
    return err_set(err, ERR_DAMAGED, "%s: train without test or val beside it", path);
}

int image_folder_scan(struct image_folder *f, const char *path, double test_split, struct err *err)
{
    bool both = image_folder_is_folder(path, "train");
    int rc;

    *f = (struct image_folder){0};
    path = bare_path(&f->names, path);
    rc = both ? scan_both(f, path, err) : image_folder_add_training(f, path, test_split, err);
    if (rc == 0 && (!f->n[SET_TRAIN] || !f->n[SET_TEST]))
        rc =
            err_set(err, ERR_DAMAGED,
                    "%s: %u images to train and %u to test with; some of each are "
                    "needed%s",
                    path, f->n[SET_TRAIN], f->n[SET_TEST], both ? "" : " (spec.dataset.testSplit)");
    if (rc)
        image_folder_release(f);
    return rc;
}

/* A link to a folder may lead back up: below `path` none is followed. */
static bool is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static int add_tree(struct image_tree *t, const char *folder, int depth, struct err *err)
{
    struct names found;

    if (image_folder_list(&found, &t->names, folder, false, err))
        return -1;
    t->paths = xrealloc(t->paths, (t->n + found.n + 1) * sizeof *t->paths);
    for (size_t i = 0; i < found.n; i++)
        t->paths[t->n++] = arena_printf(&t->names, "%s/%s", folder, found.at[i]);
    free(found.at);
    if (image_folder_list(&found, &t->names, folder, true, err))
        return -1;
    int rc = 0;
    if (depth == 0 && found.n)
        rc = err_set(err, ERR_INVALID, "%s: folders within folders, more than %d deep", folder,
                     TREE_DEPTH);
    for (size_t i = 0; i < found.n && rc == 0; i++) {
        const char *below = arena_printf(&t->names, "%s/%s", folder, found.at[i]);

        rc = is_link(below) ? 0 : add_tree(t, below, depth - 1, err);
    }
    free(found.at);
    return rc;
}

int image_tree_scan(struct image_tree *t, const char *path, struct err *err)
{
    int rc;

    *t = (struct image_tree){0};
    rc = add_tree(t, bare_path(&t->names, path), TREE_DEPTH, err);
    if (rc == 0 && !t->n)
        rc = err_set(err, ERR_NOT_FOUND,
                     "%s: no images in this folder, nor in those within it; files ending in .jpg, "
                     ".jpeg or .png are needed",
                     path);
    if (rc)
        image_tree_release(t);
    return rc;
}

void image_tree_release(struct image_tree *t)
{
    arena_release(&t->names);
    free(t->paths);
    *t = (struct image_tree){0};
}

int image_folder_classes(struct buf *names, const char *path, struct err *err)
{
    AUTO(auto_free) char *train = file_in(path, "train");
    AUTO(image_folder_release) struct image_folder f = {0};

    if (list_classes(&f, image_folder_is_folder(path, "train") ? train : path, err))
        return -1;
    for (int i = 0; i < f.n_classes; i++)
        buf_add(names, f.classes[i], strlen(f.classes[i]) + 1);
    return 0;
}

static int stamp_folder(uint64_t *stamp, struct arena *names, const char *path, int depth,
                        struct err *err)
{
    struct names inside = {0};
    struct stat st;
    int rc = 0;

    if (stat(path, &st))
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(errno));
    uint64_t part[] = {*stamp, (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec,
                       digest_bytes(path, strlen(path))};
    *stamp = digest_bytes(part, sizeof part);
    if (depth)
        rc = image_folder_list(&inside, names, path, true, err);
    for (size_t i = 0; i < inside.n && rc == 0; i++)
        rc = stamp_folder(stamp, names, arena_printf(names, "%s/%s", path, inside.at[i]), depth - 1,
                          err);
    free(inside.at);
    return rc;
}

/* Down to the classes, not into them. */
int image_folder_stamp(uint64_t *stamp, const char *path, struct err *err)
{
    AUTO(arena_release) struct arena names = {0};

    *stamp = 0;
    return stamp_folder(stamp, &names, path, image_folder_is_folder(path, "train") ? 2 : 1, err);
}

void image_folder_release(struct image_folder *f)
{
    arena_release(&f->names);
    free(f->classes);
    free(f->files[SET_TRAIN]);
    free(f->files[SET_TEST]);
    *f = (struct image_folder){0};
}
