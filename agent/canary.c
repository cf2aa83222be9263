#include "agent/canary.h"

#include <sys/socket.h>
#include <unistd.h>

#include "paceline/listener.h"

enum { ACCEPTS_PER_STEP = 16, PAUSE_MS = 250 };

int canary_open(struct canary *c, const char *listen, struct err *err)
{
    struct listener_address address;

    *c = (struct canary){.fd = -1};
    if (listener_parse(&address, listen, err) < 0)
        return -1;
    /* The port is at the same place in both kinds of address. */
    if (address.in.sin_port)
        address.in.sin_port = htons(CANARY_PORT);
    c->fd = listener_open(&address, err);
    return c->fd < 0 ? -1 : 0;
}

void canary_release(struct canary *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

int canary_port(const struct canary *c) { return c->fd < 0 ? 0 : listener_port(c->fd); }

void canary_wait(const struct canary *c, struct pollset *w, int64_t now_ms)
{
    if (now_ms < c->next_ms)
        pollset_until(w, c->next_ms);
    else
        pollset_add(w, c->fd, POLLIN);
}

/* After each step there is a pause: without it a flood, or an accept that fails for want of
 * descriptors, would keep the loop busy. */
void canary_step(struct canary *c, const struct pollset *w, int64_t now_ms)
{
    if (!pollset_came(w, c->fd))
        return;
    c->next_ms = now_ms + PAUSE_MS;
    for (int i = 0; i < ACCEPTS_PER_STEP; i++) {
        int fd = accept4(c->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            return;
        close(fd);
    }
}
