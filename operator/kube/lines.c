#include "operator/kube/lines.h"

#define KEEP_BYTES ((size_t)64 << 10) /* one large line must not cost its memory for ever */

void lines_init(struct lines *l, size_t max)
{
    *l = (struct lines){.max = max};
    buf_init(&l->line, 0);
}

void lines_release(struct lines *l) { buf_release(&l->line); }

static void clear(struct lines *l)
{
    if (l->line.cap > KEEP_BYTES) {
        buf_release(&l->line);
        buf_init(&l->line, 0);
    }
    l->line.len = 0;
    l->line.data[0] = '\0';
}

enum lines_result lines_feed(struct lines *l, const char *bytes, size_t n, lines_fn *fn, void *arg)
{
    while (n) {
        const char *newline = memchr(bytes, '\n', n);
        size_t part = newline ? (size_t)(newline - bytes) : n;

        if (part > l->max - l->line.len)
            return LINES_TOO_LONG;
        buf_add(&l->line, bytes, part);
        l->copied += part;
        if (!newline)
            return LINES_OK;
        bytes += part + 1;
        n -= part + 1;
        if (l->line.len) {
            if (!fn(arg, l->line.data, l->line.len))
                return LINES_STOPPED;
            clear(l);
        }
    }
    return LINES_OK;
}
