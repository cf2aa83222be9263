#include "operator/agents/probe.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/channel.h"

void probe_begin(struct probe *p, const char *address, int port, int64_t now_ms)
{
    struct err err;

    p->fd = channel_dial(address, port, &err);
    p->until_ms = now_ms + PROBE_MS;
}

void probe_end(struct probe *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

enum probe_result probe_step(const struct probe *p, int64_t now_ms)
{
    struct pollfd wait = {p->fd, POLLOUT, 0};
    int error = 0;
    socklen_t len = sizeof error;

    if (p->fd < 0)
        return PROBE_NOT_CONNECTED;
    if (poll(&wait, 1, 0) <= 0)
        return now_ms < p->until_ms ? PROBE_WAITS : PROBE_NOT_CONNECTED;
    return getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0
               ? PROBE_CONNECTED
               : PROBE_NOT_CONNECTED;
}
