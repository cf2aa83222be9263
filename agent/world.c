#include "agent/world.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "paceline/mem.h"
#include "wire/frame.h"

#define MAX_NAME 253 /* of a DNS name */

void world_release(struct world *w)
{
    for (size_t i = 0; i < w->n_hosts; i++) {
        free(w->hosts[i].pod);
        free(w->hosts[i].host);
        free(w->hosts[i].address);
    }
    free(w->hosts);
    cJSON_Delete(w->job);
    *w = (struct world){0};
}

static bool world_is_name(const char *s)
{
    size_t n = strlen(s);

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && (i == 0 || !strchr("-.", s[i])))
            return false;
    return n > 0 && n <= MAX_NAME;
}

static bool world_is_address(const char *s)
{
    struct in6_addr address;

    return inet_pton(AF_INET, s, &address) == 1 || inet_pton(AF_INET6, s, &address) == 1;
}

static int world_add_host(struct world *w, const cJSON *item, struct err *err)
{
    const struct {
        const char *field, *what;
        bool (*is)(const char *s);
    } fields[] = {{"pod", "a DNS name", world_is_name},
                  {"host", "a DNS name", world_is_name},
                  {"address", "an IP address", world_is_address}};

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *value = message_text(item, fields[i].field);

        if (!fields[i].is(value))
            return err_set(err, ERR_INVALID, "hosts[%zu].%s: found \"%.60s\"; it must be %s",
                           w->n_hosts, fields[i].field, value, fields[i].what);
    }
    w->hosts[w->n_hosts++] = (struct world_host){.pod = xstrdup(message_text(item, "pod")),
                                                 .host = xstrdup(message_text(item, "host")),
                                                 .address = xstrdup(message_text(item, "address"))};
    return 0;
}

static int world_parse_fields(struct world *w, const cJSON *message, struct err *err)
{
    const cJSON *hosts = cJSON_GetObjectItemCaseSensitive(message, "hosts"), *item;
    const cJSON *job = cJSON_GetObjectItemCaseSensitive(message, "job");
    int n = cJSON_IsArray(hosts) ? cJSON_GetArraySize(hosts) : 0;

    w->generation = message_integer(message, "generation");
    if (w->generation < 1)
        return err_set(err, ERR_INVALID, "generation: it must be a whole number above 0");
    if (!cJSON_IsObject(job))
        return err_set(err, ERR_INVALID, "job: it must be a TrainingJob");
    if (n < 1 || n > WORLD_MAX_HOSTS)
        return err_set(err, ERR_INVALID, "hosts: found %d; it must be a list of 1 to %d", n,
                       WORLD_MAX_HOSTS);
    w->job = cJSON_Duplicate(job, true);
    w->hosts = xcalloc((size_t)n, sizeof *w->hosts);
    cJSON_ArrayForEach(item, hosts)
    {
        if (world_add_host(w, item, err) < 0)
            return -1;
    }
    return 0;
}

int world_parse(struct world *w, const cJSON *message, struct err *err)
{
    *w = (struct world){0};
    if (world_parse_fields(w, message, err) == 0)
        return 0;
    world_release(w);
    return -1;
}
