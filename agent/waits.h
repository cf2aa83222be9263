/* What one round of the agent's loop waits for. Parts add what they need, then ask what came. */
#ifndef PACELINE_AGENT_WAITS_H
#define PACELINE_AGENT_WAITS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct waits {
    struct pollfd *fds;
    size_t n, cap;
    int64_t next_ms; /* 0: at once; INT64_MAX: whenever something comes */
};

void waits_release(struct waits *w);
void waits_clear(struct waits *w);
/* fd -1 and events 0 are fine: nothing is waited for. */
void waits_add(struct waits *w, int fd, short events);
void waits_until(struct waits *w, int64_t ms); /* the earliest counts */
void waits_poll(struct waits *w, int64_t now_ms);
/* What came on fd: poll's revents; 0: nothing, or nobody waited. */
short waits_came(const struct waits *w, int fd);

#endif
