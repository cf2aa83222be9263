/* The socket that the web thread listens on. */
#ifndef PACELINE_LISTENER_H
#define PACELINE_LISTENER_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "paceline/err.h"

struct listener_address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    };
    socklen_t len;
};

/*
 * Reads "127.0.0.1:8080", "[::1]:8080" or ":8080" (every address). Names are not resolved, so that
 * nothing is served where it was not meant. Fails (ERR_INVALID) on anything else.
 */
MUST_CHECK int listener_parse(struct listener_address *out, const char *text, struct err *err);

/*
 * Opens a non-blocking listening socket. Every address means IPv6 and IPv4, or IPv4 alone where
 * the kernel has no IPv6. Returns the descriptor, or -1 (ERR_IO).
 */
int listener_open(const struct listener_address *address, struct err *err);

/* The port that the socket has, which the kernel chose where 0 was asked for. */
int listener_port(int fd);

#endif
