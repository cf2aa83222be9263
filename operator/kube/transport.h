/* Inside operator/kube: what every request asks of TCP, TLS, HTTP and proxies. */
#ifndef PACELINE_OPERATOR_KUBE_TRANSPORT_H
#define PACELINE_OPERATOR_KUBE_TRANSPORT_H

#include <curl/curl.h>

#include "operator/kube/client.h"
#include "operator/kube/credentials.h"
#include "operator/kube/endpoint.h"

/* The connections that are open. All zero: none; free fds at the end. */
struct sockets {
    curl_socket_t *fds;
    size_t n, cap;
};

/* identity must live until easy is reset: its certificates are not copied. */
void transport_set(CURL *easy, const struct kube_client_config *config, bool insecure,
                   const struct endpoint *endpoint, const struct identity *identity,
                   struct sockets *sockets);

/*
 * To be called when a request got no answer for waited_ms. With HTTP/2 its connection stays open
 * after that. If nothing at all has come over it since something was last sent, the way to the
 * server is broken and every other request on it would only wait too: it is shut down.
 */
void sockets_abandon_dead(const struct sockets *s, int64_t waited_ms);

#endif
