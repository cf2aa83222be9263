#include "operator/kube/transport.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "paceline/mem.h"

#define DEAD_PEER_MS 20000 /* sent and not acknowledged for so long: the connection is dead */
#define ROUNDING_MS 50

static int on_open(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    struct sockets *s = arg;
    unsigned timeout_ms = DEAD_PEER_MS;
    int probes = 3;

    (void)purpose;
    if (s->n == s->cap) {
        s->cap = 2 * s->cap + 8;
        s->fds = xrealloc(s->fds, s->cap * sizeof *s->fds);
    }
    s->fds[s->n++] = fd;
    /* Older kernels and other families lack these; keep-alive then does with its defaults. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    return CURL_SOCKOPT_OK;
}

static int on_close(void *arg, curl_socket_t fd)
{
    struct sockets *s = arg;

    for (size_t i = 0; i < s->n; i++)
        if (s->fds[i] == fd) {
            s->fds[i] = s->fds[--s->n];
            break;
        }
    return close(fd);
}

static void set_blob(CURL *easy, CURLoption option, char *text)
{
    struct curl_blob blob = {text, text ? strlen(text) : 0, CURL_BLOB_NOCOPY};

    if (text)
        curl_easy_setopt(easy, option, &blob);
}

/* With a CA of our own the system's are not trusted: CAPATH has a default that must go. */
static void set_tls(CURL *easy, bool insecure, const struct identity *identity)
{
    long check = insecure ? 0L : 1L;

    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, check);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, check * 2);
    if (identity->ca) {
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        set_blob(easy, CURLOPT_CAINFO_BLOB, identity->ca);
    }
    if (identity->cert) {
        curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
        curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
        set_blob(easy, CURLOPT_SSLCERT_BLOB, identity->cert);
        set_blob(easy, CURLOPT_SSLKEY_BLOB, identity->key);
    }
}

/* No redirects, cookies or netrc: curl's defaults. NOPROXY "": endpoint.c has read NO_PROXY. */
void transport_set(CURL *easy, const struct kube_client_config *config, bool insecure,
                   const struct endpoint *e, const struct identity *identity,
                   struct sockets *sockets)
{
    set_tls(easy, insecure, identity);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, e->https ? "https" : "http");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     config->http1 ? (long)CURL_HTTP_VERSION_1_1 : (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PROXY, e->proxy);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, e->connect_to);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)config->connect_ms);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 15L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_open);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, sockets);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, sockets);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, config->user_agent);
}

void sockets_abandon_dead(const struct sockets *s, int64_t waited_ms)
{
    for (size_t i = 0; i < s->n; i++) {
        struct tcp_info info = {0};
        socklen_t size = sizeof info;

        if (getsockopt(s->fds[i], IPPROTO_TCP, TCP_INFO, &info, &size))
            continue;
        if (info.tcpi_last_data_recv >= waited_ms - ROUNDING_MS &&
            info.tcpi_last_data_sent < info.tcpi_last_data_recv)
            (void)shutdown(s->fds[i], SHUT_RDWR);
    }
}
