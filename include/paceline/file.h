/* A file mapped read-only into memory. */
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
void file_map_close(struct file_map *m); /* also of an all-zero struct */

#endif
