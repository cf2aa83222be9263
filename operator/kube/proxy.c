#include "operator/kube/proxy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>

#include "paceline/mem.h"

struct address {
    uint8_t bytes[16];
    int bits; /* 32 or 128; 0: not an address */
};

static struct address parse_address(const char *text)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct address a = {.bits = 32};

    if (inet_pton(AF_INET, text, a.bytes) == 1)
        return a;
    a.bits = inet_pton(AF_INET6, text, a.bytes) == 1 ? 128 : 0;
    if (a.bits && memcmp(a.bytes, mapped, sizeof mapped) == 0) {
        memmove(a.bytes, a.bytes + 12, 4);
        a.bits = 32;
    }
    return a;
}

static bool in_network(const struct address *a, const struct address *net, int prefix)
{
    if (!a->bits || a->bits != net->bits || prefix > net->bits)
        return false;
    for (int i = 0; i < prefix; i++)
        if ((a->bytes[i / 8] ^ net->bytes[i / 8]) >> (7 - i % 8) & 1)
            return false;
    return true;
}

static bool proxy_is_loopback(const struct address *a)
{
    struct address v4 = parse_address("127.0.0.0"), v6 = parse_address("::1");

    return in_network(a, &v4, 8) || in_network(a, &v6, 128);
}

/* ".foo.com" and "*.foo.com" match below foo.com, "foo.com" also itself. */
static bool domain_matches(const char *entry, const char *host)
{
    size_t host_len = strlen(host), len;

    if (strncmp(entry, "*.", 2) == 0)
        entry++;
    else if (*entry != '.' && strcmp(entry, host) == 0)
        return true;
    entry += *entry == '.';
    len = strlen(entry);
    return len && host_len > len && host[host_len - len - 1] == '.' &&
           strcmp(host + host_len - len, entry) == 0;
}

static bool network_matches(char *entry, const struct address *a)
{
    char *slash = strchr(entry, '/'), *end;
    struct address net;
    long prefix;

    *slash = '\0';
    net = parse_address(entry);
    prefix = strtol(slash + 1, &end, 10);
    return slash[1] && !*end && prefix >= 0 && net.bits && in_network(a, &net, (int)prefix);
}

/* Cuts ":port" and brackets off; 0: the entry has no port. */
static int split_port(char **entry)
{
    char *colon = strrchr(*entry, ':'), *bracket = strchr(*entry, ']');
    int port = 0;

    if (colon && (bracket ? colon == bracket + 1 : strchr(*entry, ':') == colon)) {
        port = (int)strtol(colon + 1, NULL, 10);
        *colon = '\0';
    }
    if (**entry == '[' && bracket) {
        *bracket = '\0';
        ++*entry;
    }
    return port;
}

static bool entry_matches(char *entry, const char *host, const struct address *a, int port)
{
    struct address own;
    int wanted;

    if (strcmp(entry, "*") == 0)
        return true;
    if (strchr(entry, '/'))
        return network_matches(entry, a);
    wanted = split_port(&entry);
    if (!*entry || (wanted && wanted != port))
        return false;
    own = parse_address(entry);
    return own.bits ? in_network(a, &own, own.bits) : domain_matches(entry, host);
}

static char *lower(const char *text)
{
    char *copy = xstrdup(text);

    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

static char *trim(char *text)
{
    char *end;

    text += strspn(text, " \t");
    end = text + strlen(text);
    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    return text;
}

bool proxy_spared(const char *no_proxy, const char *host, int port)
{
    AUTO(auto_free) char *list = lower(no_proxy), *name = lower(host);
    struct address a = parse_address(name);
    char *rest = list, *entry;

    while ((entry = strsep(&rest, ",")))
        if (entry_matches(trim(entry), name, &a, port))
            return true;
    return false;
}

static const char *either(const char *upper_case, const char *lower_case)
{
    const char *value = getenv(upper_case);

    return value && *value ? value : getenv(lower_case);
}

char *proxy_from_environment(bool https, const char *host, int port)
{
    const char *proxy =
        https ? either("HTTPS_PROXY", "https_proxy") : either("HTTP_PROXY", "http_proxy");
    const char *spared = either("NO_PROXY", "no_proxy");
    struct address a = parse_address(host);

    if (!proxy || !*proxy || strcmp(host, "localhost") == 0 || proxy_is_loopback(&a) ||
        (spared && proxy_spared(spared, host, port)))
        return NULL;
    return xasprintf("%s%s", strstr(proxy, "://") ? "" : "http://", proxy);
}
