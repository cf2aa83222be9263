/*
 * Connections that have not said a byte yet. They cost a descriptor and no TLS; one address has at
 * most PENDING_CONNS_PER_SOURCE of them, and its oldest goes when it opens another. A peer
 * that opens connections as fast as it can is in nobody's way but its own.
 */
#ifndef PACELINE_AGENT_PENDING_CONNS_H
#define PACELINE_AGENT_PENDING_CONNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { PENDING_CONNS_MAX = 256, PENDING_CONNS_PER_SOURCE = 32 };

/* Where a connection comes from; an IPv4 address is as IPv6 maps it. */
struct conn_source {
    unsigned char address[16];
};

struct conn_source conn_source_of(const struct sockaddr_storage *peer);
bool conn_source_same(const struct conn_source *a, const struct conn_source *b);

struct pending_conns {
    struct pending_conn {
        int fd;
        struct conn_source source;
        int64_t came_ms;
    } conns[PENDING_CONNS_MAX]; /* the oldest first */
    size_t n;
};

void pending_conns_release(struct pending_conns *l); /* closes all */
/* Takes fd over. */
void pending_conns_add(struct pending_conns *l, int fd, const struct conn_source *source,
                       int64_t now_ms);
/* Takes it out and returns its fd, which is the caller's now. */
int pending_conns_take(struct pending_conns *l, size_t i);
/* Closes those that came before. */
void pending_conns_expire(struct pending_conns *l, int64_t before_ms);

#endif
