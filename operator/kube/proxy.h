/* The proxy that the environment asks for, as Go's net/http reads it. */
#ifndef PACELINE_OPERATOR_KUBE_PROXY_H
#define PACELINE_OPERATOR_KUBE_PROXY_H

#include <stdbool.h>

/* Whether NO_PROXY's list spares host (without brackets) and port from the proxy. */
bool proxy_spared(const char *no_proxy, const char *host, int port);

/*
 * The proxy for a request by HTTPS_PROXY (or HTTP_PROXY for plain http) and NO_PROXY, capitals
 * first; localhost and loopback addresses have none. NULL: none. The caller frees it.
 */
char *proxy_from_environment(bool https, const char *host, int port);

#endif
