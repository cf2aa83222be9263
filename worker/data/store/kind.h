/*
 * A kind of data: how the files of spec.dataset become sets of samples. Each is a struct data_kind
 * in a file of worker/data/format, named by a row of named_sets (paceline/named_sets.h).
 */
#ifndef PACELINE_DATA_KIND_H
#define PACELINE_DATA_KIND_H

#include "paceline/buf.h"
#include "worker/data/batch/dataset.h"
#include "worker/data/store/host.h"

/* The three sets of a job: train, validation (possibly empty) and test. Index lists refer to
 * `train` and ascend; validation is drawn from (seed) once, never overlapping the training list.
 * Both come from the first dataset.limit samples. A text has files of its own for each set, and no
 * lists: their samples are in order. */
struct datasets {
    struct dataset train, validation, test;
    uint32_t *train_index, n_train;
    uint32_t *validation_index, n_validation;
    struct host_memory memory; /* owner of the bytes */
    void *files;               /* owner of files that stay open; NULL: there are none */
    void (*files_free)(void *files);
    /* The names of train.classes classes, of a text its words: each ended by a NUL, one after the
     * other. NULL: they have none. */
    const char *class_names;
    /* The names of a sample's values, columns of a table, in the same form; NULL: none. */
    const char *columns;
    char *own_names;     /* the same, where nobody else owns them */
    double read_seconds; /* that loading took; set by who times it */
};

/* What files say of a data set before samples are read. */
struct data_facts {
    struct shape shape;
    uint32_t n_train; /* samples; once divided without those of the validation set */
    uint32_t n_test;
    int classes, values; /* as in struct dataset; classes 0: nobody knows them */
    bool words;
    uint32_t n_skipped; /* files in folders of images that are none */
    char skipped[256];  /* the first of them */
};

struct data_kind {
    /* Fills train and test, of a kind whose samples are in order validation, too, and names of
     * classes that only the files know. *d is empty before; after a failure the caller releases
     * it. Errors as datasets_load. */
    int (*load)(const struct data_kind *k, struct datasets *d, const struct job *job,
                const struct host_rank *h, struct err *err);
    /* Shape and sizes from the files, without reading samples; `whole`: labels, or words, are
     * read, too, and checked as load checks them. *f is empty before. */
    int (*look)(const struct data_kind *k, struct data_facts *f, const struct job *job, bool whole,
                struct err *err);
    /* Appends the names of the classes, each ended by a NUL; NULL: the files have none. */
    int (*class_names)(struct buf *names, const char *path, struct err *err);
    /* Of sets of bytes (bytes.h): their files, and how to get them. */
    const struct source_kind *source;
    const char *advice;
};

#endif
