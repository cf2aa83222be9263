/* Memory that the ranks of a host share: one of them fills it, once. */
#ifndef PACELINE_HOST_H
#define PACELINE_HOST_H

#include <stddef.h>

#include "paceline/err.h"

/* A rank's place. With local_size 1 the memory is private, and run_id may be "". */
struct host_rank {
    const char *run_id; /* the memory is named after it while ranks still look for it */
    int local_rank, local_size;
};

/* Where a host_fill_fn gets its memory from, once, zeroed. NULL, with *err: there is none. */
struct host_room;
MUST_CHECK void *host_room_take(struct host_room *room, size_t bytes, struct err *err);
typedef int host_fill_fn(void *arg, struct host_room *room, struct err *err);

/* A mapping, to be unmapped whole, and where in it the filled memory begins. */
struct host_memory {
    void *map, *begin;
    size_t bytes;
};

/*
 * Local rank 0 fills the memory; the others wait for it, and fail when it died or failed, with its
 * error. The name is gone once all have mapped the memory. After a failure *m may hold a mapping
 * that has to be unmapped.
 */
MUST_CHECK int host_memory_make(struct host_memory *m, const struct host_rank *h,
                                host_fill_fn *fill, void *arg, struct err *err);

#endif
