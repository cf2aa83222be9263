/*
 * kube_ops on libcurl: one thread, many requests at once. It carries requests and answers; what to
 * send again and how often to send is the controller's business.
 *
 * Sent again here is only what the server cannot have seen, or has refused with 401 while our
 * credentials have changed since.
 */
#ifndef PACELINE_OPERATOR_KUBE_CLIENT_H
#define PACELINE_OPERATOR_KUBE_CLIENT_H

#include <stdbool.h>

#include "operator/kube/access.h"
#include "operator/kube/kube.h"

struct kube_client;

struct kube_client_config { /* zeros: the defaults */
    const char *user_agent; /* "paceline-operator" */
    int max_requests;       /* under way at once, watches apart; others wait in turn (64) */
    bool http1;             /* HTTP/1.1 even where HTTP/2 is offered */
    int64_t connect_ms;     /* for TCP and TLS (10,000) */
    int64_t
        watch_grace_ms; /* a watch is dead when silent for its timeoutSeconds and this (10,000) */
    int64_t watch_idle_ms; /* the same for a watch without timeoutSeconds (3,610,000) */
    int64_t exec_ms;       /* for an exec plugin to answer (60,000) */
    int64_t check_ms;      /* how often files with credentials are looked at (5,000) */
    size_t max_body;       /* of an answer that no sieve reads (4 MiB) */
};

/*
 * Reads the credentials that *access names, and fails with a sentence where they are wrong. The
 * client takes what *access holds, also when it fails; *access is empty then. Nothing is sent and
 * no exec plugin is run before the first request.
 */
MUST_CHECK int kube_client_new(struct kube_client **out, struct kube_access *access,
                               const struct kube_client_config *config, struct err *err);
/* Ends all calls without callbacks. Not from inside a callback. */
void kube_client_free(struct kube_client *client);

/* The functions for a controller, with the client as `kube`. */
const struct kube_ops *kube_client_ops(void);

/*
 * Sends, receives and calls back, waiting up to timeout_ms for something to happen. The one place
 * that callbacks are called from.
 */
void kube_client_poll(struct kube_client *client, int64_t timeout_ms);
/* From now on its waiting also ends while fd is readable; -1: not any more. */
void kube_client_wait_for(struct kube_client *client, int fd);
/* Ends the waiting of kube_client_poll, now or the next time. For any thread and for signals. */
void kube_client_wakeup(struct kube_client *client);

struct kube_client_stats {
    uint64_t requests; /* started, watches too */
    uint64_t connects; /* connections opened by calls that have ended */
    uint64_t retries;  /* sent again after 401 */
    size_t queued, active;
};
struct kube_client_stats kube_client_stats(const struct kube_client *client);

#endif
