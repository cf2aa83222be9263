/*
 * Requests to the Kubernetes API, asynchronous. operator/kube/client.c does them with libcurl,
 * tests/sim with a simulated API server; the controller knows only this.
 */
#ifndef PACELINE_OPERATOR_KUBE_KUBE_H
#define PACELINE_OPERATOR_KUBE_KUBE_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/sieve.h"

enum kube_method { KUBE_GET, KUBE_POST, KUBE_PUT, KUBE_PATCH, KUBE_DELETE };
extern const char *const kube_method_names[];

struct kube_request {
    enum kube_method method;
    const char *path;         /* "/api/v1/namespaces/x/pods?limit=100" */
    const char *content_type; /* of the body; NULL: application/json */
    const char *accept;       /* NULL: application/json */
    const char *body;         /* NULL: none */
    size_t body_len;
    int64_t timeout_ms; /* to the whole answer; of a watch: to its headers */
    /*
     * The fields to keep of an answer with status 200 or 201; of a watch, those of each event
     * (static tables). NULL keeps all of it, which is only for answers that nobody but the operator
     * can make large.
     */
    const struct sieve_field *keep;
};

struct kube_response {
    int status;       /* HTTP; 0: no answer, error says why (it may still have been applied) */
    const char *body; /* NUL-terminated; "" for a watch */
    size_t len;
    int64_t retry_after_ms; /* of the header, or -1 */
    uint64_t received;      /* bytes of the answer, before the sieve */
    const char *error;      /* for status 0 */
};

struct kube_call; /* a request on its way */

/* Everything passed in is copied; no callback is called from inside these functions. */
typedef void kube_done_fn(void *arg, const struct kube_response *response);
/* An object of a list or an event of a watch. */
struct kube_item {
    const char *text; /* JSON, NUL-terminated */
    size_t len;
    bool cut;          /* it exceeded the bounds of its sieve, so a part is missing */
    uint64_t received; /* bytes that came for it, before the sieve; counted by pieces of the answer,
                        * so those of a piece count for the first item that ends in it */
};
typedef void kube_item_fn(void *arg, const struct kube_item *item);

struct kube_ops {
    struct kube_call *(*send)(void *kube, const struct kube_request *request, kube_done_fn *done,
                              void *arg);
    /*
     * A GET whose answer has a list of objects, which `keep` marks with SIEVE_ITEMS. item gets each
     * object as it arrives. done is called after the last one, with the rest of the answer, and
     * also if the answer broke off.
     */
    struct kube_call *(*list)(void *kube, const struct kube_request *request, kube_item_fn *item,
                              kube_done_fn *done, void *arg);
    /* A GET whose answer is a stream of events; done comes once, when it ends for any reason. */
    struct kube_call *(*watch)(void *kube, const struct kube_request *request, kube_item_fn *item,
                               kube_done_fn *done, void *arg);
    /* Ends a call; its callbacks are not called any more. Safe from inside a callback. */
    void (*cancel)(void *kube, struct kube_call *call);
};

#endif
