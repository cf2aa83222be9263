#include "agent/pollset.h"

#include <limits.h>

#include "paceline/mem.h"

void pollset_release(struct pollset *w)
{
    free(w->fds);
    *w = (struct pollset){0};
}

void pollset_clear(struct pollset *w)
{
    w->n = 0;
    w->next_ms = INT64_MAX;
}

void pollset_add(struct pollset *w, int fd, short events)
{
    if (fd < 0 || !events)
        return;
    if (w->n == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 16;
        w->fds = xrealloc(w->fds, w->cap * sizeof *w->fds);
    }
    w->fds[w->n++] = (struct pollfd){.fd = fd, .events = events};
}

void pollset_until(struct pollset *w, int64_t ms)
{
    if (ms < w->next_ms)
        w->next_ms = ms;
}

void pollset_poll(struct pollset *w, int64_t now_ms)
{
    int64_t left = w->next_ms > now_ms ? w->next_ms - now_ms : 0;
    int timeout = w->next_ms == INT64_MAX ? -1 : left < INT_MAX ? (int)left : INT_MAX;

    if (poll(w->fds, w->n, timeout) < 0)
        for (size_t i = 0; i < w->n; i++)
            w->fds[i].revents = 0;
}

short pollset_came(const struct pollset *w, int fd)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->fds[i].fd == fd)
            return w->fds[i].revents;
    return 0;
}
