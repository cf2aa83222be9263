/* Inside operator/kube: what every request asks of TCP, TLS, HTTP and proxies. */
#ifndef PACELINE_OPERATOR_KUBE_TRANSPORT_H
#define PACELINE_OPERATOR_KUBE_TRANSPORT_H

#include <curl/curl.h>

#include "operator/kube/client.h"
#include "operator/kube/credentials.h"
#include "operator/kube/endpoint.h"

/* identity must live until easy is reset: its certificates are not copied. */
void transport_set(CURL *easy, const struct kube_client_config *config, bool insecure,
                   const struct endpoint *endpoint, const struct identity *identity);

/*
 * With HTTP/2 a request that times out leaves its connection open. If nothing at all has come over
 * it for waited_ms, the way to the server is broken and every other request on it would only wait
 * too: the connection is then shut down. Call before easy leaves its multi handle.
 */
void transport_abandon_if_dead(CURL *easy, int64_t waited_ms);

#endif
