/*
 * Sends requests: bounded in number, rate-limited, with a time-out that ends before another
 * operator could take the Lease. While this operator may not write, and when it stops, requests are
 * refused at once.
 *
 * A sender with many requests (a plan with a thousand pods) does not queue them all. It registers
 * as a source and is asked for its next request when there is room, in turn with the others. So
 * memory stays small and a large job does not delay a small one.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_DISPATCHER_H
#define PACELINE_OPERATOR_CONTROLLER_DISPATCHER_H

#include <stdbool.h>

#include "operator/controller/answer.h"
#include "operator/core/limit.h"
#include "paceline/buf.h"

struct controller;

struct api_request {
    enum kube_method method;
    char *path;                     /* owned */
    const char *content_type;       /* static, or NULL */
    struct buf body;                /* owned; data NULL: none */
    const struct sieve_field *keep; /* of the answer; see kube.h */
    void (*item)(
        void *arg,
        const cJSON *item); /* for a list: gets each object, before done is called; or NULL */
};

/* body and message are the callee's to read only; body is NULL unless the answer is OK. */
typedef void dispatcher_done_fn(void *arg, enum answer answer, const cJSON *body,
                                const char *message);

/* A plan under way: gives its next request; false: none left, or none now. */
struct request_source {
    bool (*next)(struct request_source *s, struct api_request *r, dispatcher_done_fn **done,
                 void **arg);
    struct request_source *after; /* in the ring */
    bool queued;
};

/* Single requests go before or after plans. While plans wait, one request in DISPATCHER_SHARE is
 * one of those after, so that they neither slow plans down nor starve. */
enum { DISPATCHER_FIRST, DISPATCHER_LAST, N_OUTBOX_LISTS };
#define DISPATCHER_SHARE 16

struct dispatcher {
    struct controller *c;
    struct request_source *first, *last; /* the ring; asked in turn */
    struct single_list {
        struct single *first, *last;
    } singles[N_OUTBOX_LISTS];
    struct sent *sent; /* under way */
    int n_sent;
    uint64_t received;           /* length of the answer that a callback is given */
    int since_last, since_spare; /* requests sent since a request that can wait had its turn */
    struct limit limit;
    bool closed;
    bool busy; /* the server said so since the last step: wait for retry_after_ms */
    int64_t retry_after_ms, pause_until_ms; /* monotonic */
};

void dispatcher_init(struct dispatcher *o, struct controller *c);
/* Cancels what is under way and what waits; their callbacks are told that there is no answer. */
void dispatcher_release(struct dispatcher *o);

/* Puts the source into the ring unless it is there. */
void dispatcher_wake(struct dispatcher *o, struct request_source *s);
/* Takes a source that goes away out of the ring. */
void dispatcher_forget(struct dispatcher *o, struct request_source *s);
/* Adds a single request and takes ownership of it; _last: it can wait. */
void dispatcher_add(struct dispatcher *o, struct api_request r, dispatcher_done_fn *done,
                    void *arg);
void dispatcher_add_last(struct dispatcher *o, struct api_request r, dispatcher_done_fn *done,
                         void *arg);

/* Whether there is room for a plan that can wait, because it only writes descriptive status:
 * nothing else waits, or it is the turn of such a plan. Uses up that turn. */
bool dispatcher_spare(struct dispatcher *o);

/* Sends the requests that may be sent now. */
void dispatcher_step(struct dispatcher *o);
int64_t dispatcher_next_ms(const struct dispatcher *o,
                           int64_t mono_ms);      /* -1: only answers matter */
bool dispatcher_idle(const struct dispatcher *o); /* nothing waits, nothing is under way */

#endif
