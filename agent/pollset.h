/* The descriptors and the time that one round of the agent's loop waits for. Each part of the agent
 * adds its own, and asks after the wait which are ready. */
#ifndef PACELINE_AGENT_POLLSET_H
#define PACELINE_AGENT_POLLSET_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct pollset {
    struct pollfd *fds;
    size_t n, cap;
    int64_t next_ms; /* the end of the wait; 0: at once; INT64_MAX: none */
};

void pollset_release(struct pollset *w);
void pollset_clear(struct pollset *w);
/* Does nothing if fd is below 0 or events is 0. */
void pollset_add(struct pollset *w, int fd, short events);
void pollset_until(struct pollset *w, int64_t ms); /* the earliest time counts */
void pollset_poll(struct pollset *w, int64_t now_ms);
/* poll's revents of fd; 0: nothing happened, or fd was not added. */
short pollset_came(const struct pollset *w, int fd);

#endif
