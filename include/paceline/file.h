/* Files: mapped, read into memory of our own, and written whole or not at all. */
#ifndef PACELINE_FILE_H
#define PACELINE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

struct file_map {
    const uint8_t *bytes; /* never NULL: an empty file has zero bytes of "" */
    size_t len;
};

/* ERR_NOT_FOUND, ERR_INVALID (not a regular file) or ERR_IO; the message starts with path. */
MUST_CHECK int file_map_open(struct file_map *m, const char *path, struct err *err);

/*
 * Reads the file instead of mapping it. A mapped file changes whenever somebody writes to it, so
 * code that reads a byte twice needs a copy. ERR_IO also where the file grows or shrinks meanwhile.
 */
MUST_CHECK int file_map_read(struct file_map *m, const char *path, struct err *err);

/* Makes these bytes of a mapped file our own: writing to the file no longer changes them. */
MUST_CHECK int file_map_own(const struct file_map *m, size_t at, size_t n, struct err *err);

void file_map_close(struct file_map *m); /* also of an all-zero struct */

/*
 * From here on a mapped file that is cut short under its reader ends the program with a sentence
 * instead of SIGBUS. `say` is called with it, in the thread that read; the program then exits with
 * EXIT_DATA.
 */
void file_map_guard(void (*say)(const char *sentence));

/* Writes path atomically: temporary file beside it, fsync, rename, fsync of the folder.
 * On failure path is as it was and the temporary file is gone. */
MUST_CHECK int file_write_atomic(const char *path, const void *bytes, size_t n, struct err *err);

/* The same from n_parts pieces, one after the other; nothing is copied. A piece without bytes is
 * loaded when its turn comes, a late one after all others; what load gives stays until the next
 * one is. */
struct file_part {
    const void *bytes;
    size_t n;
    const void *(*load)(void *arg);
    void *arg;
    bool late;
};
MUST_CHECK int file_write_parts(const char *path, const struct file_part *parts, size_t n_parts,
                                struct err *err);

/*
 * A new file beside path, to be renamed to it: its descriptor, -1 on failure. Its name, malloc'ed,
 * is "PATH.tmp." and 16 hex digits that no other writer has. Never opens a file or a symbolic link
 * that is there: neither what somebody has put in the way nor what a run that was killed has left.
 */
MUST_CHECK int file_temporary(char **tmp, const char *path, struct err *err);

/* Makes path another name of the file `from`, at once; what has that name loses it. ERR_IO. */
MUST_CHECK int file_link(const char *from, const char *path, struct err *err);

/* Syncs the folder of path, so that a rename in it is durable; -1 with errno. */
MUST_CHECK int file_sync_folder(const char *path);

#endif
