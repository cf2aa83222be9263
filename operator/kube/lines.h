/* Cuts a stream into lines. Each byte is copied once, however the stream was cut into chunks. */
#ifndef PACELINE_OPERATOR_KUBE_LINES_H
#define PACELINE_OPERATOR_KUBE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/buf.h"

struct lines {
    struct buf line; /* the line that has not ended yet */
    size_t max;
    uint64_t copied; /* bytes so far, for tests */
};

enum lines_result {
    LINES_OK,
    LINES_STOPPED,  /* the callback returned false */
    LINES_TOO_LONG, /* a line is longer than max; the stream cannot go on */
};

/* One line without its newline, NUL-terminated, valid during the call; false stops the feeding. */
typedef bool lines_fn(void *arg, const char *line, size_t len);

void lines_init(struct lines *l, size_t max);
void lines_release(struct lines *l); /* also fit for AUTO */

/*
 * Takes n more bytes and calls fn for each line that they end; empty lines are left out. What
 * follows the last newline waits for more. After LINES_STOPPED and LINES_TOO_LONG, feed no more.
 */
enum lines_result lines_feed(struct lines *l, const char *bytes, size_t n, lines_fn *fn, void *arg);

#endif
