#include "paceline/cluster.h"

#include <ctype.h>
#include <math.h>

#include "paceline/json.h"
#include "paceline/mem.h"

#define MAX_NAME 253 /* of a DNS name */
#define MAX_SLOTS 65536

const char *const cluster_role_names[N_CLUSTER_ROLES] = {
    [ROLE_CHIEF] = "chief",
    [ROLE_WORKER] = "worker",
    [ROLE_PS] = "ps",
    [ROLE_EVALUATOR] = "evaluator",
};

void cluster_add(struct cluster *cluster, enum cluster_role role, const char *address)
{
    struct cluster_hosts *hosts = &cluster->roles[role];

    hosts->items = xrealloc(hosts->items, (hosts->n + 1) * sizeof *hosts->items);
    hosts->items[hosts->n++] = xstrdup(address);
}

void cluster_release(struct cluster *cluster)
{
    for (size_t r = 0; r < N_CLUSTER_ROLES; r++) {
        for (size_t i = 0; i < cluster->roles[r].n; i++)
            free(cluster->roles[r].items[i]);
        free(cluster->roles[r].items);
    }
    *cluster = (struct cluster){0};
}

/* A host name or an IPv4 address; an IPv6 address where colons are allowed. */
static bool is_host(const char *s, size_t len, bool colons)
{
    if (len == 0 || len > MAX_NAME || *s == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr(colons ? ":.-" : ".-_", s[i]))
            return false;
    return true;
}

/* host:port, with [address]:port for IPv6. */
static bool cluster_is_address(const char *s)
{
    const char *colon = strrchr(s, ':');
    bool bracketed = *s == '[' && colon && colon > s + 1 && colon[-1] == ']';
    size_t digits;
    long port;

    if (!colon)
        return false;
    digits = strspn(colon + 1, "0123456789");
    port = digits && digits <= 5 && !colon[1 + digits] ? strtol(colon + 1, NULL, 10) : 0;
    if (port < 1 || port > 65535)
        return false;
    return bracketed ? is_host(s + 1, (size_t)(colon - s) - 2, true)
                     : is_host(s, (size_t)(colon - s), false);
}

static int role_find(const char *word)
{
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        if (word && strcmp(word, cluster_role_names[r]) == 0)
            return r;
    return -1;
}

static int parse_hosts(struct cluster *cluster, const cJSON *list, struct err *err)
{
    int role = role_find(list->string);

    if (role < 0)
        return err_set(err, ERR_INVALID,
                       "TF_CONFIG: cluster: found the role \"%.60s\"; allowed: chief, worker, ps, "
                       "evaluator",
                       list->string);
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > CLUSTER_MAX_HOSTS)
        return err_set(err, ERR_INVALID,
                       "TF_CONFIG: cluster.%s: allowed: a list of at most %d addresses",
                       list->string, CLUSTER_MAX_HOSTS);
    for (const cJSON *c = list->child; c; c = c->next) {
        if (!cJSON_IsString(c) || !cluster_is_address(c->valuestring))
            return err_set(err, ERR_INVALID,
                           "TF_CONFIG: cluster.%s[%zu]: found %.60s; allowed: host:port",
                           list->string, cluster->roles[role].n,
                           cJSON_IsString(c) ? c->valuestring : "no string");
        cluster_add(cluster, (enum cluster_role)role, c->valuestring);
    }
    return 0;
}

static int parse_task(struct cluster *cluster, const cJSON *task, struct err *err)
{
    int role = role_find(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(task, "type")));
    const cJSON *index = cJSON_GetObjectItemCaseSensitive(task, "index");
    double i = cJSON_IsNumber(index) ? index->valuedouble : -1;
    size_t n;

    if (role < 0)
        return err_set(err, ERR_INVALID,
                       "TF_CONFIG: task.type: needed: one of chief, worker, ps, evaluator");
    n = cluster->roles[role].n;
    if (n == 0 && role == ROLE_EVALUATOR)
        n = CLUSTER_MAX_HOSTS;
    if (i < 0 || i >= (double)n || i != floor(i))
        return err_set(err, ERR_INVALID,
                       "TF_CONFIG: task.index: found %g; needed: the index of one of the %zu %s "
                       "addresses",
                       i, n, cluster_role_names[role]);
    cluster->task_role = (enum cluster_role)role;
    cluster->task_index = (size_t)i;
    return 0;
}

static int parse_config(struct cluster *cluster, const cJSON *root, struct err *err)
{
    const cJSON *roles = cJSON_GetObjectItemCaseSensitive(root, "cluster");
    const cJSON *task = cJSON_GetObjectItemCaseSensitive(root, "task");

    if (!cJSON_IsObject(roles) || !cJSON_IsObject(task))
        return err_set(err, ERR_INVALID, "TF_CONFIG: needed: an object with cluster and task");
    for (const cJSON *list = roles->child; list; list = list->next)
        if (parse_hosts(cluster, list, err))
            return -1;
    return parse_task(cluster, task, err);
}

int cluster_parse(struct cluster *cluster, const char *text, size_t len, struct err *err)
{
    AUTO(auto_json) cJSON *root = NULL;

    *cluster = (struct cluster){0};
    if (len > CLUSTER_MAX_BYTES)
        return err_set(err, ERR_INVALID, "TF_CONFIG: %zu bytes; at most %zu are allowed", len,
                       CLUSTER_MAX_BYTES);
    if (json_parse(&root, text, len, "TF_CONFIG", err))
        return -1;
    if (parse_config(cluster, root, err) == 0)
        return 0;
    cluster_release(cluster);
    return -1;
}

void cluster_encode(const struct cluster *cluster, struct buf *out)
{
    AUTO(auto_json) cJSON *root = cJSON_CreateObject();
    cJSON *roles = cJSON_AddObjectToObject(root, "cluster");
    cJSON *task = cJSON_AddObjectToObject(root, "task");

    for (size_t r = 0; r < N_CLUSTER_ROLES; r++)
        if (cluster->roles[r].n)
            cJSON_AddItemToObject(
                roles, cluster_role_names[r],
                cJSON_CreateStringArray((const char *const *)cluster->roles[r].items,
                                        (int)cluster->roles[r].n));
    cJSON_AddStringToObject(task, "type", cluster_role_names[cluster->task_role]);
    cJSON_AddNumberToObject(task, "index", (double)cluster->task_index);
    json_print(root, 0, out);
}

void hostfile_add(struct hostfile *hostfile, const char *name, int slots)
{
    hostfile->hosts = xrealloc(hostfile->hosts, (hostfile->n + 1) * sizeof *hostfile->hosts);
    hostfile->hosts[hostfile->n++] = (struct host){xstrdup(name), slots};
}

void hostfile_release(struct hostfile *hostfile)
{
    for (size_t i = 0; i < hostfile->n; i++)
        free(hostfile->hosts[i].name);
    free(hostfile->hosts);
    *hostfile = (struct hostfile){0};
}

/* The number after the key of "slots=4"; -1 when the word is no such setting. */
static int setting(const char *word, const char *key)
{
    size_t len = strlen(key);
    char *end;
    long n;

    if (strncmp(word, key, len) != 0 || !isdigit((unsigned char)word[len]))
        return -1;
    n = strtol(word + len, &end, 10);
    return *end || n < 1 || n > MAX_SLOTS ? -1 : (int)n;
}

/* One line, without its end and its comment; it is cut into words. */
static int parse_line(struct hostfile *hostfile, char *line, const char *where, struct err *err)
{
    static const char blanks[] = " \t\r";
    char *rest = line, *name = NULL, *word;
    int slots = 0;

    while ((word = strsep(&rest, blanks))) {
        int n = setting(word, "slots=");

        if (!*word)
            continue;
        if (!name && is_host(word, strlen(word), true))
            name = word;
        else if (name && n > 0)
            slots = n;
        else if (!name || (setting(word, "max_slots=") < 0 && setting(word, "max-slots=") < 0))
            return err_set(err, ERR_INVALID,
                           "%s: found \"%.60s\"; allowed: a host name, then slots=1 to %d", where,
                           word, MAX_SLOTS);
    }
    if (!name)
        return 0;
    if (hostfile->n == CLUSTER_MAX_HOSTS)
        return err_set(err, ERR_INVALID, "%s: more than %d hosts", where, CLUSTER_MAX_HOSTS);
    hostfile_add(hostfile, name, slots);
    return 0;
}

int hostfile_parse(struct hostfile *hostfile, const char *text, size_t len, const char *name,
                   struct err *err)
{
    AUTO(auto_free) char *copy = NULL;
    char *rest, *line;

    *hostfile = (struct hostfile){0};
    if (len > CLUSTER_MAX_BYTES || memchr(text, '\0', len))
        return err_set(err, ERR_INVALID, "%s: allowed: text of at most %zu bytes", name,
                       CLUSTER_MAX_BYTES);
    copy = xasprintf("%.*s", (int)len, text);
    rest = copy;
    for (int number = 1; (line = strsep(&rest, "\n")); number++) {
        char where[300];

        snprintf(where, sizeof where, "%.250s:%d", name, number);
        line[strcspn(line, "#")] = '\0';
        if (parse_line(hostfile, line, where, err)) {
            hostfile_release(hostfile);
            return -1;
        }
    }
    return 0;
}

void hostfile_encode(const struct hostfile *hostfile, struct buf *out)
{
    for (size_t i = 0; i < hostfile->n; i++) {
        buf_puts(out, hostfile->hosts[i].name);
        if (hostfile->hosts[i].slots)
            buf_printf(out, " slots=%d", hostfile->hosts[i].slots);
        buf_puts(out, "\n");
    }
}
