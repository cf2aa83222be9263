/* The kinds of files that input.h reads. */
#ifndef PACELINE_INPUT_KIND_H
#define PACELINE_INPUT_KIND_H

#include "paceline/file.h"
#include "worker/data/format/input.h"
#include "worker/data/image/image_reader.h"

#define INPUT_HEAD 8 /* bytes that tell kinds apart */

struct input_reader {
    const struct job *job;
    struct shape shape;
    const struct normalizer *normalizer;
    const char *const *columns; /* [input_values] names of a table's columns; NULL: unknown */
    struct image_reader *images;
    uint8_t *bytes; /* room for a sample */
};

struct input {
    struct input_reader *reader;
    const char *const *paths;
    size_t n_paths;
    const struct input_kind *kind;
    void *own; /* the kind's */
};

struct input_kind {
    bool many;
    bool numbers; /* models of arrays take it, too */
    /* Whether a file is of this kind, by its name and its first bytes; bytes beyond its end are 0.
     */
    bool (*is)(const struct input_reader *r, const char *path, const uint8_t head[INPUT_HEAD]);
    int (*open)(struct input *in, struct err *err); /* close is called if it fails */
    int (*next)(struct input *in, float *x, struct err *err);
    void (*close)(struct input *in);
};

extern const struct input_kind input_idx, input_cifar, input_npy, input_csv;

static inline size_t input_values(const struct input_reader *r)
{
    return (size_t)r->shape.c * (size_t)r->shape.h * (size_t)r->shape.w;
}

/* Whether the file's name has this ending, in upper or lower case. */
bool input_ends_with(const char *path, const char *ending);

#endif
