#include "agent/pending_conns.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "paceline/mem.h"

struct conn_source conn_source_of(const struct sockaddr_storage *peer)
{
    struct conn_source s = {.address = {[10] = 0xff, [11] = 0xff}};
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

bool conn_source_same(const struct conn_source *a, const struct conn_source *b)
{
    return memcmp(a->address, b->address, sizeof a->address) == 0;
}

void pending_conns_release(struct pending_conns *l)
{
    while (l->n)
        close(pending_conns_take(l, l->n - 1));
}

int pending_conns_take(struct pending_conns *l, size_t i)
{
    int fd = l->conns[i].fd;

    l->n--;
    memmove(&l->conns[i], &l->conns[i + 1], (l->n - i) * sizeof *l->conns);
    return fd;
}

/* The place that one more of this source takes; n: there is room. */
static size_t whose_turn(const struct pending_conns *l, const struct conn_source *source)
{
    size_t own = 0, first = 0;

    for (size_t i = l->n; i-- > 0;)
        if (conn_source_same(&l->conns[i].source, source)) {
            own++;
            first = i;
        }
    if (own >= PENDING_CONNS_PER_SOURCE)
        return first;
    return l->n == PENDING_CONNS_MAX ? 0 : l->n;
}

void pending_conns_add(struct pending_conns *l, int fd, const struct conn_source *source,
                       int64_t now_ms)
{
    size_t i = whose_turn(l, source);

    if (i < l->n)
        close(pending_conns_take(l, i));
    l->conns[l->n++] = (struct pending_conn){.fd = fd, .source = *source, .came_ms = now_ms};
}

void pending_conns_expire(struct pending_conns *l, int64_t before_ms)
{
    while (l->n && l->conns[0].came_ms < before_ms)
        close(pending_conns_take(l, 0));
}
