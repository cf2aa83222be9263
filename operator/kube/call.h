/* Inside operator/kube: one request, from the queue to its answer. */
#ifndef PACELINE_OPERATOR_KUBE_CALL_H
#define PACELINE_OPERATOR_KUBE_CALL_H

#include <stdbool.h>

#include <curl/curl.h>

#include "operator/kube/client.h"
#include "operator/kube/credentials.h"
#include "operator/kube/endpoint.h"

enum call_end { /* why we ended it ourselves */
                CALL_NOT_ENDED,
                CALL_TOO_LARGE,
                CALL_BAD_JSON,
                CALL_NO_HEADERS,
                CALL_SILENT,
};

struct call_list {
    struct kube_call *first, *last;
};

struct kube_call {
    struct kube_call *previous, *next;
    struct call_list *list; /* NULL: in none */
    const struct kube_client_config *config;
    uint64_t number; /* grows: a call made later has a larger one */

    enum kube_method method;
    char *path, *content_type, *accept, *body; /* NULL as in kube_request */
    size_t body_len, body_sent;
    int64_t timeout_ms, deadline_ms;
    kube_item_fn *item; /* NULL: the answer is taken as one */
    bool watch;
    const struct sieve_field *keep;
    kube_done_fn *done;
    void *arg;

    CURL *easy; /* NULL: not under way */
    struct curl_slist *headers;
    struct identity *identity;
    char curl_error[CURL_ERROR_SIZE];

    bool cancelled, retried, has_headers;
    bool refused, garbled; /* the answer is a Status, not what `keep` is for; it is no JSON */
    enum call_end end;
    int64_t heard_ms, idle_ms; /* of a watch */
    int64_t retry_after_ms;
    struct buf answer; /* the body as it comes, where `keep` is NULL */
    struct sieve sieve;
    uint64_t received, told; /* bytes; those of items that were passed on */
    bool *called_back;       /* set when item is called */
};

int64_t kube_clock_ms(void); /* monotonic, and counts sleep */

void call_append(struct call_list *list, struct kube_call *call);
void call_prepend(struct call_list *list, struct kube_call *call);
void call_unlink(struct kube_call *call);

/* Copies the request. */
struct kube_call *call_new(const struct kube_client_config *config,
                           const struct kube_request *request, bool watch, kube_item_fn *item,
                           kube_done_fn *done, void *arg);
void call_free(struct kube_call *call); /* not under way and in no list */

/* Sets easy up for the call, which keeps it and takes the identity, and clears earlier answers. */
void call_begin(struct kube_call *call, CURL *easy, const struct endpoint *endpoint,
                struct identity *identity, int64_t now_ms);
/* Takes easy away from the call, ready for another. Not while it is in a multi handle. */
CURL *call_detach(struct kube_call *call);

/* The status of the answer; 0: none, or it was cut. Before call_detach. */
int call_status(struct kube_call *call, CURLcode result);
/* The kept part of the body. */
const struct buf *call_body(const struct kube_call *call);

/* A sentence on why there is no answer, into text. */
void call_explain(const struct kube_call *call, CURLcode result, const struct endpoint *endpoint,
                  const struct kube_access *access, char *text, size_t size);

#endif
