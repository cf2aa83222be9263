#include "operator/kube/endpoint.h"

#include "operator/kube/proxy.h"
#include "operator/kube/secret.h"
#include "paceline/mem.h"

static void endpoint_auto_curlu(CURLU **u) { curl_url_cleanup(*u); }
static void endpoint_auto_curl_free(char **s) { curl_free(*s); }

/* The host without brackets, for addresses. */
static char *bare(const char *host)
{
    return *host == '[' ? xasprintf("%.*s", (int)strlen(host) - 2, host + 1) : xstrdup(host);
}

/* The name goes into the URL, where it is checked, and connections go to the true host. */
static void rename_host(struct endpoint *e, CURLU *u, const char *name, const char *host,
                        const char *port)
{
    AUTO(auto_free) char *to = xasprintf("%s:%s:%s:%s", name, port, host, port);
    AUTO(endpoint_auto_curl_free) char *url = NULL;

    if (curl_url_set(u, CURLUPART_HOST, name, 0) || curl_url_get(u, CURLUPART_URL, &url, 0))
        return; /* the true host will be checked: no less strict */
    free(e->base);
    e->base = xstrdup(url);
    e->base[strlen(url) - (url[strlen(url) - 1] == '/')] = '\0';
    e->connect_to = curl_slist_append(NULL, to);
    e->host_header = xasprintf("Host: %s:%s", host, port);
}

void endpoint_init(struct endpoint *e, const struct kube_access *access)
{
    AUTO(endpoint_auto_curlu) CURLU *u = curl_url();
    AUTO(endpoint_auto_curl_free) char *host = NULL, *port = NULL;
    AUTO(auto_free) char *address = NULL;

    *e = (struct endpoint){.base = xstrdup(access->server),
                           .name = xstrdup(access->server),
                           .https = strncmp(access->server, "https://", 8) == 0};
    if (!u || curl_url_set(u, CURLUPART_URL, access->server, 0) ||
        curl_url_get(u, CURLUPART_HOST, &host, 0) ||
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT)) {
        e->proxy = xstrdup(access->proxy_url ? access->proxy_url : "");
        return; /* server_url has seen to it that this does not happen */
    }
    address = bare(host);
    if (access->proxy_url)
        e->proxy = xstrdup(access->proxy_url);
    else
        e->proxy = proxy_from_environment(e->https, address, (int)strtol(port, NULL, 10));
    if (!e->proxy)
        e->proxy = xstrdup("");
    if (access->tls_server_name && e->https)
        rename_host(e, u, access->tls_server_name, host, port);
}

void endpoint_release(struct endpoint *e)
{
    free(e->base);
    free(e->name);
    secret_free(e->proxy);
    free(e->host_header);
    curl_slist_free_all(e->connect_to);
    *e = (struct endpoint){0};
}
