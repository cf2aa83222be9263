#include "paceline/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "paceline/mem.h"

enum { BACKLOG = 1024 }; /* room for a burst: a SYN that is dropped comes again after 1 s */

static int parse_port(const char *text, in_port_t *port)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || end - text > 5 || value > 65535)
        return -1;
    *port = htons((uint16_t)value);
    return 0;
}

static void any_address(struct listener_address *out, in_port_t port)
{
    out->in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
    out->len = sizeof out->in6;
}

/* The n bytes at host, without brackets. */
static int host_address(struct listener_address *out, const char *host, size_t n, in_port_t port)
{
    char text[INET6_ADDRSTRLEN];

    if (n >= sizeof text)
        return -1;
    memcpy(text, host, n);
    text[n] = '\0';
    if (inet_pton(AF_INET, text, &out->in.sin_addr) == 1) {
        out->in.sin_family = AF_INET;
        out->in.sin_port = port;
        out->len = sizeof out->in;
        return 0;
    }
    any_address(out, port);
    return inet_pton(AF_INET6, text, &out->in6.sin6_addr) == 1 ? 0 : -1;
}

int listener_parse(struct listener_address *out, const char *text, struct err *err)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    bool brackets = n > 2 && text[0] == '[' && text[n - 1] == ']';
    struct listener_address address = {0};
    in_port_t port;
    int rc;

    if (!colon || parse_port(colon + 1, &port) != 0)
        rc = -1;
    else if (n == 0)
        any_address(&address, port), rc = 0;
    else if (brackets)
        rc = host_address(&address, text + 1, n - 2, port);
    else
        rc = host_address(&address, text, n, port);
    /* Without brackets an IPv6 address would swallow the port, and with them IPv4 is a typo. */
    if (rc != 0 || (n > 0 && brackets != (address.any.sa_family == AF_INET6)))
        return err_set(err, ERR_INVALID,
                       "\"%s\" is no address and port; 127.0.0.1:8080, [::1]:8080 and :8080 are",
                       text);
    *out = address;
    return 0;
}

static bool is_any6(const struct listener_address *a)
{
    return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

static int open_one(const struct listener_address *a)
{
    static const int on = 1, off = 0;
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), saved;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        (!is_any6(a) || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
        bind(fd, &a->any, a->len) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int listener_open(const struct listener_address *address, struct err *err)
{
    int fd = open_one(address);

    if (fd < 0 && is_any6(address) && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        const struct listener_address any4 = {
            .in = {.sin_family = AF_INET, .sin_port = address->in6.sin6_port},
            .len = sizeof any4.in};

        fd = open_one(&any4);
    }
    if (fd < 0)
        return err_set(err, ERR_IO, "listening: %s", strerror(errno));
    return fd;
}

int listener_port(int fd)
{
    struct listener_address a = {.len = sizeof a.in6};

    if (getsockname(fd, &a.any, &a.len) != 0)
        return 0;
    return ntohs(a.any.sa_family == AF_INET6 ? a.in6.sin6_port : a.in.sin_port);
}
