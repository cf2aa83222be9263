/*
 * Connections that have not said a byte yet. They cost a descriptor and no TLS; one address has at
 * most LOBBY_PER_SOURCE of them, and its oldest goes when it opens another. So who opens
 * connections as fast as it can is in nobody's way but its own.
 */
#ifndef PACELINE_AGENT_LOBBY_H
#define PACELINE_AGENT_LOBBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { LOBBY_SEATS = 256, LOBBY_PER_SOURCE = 32 };

/* Where a connection comes from; an IPv4 address is as IPv6 maps it. */
struct source {
    unsigned char address[16];
};

struct source source_of(const struct sockaddr_storage *peer);
bool source_same(const struct source *a, const struct source *b);

struct lobby {
    struct seat {
        int fd;
        struct source source;
        int64_t came_ms;
    } seats[LOBBY_SEATS]; /* the oldest first */
    size_t n;
};

void lobby_release(struct lobby *l); /* closes all */
/* Takes fd over. */
void lobby_add(struct lobby *l, int fd, const struct source *source, int64_t now_ms);
/* Takes the seat out and returns its fd, the caller's now. */
int lobby_take(struct lobby *l, size_t i);
/* Closes those that came before. */
void lobby_expire(struct lobby *l, int64_t before_ms);

#endif
