/*
 * Requests on their way out: bounded in number, rate-limited, with a time-out that ends before
 * another operator could take the Lease. While nobody may write, and when the operator stops, they
 * are refused at once.
 *
 * Who has many requests to make (a plan with a thousand pods) does not queue them all: it registers
 * as a source and is asked for the next one when there is room, in turn with the others. So memory
 * stays small and a large job does not hold up a small one.
 */
#ifndef PACELINE_OPERATOR_CONTROLLER_OUTBOX_H
#define PACELINE_OPERATOR_CONTROLLER_OUTBOX_H

#include <stdbool.h>

#include "operator/controller/answer.h"
#include "operator/core/limit.h"
#include "paceline/buf.h"

struct controller;

struct request {
    enum kube_method method;
    char *path;                     /* owned */
    const char *content_type;       /* static, or NULL */
    struct buf body;                /* owned; data NULL: none */
    const struct sieve_field *keep; /* of the answer; see kube.h */
    void (*item)(void *arg,
                 const cJSON *item); /* of a list: gets each object, before done; or NULL */
};

/* body and message are the callee's to read only; body is NULL unless the answer is OK. */
typedef void outbox_done_fn(void *arg, enum answer answer, const cJSON *body, const char *message);

/* A plan under way: gives its next request; false: none left, or none now. */
struct source {
    bool (*next)(struct source *s, struct request *r, outbox_done_fn **done, void **arg);
    struct source *after; /* in the ring */
    bool queued;
};

/* Single requests before and after plans. While plans wait, one request in OUTBOX_SHARE is left to
 * what can wait, so that it neither slows them nor starves. */
enum { OUTBOX_FIRST, OUTBOX_LAST, N_OUTBOX_LISTS };
#define OUTBOX_SHARE 16

struct outbox {
    struct controller *c;
    struct source *first, *last; /* asked in turn */
    struct single_list {
        struct single *first, *last;
    } singles[N_OUTBOX_LISTS];
    struct sent *sent; /* under way */
    int n_sent;
    uint64_t received;           /* bytes of the answer that a callback is told of */
    int since_last, since_spare; /* requests sent since what can wait had its turn */
    struct limit limit;
    bool closed;
    bool busy; /* the server said so since the last step; for retry_after_ms */
    int64_t retry_after_ms, pause_until_ms; /* monotonic */
};

void outbox_init(struct outbox *o, struct controller *c);
/* Cancels what is under way and what waits; their callbacks are told that there is no answer. */
void outbox_release(struct outbox *o);

/* Puts the source in the ring, if it is not there. */
void outbox_wake(struct outbox *o, struct source *s);
/* A source that goes away. */
void outbox_forget(struct outbox *o, struct source *s);
/* A single request; it is taken over. */
void outbox_add(struct outbox *o, struct request r, outbox_done_fn *done, void *arg);
void outbox_add_last(struct outbox *o, struct request r, outbox_done_fn *done, void *arg);

/* Whether there is room for a plan that can wait (it only describes): nobody waits, or it is the
 * turn of such a plan; that is then taken. */
bool outbox_spare(struct outbox *o);

/* Sends what may be sent. */
void outbox_step(struct outbox *o);
int64_t outbox_next_ms(const struct outbox *o, int64_t mono_ms); /* -1: only answers matter */
bool outbox_idle(const struct outbox *o); /* nothing waits, nothing is under way */

#endif
