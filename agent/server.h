/*
 * The agent's server. At most SERVER_MAX_HANDSHAKES connections prove the job's key at a time, and
 * at most SERVER_PER_SOURCE from one address. The server reads their hello and keeps them: at most
 * one connection of the operator, and those of other pods' mpirun.
 */
#ifndef PACELINE_AGENT_SERVER_H
#define PACELINE_AGENT_SERVER_H

#include "agent/pollset.h"
#include "wire/channel.h"

enum {
    SERVER_MAX_HANDSHAKES = 32, /* connections that have not sent hello */
    SERVER_PER_SOURCE = 4,
    SERVER_MAX_CLIENTS = 96, /* connections that have sent hello */
    PROTOCOL = 1,
};

enum client_kind { CLIENT_CONTROL, CLIENT_EXEC };

struct server_config {
    struct channel_tls *tls;
    int listener; /* the caller's */
    /* Answers an accepted hello. */
    void (*on_hello)(void *arg, enum client_kind kind, struct channel *c);
    /* As a frame_fn. */
    int (*on_message)(void *arg, enum client_kind kind, struct channel *c, const cJSON *message,
                      struct err *err);
    /* Called when the connection is over; c is freed after this. */
    void (*on_end)(void *arg, enum client_kind kind, struct channel *c);
    void *arg;
};

struct server;

struct server *server_new(const struct server_config *config);
void server_free(struct server *d); /* closes all connections; makes no callback */

/* The operator's connection; NULL: there is none. */
struct channel *server_control(const struct server *d);

void server_wait(const struct server *d, struct pollset *w);
void server_step(struct server *d, const struct pollset *w, int64_t now_ms);

#endif
