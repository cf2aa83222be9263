#include "agent/waits.h"

#include <limits.h>

#include "paceline/mem.h"

void waits_release(struct waits *w)
{
    free(w->fds);
    *w = (struct waits){0};
}

void waits_clear(struct waits *w)
{
    w->n = 0;
    w->next_ms = INT64_MAX;
}

void waits_add(struct waits *w, int fd, short events)
{
    if (fd < 0 || !events)
        return;
    if (w->n == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 16;
        w->fds = xrealloc(w->fds, w->cap * sizeof *w->fds);
    }
    w->fds[w->n++] = (struct pollfd){.fd = fd, .events = events};
}

void waits_until(struct waits *w, int64_t ms)
{
    if (ms < w->next_ms)
        w->next_ms = ms;
}

void waits_poll(struct waits *w, int64_t now_ms)
{
    int64_t left = w->next_ms > now_ms ? w->next_ms - now_ms : 0;
    int timeout = w->next_ms == INT64_MAX ? -1 : left < INT_MAX ? (int)left : INT_MAX;

    if (poll(w->fds, w->n, timeout) < 0)
        for (size_t i = 0; i < w->n; i++)
            w->fds[i].revents = 0;
}

short waits_came(const struct waits *w, int fd)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->fds[i].fd == fd)
            return w->fds[i].revents;
    return 0;
}
