/* The bytes of a data set in memory, once per host: sizes, then pixels and labels of both sets. */
#ifndef PACELINE_LAYOUT_H
#define PACELINE_LAYOUT_H

#include "worker/data/store/source.h"

/* What the bytes start with; offsets count from here. */
struct layout {
    uint32_t n[N_SETS];
    struct shape shape;
    int classes;
    size_t images[N_SETS], labels[N_SETS]; /* offsets, 64-byte aligned */
    size_t bytes;
};

/* Without pixels where none are kept (dataset.cache). */
struct layout layout_plan(const struct source *s);

/* Reads the source, or its labels alone, into the memory at to, which has plan->bytes. */
MUST_CHECK int layout_fill(struct layout *to, const struct layout *plan, struct source *s,
                           bool labels_alone, struct err *err);

/* Whether what it says lies within so many bytes, and labels are below classes; l is aligned. */
bool layout_check(const struct layout *l, size_t bytes);

/* Samples that are bytes, or rows (rows.h) that a batch takes as they are, in set->images. */
extern const struct dataset_ops bytes_in_memory, rows_in_memory;

/* A set of the layout; rows: its samples are such rows. */
struct dataset layout_view(const struct layout *l, int set, bool rows);

#endif
