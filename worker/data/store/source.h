/*
 * A data set where it lies: found, opened, measured, then read into memory that the caller has.
 * Each kind of files is a struct source_kind in a file of its own.
 */
#ifndef PACELINE_SOURCE_H
#define PACELINE_SOURCE_H

#include "paceline/named_sets.h"
#include "worker/data/batch/dataset.h"

#define SOURCE_HEADROOM 64 /* bytes before each of the memories that source_read may write over */

struct source {
    const struct named_set *set;
    const struct source_kind *kind;
    const struct job *job;
    uint32_t n[N_SETS]; /* samples; reading may leave damaged ones out */
    struct shape shape;
    int classes;        /* 0: known once the labels are read */
    void *files;        /* the kind's own */
    uint32_t n_skipped; /* files that are left alone, and the first of them */
    const char *skipped;
};

/* Where the samples of a source go: [n][c*h*w] pixels, [n] labels. images NULL: labels alone. */
struct source_memory {
    uint8_t *images[N_SETS];
    uint16_t *labels[N_SETS];
};

struct source_kind {
    /* Opens the files in folder; fills n, shape, classes and files. close is called if it fails. */
    int (*open)(struct source *s, const char *folder, struct err *err);
    /* As source_read. */
    int (*read)(struct source *s, const struct source_memory *to, struct err *err);
    void (*close)(struct source *s); /* NULL: samples are made of nothing, folder is NULL, too */
    /* Where the bytes of sample i of a set lie: as they are, from *at of a file whose name lives as
     * long as the source. NULL: of no sample; false: not of these files. */
    bool (*where)(const struct source *s, int set, uint32_t i, const char **path, size_t *at);
};

struct data_kind; /* kind.h */

/*
 * Opens the files of job->dataset: in its path, else in data_home() of its name, else where the
 * set is installed. ERR_NOT_FOUND: a file is absent (the message says how to get it);
 * ERR_DAMAGED: headers or sizes are wrong, or do not go together. job must outlive s.
 */
MUST_CHECK int source_open(struct source *s, const struct data_kind *k, const struct job *job,
                           struct err *err);

/* Reads all samples and checks each label to be below classes, which are final then. ERR_DAMAGED.
 */
MUST_CHECK int source_read(struct source *s, const struct source_memory *to, struct err *err);

void source_close(struct source *s); /* also fit for AUTO */

static inline size_t source_image_bytes(const struct source *s)
{
    return (size_t)s->shape.c * (size_t)s->shape.h * (size_t)s->shape.w;
}

#endif
