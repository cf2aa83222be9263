/* TLS sessions with the job's key; for wire/channel.c. */
#ifndef PACELINE_WIRE_TLS_H
#define PACELINE_WIRE_TLS_H

#include <stdbool.h>

#include <openssl/ssl.h>

struct channel_tls;

/* A session on a socket, ready for SSL_do_handshake; freed with SSL_free. */
SSL *channel_tls_session(struct channel_tls *tls, int fd, bool server);

#endif
