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
    bool secret;          /* memory is wiped before it is given back */
};

void buf_init(struct buf *b, size_t max);
void buf_init_secret(struct buf *b, size_t max); /* for keys and tokens */
void buf_release(struct buf *b);                 /* also fit for AUTO */
void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads a whole file of at most max bytes into b (initialised by the call). */
MUST_CHECK int buf_read_file(struct buf *b, const char *path, size_t max, struct err *err);
/* The same for keys and tokens. */
MUST_CHECK int buf_read_secret_file(struct buf *b, const char *path, size_t max, struct err *err);

#endif
