/*
 * Requests to the Kubernetes API, asynchronous. operator/kube/client.c does them with libcurl,
 * tests/sim with a simulated API server; the controller knows only this.
 */
#ifndef PACELINE_OPERATOR_KUBE_KUBE_H
#define PACELINE_OPERATOR_KUBE_KUBE_H

#include <stddef.h>
#include <stdint.h>

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
};

struct kube_response {
    int status;       /* HTTP; 0: no answer, error says why (it may still have been applied) */
    const char *body; /* NUL-terminated; "" for a watch */
    size_t len;
    int64_t retry_after_ms; /* of the header, or -1 */
    const char *error;      /* for status 0 */
};

struct kube_call; /* a request on its way */

/* Everything passed in is copied; no callback is called from inside these functions. */
typedef void kube_done_fn(void *arg, const struct kube_response *response);
/* One line of a watch stream, without its newline, NUL-terminated. */
typedef void kube_line_fn(void *arg, const char *line, size_t len);

struct kube_ops {
    struct kube_call *(*send)(void *kube, const struct kube_request *request, kube_done_fn *done,
                              void *arg);
    /* A GET whose answer is a stream of lines; done comes once, when it ends for any reason. */
    struct kube_call *(*watch)(void *kube, const struct kube_request *request, kube_line_fn *line,
                               kube_done_fn *done, void *arg);
    /* Ends a call; its callbacks are not called any more. Safe from inside a callback. */
    void (*cancel)(void *kube, struct kube_call *call);
};

#endif
