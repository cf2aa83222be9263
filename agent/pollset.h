/* What one round of the agent's loop waits for. Parts add what they need, then ask what came. */
#ifndef PACELINE_AGENT_POLLSET_H
#define PACELINE_AGENT_POLLSET_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct pollset {
    struct pollfd *fds;
    size_t n, cap;
    int64_t next_ms; /* 0: at once; INT64_MAX: whenever something comes */
};

void pollset_release(struct pollset *w);
void pollset_clear(struct pollset *w);
/* fd -1 and events 0 are fine: nothing is waited for. */
void pollset_add(struct pollset *w, int fd, short events);
void pollset_until(struct pollset *w, int64_t ms); /* the earliest counts */
void pollset_poll(struct pollset *w, int64_t now_ms);
/* What came on fd: poll's revents; 0: nothing, or nobody waited. */
short pollset_came(const struct pollset *w, int fd);

#endif
