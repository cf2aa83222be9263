/*
 * Reads tar archives (POSIX ustar, and GNU's of short names) entry by entry, front to back. Files
 * and folders are taken; links, devices and names that lead out of the archive are refused.
 */
#ifndef PACELINE_CLI_TAR_H
#define PACELINE_CLI_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

#define TAR_MAX_PATH 256

/* Gives the archive's next bytes: n of them, or fewer where it ends. Returns how many, -1 on
 * failure. */
typedef int64_t tar_read_fn(void *arg, void *bytes, size_t n, struct err *err);

struct tar {
    tar_read_fn *read;
    void *arg;
    const char *name; /* of the archive, for messages; the caller's */
    uint64_t most;    /* bytes that the archive may have */

    char path[TAR_MAX_PATH + 1]; /* of the entry: relative, without "." and ".." */
    bool folder;
    uint64_t size; /* of the entry's bytes; folders have none */
    uint64_t left; /* of them, not read yet */

    uint64_t total; /* bytes read so far */
    size_t padding; /* after the entry's bytes */
};

void tar_open(struct tar *t, tar_read_fn *read, void *arg, const char *name, uint64_t most);

/*
 * Goes to the next entry. *more is false after the last; the archive is then read to its end.
 * ERR_DAMAGED: no tar archive, cut short, too large, or an entry that is refused; the message names
 * it. Errors of read are passed on.
 */
MUST_CHECK int tar_next(struct tar *t, bool *more, struct err *err);

/* Up to n of the entry's bytes; returns how many: fewer than n only where it ends. -1: as tar_next.
 */
MUST_CHECK int64_t tar_data(struct tar *t, void *bytes, size_t n, struct err *err);

/* Whether the path is relative and stays below where it starts, without "." and empty parts. */
bool tar_path_is_safe(const char *path);

#endif
