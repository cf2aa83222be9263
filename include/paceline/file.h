/* A file in memory: mapped, or read into memory of our own. */
#ifndef PACELINE_FILE_H
#define PACELINE_FILE_H

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
 * Reads the file instead of mapping it. A mapped file changes whenever somebody writes to it, so code
 * that reads a byte twice needs a copy. ERR_IO also where the file grows or shrinks meanwhile.
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

#endif
