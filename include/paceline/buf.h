/* A growing byte buffer with a maximum; always NUL-terminated, so buf->data is a C string. */
#ifndef PACELINE_BUF_H
#define PACELINE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "paceline/err.h"

struct buf {
    char *data;
    size_t len, cap, max; /* max 0: no limit */
    bool overflowed;      /* an append did not fit into max; contents are cut there */
};

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b); /* also fit for AUTO */
void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads a whole file of at most max bytes into b (initialised by the call). */
MUST_CHECK int buf_read_file(struct buf *b, const char *path, size_t max, struct err *err);

/* Writes path atomically: temporary file beside it, fsync, rename, fsync of the folder.
 * On failure path is as it was and the temporary file is gone. */
MUST_CHECK int file_write_atomic(const char *path, const void *bytes, size_t n, struct err *err);

/* The same from n_parts pieces, one after the other; nothing is copied. A piece without bytes is
 * loaded when its turn comes, a late one behind all others; what load gives stays until the next
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

#endif
