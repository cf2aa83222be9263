/*
 * The credentials of requests, kept fresh: files are read again when they change, exec plugins
 * run again when what they gave expires.
 */
#ifndef PACELINE_OPERATOR_KUBE_CREDENTIALS_H
#define PACELINE_OPERATOR_KUBE_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "operator/kube/access.h"

/* Never changes; freed with its last reference. */
struct identity {
    int refs;
    uint64_t generation;
    char *ca, *cert, *key; /* PEM; NULL: none */
    char *authorization;   /* "Bearer ..." or "Basic ..."; NULL: none */
};
struct identity *identity_ref(struct identity *i);
void identity_unref(struct identity *i);

struct credentials;

/*
 * Reads and checks the files that access names; access must outlive the result. Fails with a
 * sentence. now_ms is a monotonic clock here and below; expiry follows the wall clock.
 */
MUST_CHECK int credentials_new(struct credentials **out, const struct kube_access *access,
                               int64_t check_ms, int64_t exec_ms, int64_t now_ms, struct err *err);
void credentials_free(struct credentials *c);

/*
 * The identity to use now, which the caller gives back (identity_unref). NULL: not yet, a plugin
 * is running (err->code ERR_NONE), or there is none and err says why.
 */
struct identity *credentials_get(struct credentials *c, int64_t now_ms, struct err *err);

/*
 * The server refused this generation with 401. True: the request is worth another try, with what
 * credentials_get gives next.
 */
bool credentials_refused(struct credentials *c, uint64_t generation, int64_t now_ms);
/* The server's certificate was refused: look at the CA's file again at the next chance. */
void credentials_doubt(struct credentials *c);

/* For the event loop, as in exec_plugin.h. */
int credentials_fds(const struct credentials *c, int fds[2]);
int64_t credentials_next_ms(const struct credentials *c, int64_t now_ms); /* -1: never */
void credentials_step(struct credentials *c, int64_t now_ms);

#endif
