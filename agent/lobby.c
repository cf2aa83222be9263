#include "agent/lobby.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "paceline/mem.h"

struct source source_of(const struct sockaddr_storage *peer)
{
    struct source s = {.address = {[10] = 0xff, [11] = 0xff}};
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (peer->ss_family == AF_INET6) {
        memcpy(&v6, peer, sizeof v6);
        memcpy(s.address, &v6.sin6_addr, sizeof s.address);
    } else {
        memcpy(&v4, peer, sizeof v4);
        memcpy(s.address + 12, &v4.sin_addr, sizeof v4.sin_addr);
    }
    return s;
}

bool source_same(const struct source *a, const struct source *b)
{
    return memcmp(a->address, b->address, sizeof a->address) == 0;
}

void lobby_release(struct lobby *l)
{
    while (l->n)
        close(lobby_take(l, l->n - 1));
}

int lobby_take(struct lobby *l, size_t i)
{
    int fd = l->seats[i].fd;

    l->n--;
    memmove(&l->seats[i], &l->seats[i + 1], (l->n - i) * sizeof *l->seats);
    return fd;
}

/* The seat that one more of this source takes; n: there is room. */
static size_t whose_turn(const struct lobby *l, const struct source *source)
{
    size_t own = 0, first = 0;

    for (size_t i = l->n; i-- > 0;)
        if (source_same(&l->seats[i].source, source)) {
            own++;
            first = i;
        }
    if (own >= LOBBY_PER_SOURCE)
        return first;
    return l->n == LOBBY_SEATS ? 0 : l->n;
}

void lobby_add(struct lobby *l, int fd, const struct source *source, int64_t now_ms)
{
    size_t i = whose_turn(l, source);

    if (i < l->n)
        close(lobby_take(l, i));
    l->seats[l->n++] = (struct seat){.fd = fd, .source = *source, .came_ms = now_ms};
}

void lobby_expire(struct lobby *l, int64_t before_ms)
{
    while (l->n && l->seats[0].came_ms < before_ms)
        close(lobby_take(l, 0));
}
