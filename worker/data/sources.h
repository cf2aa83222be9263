/*
 * The four IDX files of a data set: found, mapped, their headers checked against each other.
 */
#ifndef PACELINE_SOURCES_H
#define PACELINE_SOURCES_H

#include "paceline/file.h"
#include "paceline/spec.h"
#include "worker/data/idx.h"

enum source_file { TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS, N_SOURCES };

struct sources {
    int classes; /* of the named set; 0: as many as the labels say */
    struct source {
        struct idx_file idx; /* idx.name is path */
        char *path;
        struct file_map map;
    } files[N_SOURCES];
};

/*
 * Opens the files of job->dataset: in its path, else where the set is installed, else in a folder
 * of its name in $PACELINE_DATA. ERR_NOT_FOUND: a file is absent (the message says how to get it);
 * ERR_DAMAGED: a header is wrong, or images and labels, or train and test, do not go together.
 */
MUST_CHECK int sources_open(struct sources *s, const struct job *job, struct err *err);
void sources_close(struct sources *s); /* also fit for AUTO */

static inline struct shape sources_shape(const struct sources *s)
{
    const uint32_t *dims = s->files[TRAIN_IMAGES].idx.dims;

    return (struct shape){.c = 1, .h = (int)dims[1], .w = (int)dims[2]};
}

#endif
