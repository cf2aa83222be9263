/*
 * Connections that have not sent a byte yet. Each costs a descriptor and no TLS. One address has at
 * most PENDING_CONNS_PER_SOURCE of them; when it opens another, its oldest is closed. So a peer
 * that opens connections as fast as it can only displaces its own.
 */
#ifndef PACELINE_AGENT_PENDING_CONNS_H
#define PACELINE_AGENT_PENDING_CONNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { PENDING_CONNS_MAX = 256, PENDING_CONNS_PER_SOURCE = 32 };

/* The address of a peer; an IPv4 address in its IPv6-mapped form. */
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
/* Takes ownership of fd. */
void pending_conns_add(struct pending_conns *l, int fd, const struct conn_source *source,
                       int64_t now_ms);
/* Removes connection i and returns its fd, which the caller then owns. */
int pending_conns_take(struct pending_conns *l, size_t i);
/* Closes the connections that came before this time. */
void pending_conns_expire(struct pending_conns *l, int64_t before_ms);

#endif
