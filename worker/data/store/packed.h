/*
 * A packed copy: what a folder of images was decoded to, in a file that ranks map.
 *
 * Its name follows from the folder's path and the fields that make the pixels; a stamp inside from
 * the folders' names and times, so a copy from before files were added, removed or renamed is
 * noticed without a look at each file. What was written into a file in place is not.
 */
#ifndef PACELINE_PACKED_H
#define PACELINE_PACKED_H

#include "worker/data/store/layout.h"

struct packed {
    void *map;
    size_t bytes;
    struct layout *layout; /* within map */
};

/* The file's path in job->dataset.cache_path, malloc'ed. */
char *packed_path(const struct job *job);

/*
 * Maps the copy, for reading alone. ERR_NOT_FOUND: there is none. ERR_CONFLICT: it is of another
 * stamp. ERR_DAMAGED: it is none of ours, or not whole.
 */
MUST_CHECK int packed_open(struct packed *p, const char *path, uint64_t stamp, struct err *err);

/* Writes it, whole or not at all. ERR_IO. */
MUST_CHECK int packed_write(const char *path, uint64_t stamp, const struct layout *layout,
                            struct err *err);

#endif
