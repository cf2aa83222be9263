/*
 * Memory shared by the ranks of a host: one creates and fills it, the others wait for it.
 *
 * The memory has a name, /paceline-UID-RUN, only until every member has opened it: after that
 * nothing is left behind however the ranks end. The creator holds a lock on it while it fills, so
 * that its death shows at once; its error reaches every member word for word. RUN must be new.
 */
#ifndef PACELINE_SHARED_H
#define PACELINE_SHARED_H

#include <stddef.h>

#include "paceline/err.h"

#define SHARED_HEAD_BYTES 4096 /* a mapping starts with this much of our own */

struct shared {
    char name[256];
    int fd;
    int members; /* ranks of this host, the creator included */
    void *map;   /* the first page until the size is known */
    size_t map_bytes;
};

/* The creator's side: create, allocate, fill map + SHARED_HEAD_BYTES, publish. */
MUST_CHECK int shared_create(struct shared *s, const char *run_id, int members, struct err *err);
MUST_CHECK int shared_allocate(struct shared *s, size_t bytes, struct err *err);

/*
 * Tells the members the outcome: rc 0, or -1 with *err. Returns when all have opened the memory
 * and its name is gone. Fails when rc is not 0 or a member does not come within 60 s.
 */
MUST_CHECK int shared_publish(struct shared *s, int rc, struct err *err);

/*
 * The members' side: waits until the memory is filled, for 60 s until there is any and then as long
 * as the creator lives, and maps all of it. Fails with the creator's own error, or ERR_IO.
 */
MUST_CHECK int shared_await(struct shared *s, const char *run_id, int members, struct err *err);

/* Unmaps map unless the caller took it over with STEAL. Also fit for AUTO. */
void shared_release(struct shared *s);

#endif
