/* Where requests go: the parts of a kube_access that curl wants to hear. */
#ifndef PACELINE_OPERATOR_KUBE_ENDPOINT_H
#define PACELINE_OPERATOR_KUBE_ENDPOINT_H

#include <stdbool.h>

#include <curl/curl.h>

#include "operator/kube/access.h"

struct endpoint {
    char *base;                    /* of URLs; its host is what the certificate must name */
    char *name;                    /* of the server, for messages */
    char *proxy;                   /* "" : none */
    char *host_header;             /* NULL: what base says */
    struct curl_slist *connect_to; /* where the host of base really is */
    bool https;
};

void endpoint_init(struct endpoint *e, const struct kube_access *access);
void endpoint_release(struct endpoint *e);

#endif
