#include <ctype.h>

#include "paceline/mem.h"
#include "tests/sim/apiserver.h"
#include "tests/sim/value.h"

static int hex(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (tolower((unsigned char)c) - 'a') + 10;
}

/* One query value with its %XX decoded. */
static void decode(char *out, size_t size, const char *from, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len && n + 1 < size; i++) {
        if (from[i] == '%' && i + 2 < len) {
            out[n++] = (char)(hex(from[i + 1]) * 16 + hex(from[i + 2]));
            i += 2;
        } else {
            out[n++] = from[i];
        }
    }
    out[n] = '\0';
}

static void take_option(struct target *t, const char *key, const char *value)
{
    int64_t number = strtoll(value, NULL, 10);

    if (strcmp(key, "watch") == 0)
        t->watch = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
    else if (strcmp(key, "allowWatchBookmarks") == 0)
        t->bookmarks = strcmp(value, "true") == 0;
    else if (strcmp(key, "dryRun") == 0)
        t->dry_run = strcmp(value, "All") == 0;
    else if (strcmp(key, "labelSelector") == 0)
        snprintf(t->selector, sizeof t->selector, "%s", value);
    else if (strcmp(key, "fieldSelector") == 0)
        snprintf(t->fields, sizeof t->fields, "%s", value);
    else if (strcmp(key, "continue") == 0)
        snprintf(t->more, sizeof t->more, "%.63s", value);
    else if (strcmp(key, "limit") == 0)
        t->limit = number;
    else if (strcmp(key, "resourceVersion") == 0)
        t->rv = number;
    else if (strcmp(key, "timeoutSeconds") == 0)
        t->timeout_s = number;
    else if (strcmp(key, "gracePeriodSeconds") == 0)
        t->grace_s = number;
}

static void parse_query(struct target *t, const char *query)
{
    while (*query) {
        size_t len = strcspn(query, "&"), key_len = strcspn(query, "=&");
        char key[64], value[256];

        decode(key, sizeof key, query, key_len);
        value[0] = '\0';
        if (key_len < len)
            decode(value, sizeof value, query + key_len + 1, len - key_len - 1);
        take_option(t, key, value);
        query += len;
        if (*query == '&')
            query++;
    }
}

/* Copies the next segment of the path, without its slash; false at the end. */
static bool segment(const char **path, char *out, size_t size)
{
    size_t len;

    if (**path != '/')
        return false;
    len = strcspn(*path + 1, "/?");
    snprintf(out, size, "%.*s", (int)len, *path + 1);
    *path += 1 + len;
    return len > 0;
}

static bool parse_kind(struct target *t, enum store_kind kind, const char *path)
{
    size_t base = strlen(kinds[kind].base);
    char word[256];

    *t = (struct target){.kind = kind, .grace_s = -1};
    if (strncmp(path, kinds[kind].base, base) != 0 || path[base] != '/')
        return false;
    path += base;
    if (!segment(&path, word, sizeof word))
        return false;
    if (strcmp(word, "namespaces") == 0) {
        if (!segment(&path, t->ns, sizeof t->ns) || !segment(&path, word, sizeof word))
            return false;
    }
    if (strcmp(word, kinds[kind].plural) != 0)
        return false;
    if (segment(&path, t->name, sizeof t->name))
        segment(&path, t->sub, sizeof t->sub);
    if (*path == '?')
        parse_query(t, path + 1);
    return true;
}

bool target_parse(struct target *t, const struct kube_request *request)
{
    for (int kind = 0; kind < N_KINDS; kind++) {
        if (parse_kind(t, kind, request->path)) {
            t->metadata_only =
                request->accept && strstr(request->accept, "as=PartialObjectMetadata");
            return true;
        }
    }
    return false;
}

bool selector_matches(const char *selector, const cJSON *json)
{
    const cJSON *labels = val_get(json, "metadata", "labels", NULL);

    while (*selector) {
        size_t len = strcspn(selector, ","), key_len = strcspn(selector, "=,");
        char key[256], want[256];
        const char *value;

        snprintf(key, sizeof key, "%.*s", (int)key_len, selector);
        snprintf(want, sizeof want, "%.*s", (int)(len - key_len - 1), selector + key_len + 1);
        value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(labels, key));
        if (!value || strcmp(value, want) != 0)
            return false;
        selector += len;
        if (*selector == ',')
            selector++;
    }
    return true;
}

bool fields_match(const char *fields, const cJSON *json)
{
    static const char known[] = "involvedObject.uid=";
    const char *uid = val_str(json, "involvedObject", "uid");

    if (!*fields)
        return true;
    return strncmp(fields, known, strlen(known)) == 0 && uid &&
           strcmp(fields + strlen(known), uid) == 0;
}

void object_write(struct buf *out, enum store_kind kind, struct version *v, bool metadata_only)
{
    if (metadata_only) {
        AUTO(auto_free) char *meta = val_print(val_get(v->json, "metadata", NULL));

        buf_printf(out,
                   "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                   "\"metadata\":%s}",
                   meta);
        return;
    }
    buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", kinds[kind].name,
               strchr(kinds[kind].base + 1, '/') + 1);
    buf_puts(out, version_text(v) + 1);
}
