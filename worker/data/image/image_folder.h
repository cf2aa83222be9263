/*
 * A folder of folders of pictures, one per class, found but not read.
 *
 * Either train/<class>/ with test/<class>/ (or val/<class>/), or <class>/ alone (Caltech-256), of
 * which a share of each class is kept back to test with, evenly over its files. Classes, and in a
 * class its files, are in the order of the bytes of their names, so a sample's number is the same
 * on every rank. What does not end in .jpg, .jpeg or .png, what begins with a dot, and folders
 * within a class are left alone.
 */
#ifndef PACELINE_IMAGE_FOLDER_H
#define PACELINE_IMAGE_FOLDER_H

#include <stdint.h>

#include "paceline/arena.h"
#include "paceline/buf.h"
#include "paceline/err.h"
#include "worker/data/batch/dataset.h"

struct image_file {
    const char *folder, *name;
    uint16_t label;
};

struct image_folder {
    struct arena names;
    const char **classes;
    int n_classes;
    struct image_file *files[N_SETS];
    uint32_t n[N_SETS];
    uint32_t n_skipped; /* within classes, and the first of them that was found */
    const char *skipped;
};

/* ERR_NOT_FOUND: no such folder. ERR_DAMAGED: no classes, a class without images to train with, no
 * test images, a class to test that is none of training. */
MUST_CHECK int image_folder_scan(struct image_folder *f, const char *path, double test_split,
                                 struct err *err);

/* Appends the names of the classes, each with the NUL that ends it, in the order of their labels.
 */
MUST_CHECK int image_folder_classes(struct buf *names, const char *path, struct err *err);

/* Changes when a file or folder is added, removed or renamed: of the folders' names and times
 * alone. */
MUST_CHECK int image_folder_stamp(uint64_t *stamp, const char *path, struct err *err);

void image_folder_release(struct image_folder *f); /* also fit for AUTO */

/* The images of a folder and of all folders within it, whatever their names. Files come before
 * subfolders, both in byte order of their names. Links to folders are not followed. */
struct image_tree {
    struct arena names;
    const char **paths;
    size_t n;
};
/* ERR_NOT_FOUND: no such folder, or no image in it; ERR_INVALID: too deep; ERR_IO. */
MUST_CHECK int image_tree_scan(struct image_tree *t, const char *path, struct err *err);
void image_tree_release(struct image_tree *t); /* also fit for AUTO */

#endif
