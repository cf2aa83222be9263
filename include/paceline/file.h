/* Files: mapped, read into memory of our own, and written whole or not at all. */
#ifndef PACELINE_FILE_H
#define PACELINE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

/* The path of a name in a folder, with one slash between them, also in "/". The caller frees it. */
char *file_in(const char *folder, const char *name);

struct file_map {
    const uint8_t *bytes; /* never NULL: an empty file has zero bytes of "" */
    size_t len;
};

/* ERR_NOT_FOUND, ERR_INVALID (not a regular file) or ERR_IO; the message starts with path. */
MUST_CHECK int file_map_open(struct file_map *m, const char *path, struct err *err);

/*
 * Reads the file instead of mapping it. A mapped file changes whenever somebody writes to it, so
 * code that reads a byte twice needs a copy. ERR_IO also if the file grows or shrinks while it is
 * read.
 */
MUST_CHECK int file_map_read(struct file_map *m, const char *path, struct err *err);

/* Copies these bytes of the map into private memory. Later writes to the file do not change them.
 */
MUST_CHECK int file_map_own(const struct file_map *m, size_t at, size_t n, struct err *err);

void file_map_close(struct file_map *m); /* also of an all-zero struct */

/*
 * After this call, a mapped file that is truncated while it is read ends the program with EXIT_DATA
 * instead of SIGBUS. Before that `say` is called with a sentence, in the thread that read.
 */
void file_map_guard(void (*say)(const char *sentence));

/* Writes path atomically: temporary file beside it, fsync, rename, fsync of the folder.
 * On failure path is as it was and the temporary file is gone. */
MUST_CHECK int file_write_atomic(const char *path, const void *bytes, size_t n, struct err *err);

/*
 * The same for n_parts pieces, one after the other, without copying them. A piece whose bytes are
 * NULL is loaded when its turn comes; late pieces are loaded after all others. What load returns
 * must stay valid until the next call of load.
 */
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
 * Creates a file beside path, to be renamed to path later. Returns its descriptor, or -1. *tmp,
 * malloc'ed, is its name: "PATH.tmp." and 16 random hex digits. It never opens a file or a symbolic
 * link that exists, whether somebody put it there or a killed run left it.
 */
MUST_CHECK int file_temporary(char **tmp, const char *path, struct err *err);

/* Makes path another name of the file `from`. This is atomic, and replaces a file at path. ERR_IO.
 */
MUST_CHECK int file_link(const char *from, const char *path, struct err *err);

/* Syncs the folder of path, so that a rename in it is durable; -1 with errno. */
MUST_CHECK int file_sync_folder(const char *path);

#endif
