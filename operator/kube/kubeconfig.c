#include "operator/kube/kubeconfig.h"

#include <stdarg.h>

#include "operator/kube/kubeconfig_read.h"
#include "operator/kube/secret.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define MAX_FILES 32

struct kubeconfig {
    struct kubeconfig_file *files;
    size_t n;
};

static void kubeconfig_release(struct kubeconfig *k)
{
    for (size_t i = 0; i < k->n; i++) {
        free(k->files[i].path);
        secret_json_free(STEAL(k->files[i].doc.root));
        yaml_release(&k->files[i].doc);
    }
    free(k->files);
}

int entry_fail(const struct kubeconfig_entry *e, const cJSON *node, struct err *err,
               const char *fmt, ...)
{
    int line = node ? yaml_line(&e->file->doc, node) : 0;
    char text[sizeof err->msg];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (line)
        return err_set(err, ERR_INVALID, "%s:%d: %s \"%.100s\": %s", e->file->path, line, e->kind,
                       e->name, text);
    return err_set(err, ERR_INVALID, "%s: %s \"%.100s\": %s", e->file->path, e->kind, e->name,
                   text);
}

static const cJSON *kubeconfig_field_of(const cJSON *object, const char *field)
{
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(object, field);

    return cJSON_IsNull(node) ? NULL : node;
}

/* The value is not shown: it may be a password that looks like a number. */
static const char *kubeconfig_kind_of(const cJSON *node)
{
    if (cJSON_IsObject(node))
        return "a mapping";
    if (cJSON_IsArray(node))
        return "a list";
    if (cJSON_IsBool(node))
        return "true or false";
    return cJSON_IsNumber(node) ? "a number" : "text";
}

int entry_text(const struct kubeconfig_entry *e, const cJSON *object, const char *field,
               const char **out, struct err *err)
{
    const cJSON *node = kubeconfig_field_of(object, field);

    *out = NULL;
    if (!node)
        return 0;
    if (!cJSON_IsString(node))
        return entry_fail(e, node, err, "%s is %s; text is allowed, in quotes where needed", field,
                          kubeconfig_kind_of(node));
    *out = *node->valuestring ? node->valuestring : NULL;
    return 0;
}

int entry_bool(const struct kubeconfig_entry *e, const cJSON *object, const char *field, bool *out,
               struct err *err)
{
    const cJSON *node = kubeconfig_field_of(object, field);

    if (node && !cJSON_IsBool(node))
        return entry_fail(e, node, err, "%s is %s; true or false is allowed", field,
                          kubeconfig_kind_of(node));
    *out = cJSON_IsTrue(node);
    return 0;
}

int entry_list(const struct kubeconfig_entry *e, const cJSON *object, const char *field,
               const cJSON **out, struct err *err)
{
    *out = kubeconfig_field_of(object, field);
    if (*out && !cJSON_IsArray(*out))
        return entry_fail(e, *out, err, "%s is %s; a list is allowed", field,
                          kubeconfig_kind_of(*out));
    return 0;
}

char *entry_path(const struct kubeconfig_entry *e, const char *path)
{
    const char *slash = strrchr(e->file->path, '/');

    if (*path == '/' || !slash)
        return xstrdup(path);
    return xasprintf("%.*s/%s", (int)(slash - e->file->path), e->file->path, path);
}

int entry_material(const struct kubeconfig_entry *e, const char *field, struct material *out,
                   struct err *err)
{
    AUTO(auto_free) char *data_field = xasprintf("%s-data", field);
    const char *file, *data;
    size_t len;

    if (entry_text(e, e->body, field, &file, err) || entry_text(e, e->body, data_field, &data, err))
        return -1;
    if (!file && !data)
        return 0;
    if (data && (base64_decode(&out->text, &len, data) || strlen(out->text) != len))
        return entry_fail(e, kubeconfig_field_of(e->body, data_field), err,
                          "%s is not text in base64", data_field);
    if (!data)
        out->file = entry_path(e, file);
    out->where = xasprintf("%s of %s \"%s\" in %s", data ? data_field : field, e->kind, e->name,
                           e->file->path);
    return 0;
}

/* One entry of the list; *body stays NULL when it has another name. */
static int match_entry(const struct kubeconfig_entry *wanted, const cJSON *item, bool *match,
                       struct err *err)
{
    const char *name;

    *match = false;
    if (!cJSON_IsObject(item))
        return entry_fail(wanted, item, err, "found %s in the list; an entry has a name and a %s",
                          kubeconfig_kind_of(item), wanted->kind);
    if (entry_text(wanted, item, "name", &name, err))
        return -1;
    *match = name && strcmp(name, wanted->name) == 0;
    return 0;
}

static int find_in_file(struct kubeconfig_entry *e, const cJSON *list, bool *found, struct err *err)
{
    const cJSON *item;

    *found = false;
    cJSON_ArrayForEach(item, list)
    {
        bool match;

        if (match_entry(e, item, &match, err))
            return -1;
        if (!match)
            continue;
        if (*found)
            return entry_fail(e, item, err, "the name stands twice");
        *found = true;
        e->body = kubeconfig_field_of(item, e->kind);
        if (e->body && !cJSON_IsObject(e->body))
            return entry_fail(e, item, err, "%s is %s; a mapping is allowed", e->kind,
                              kubeconfig_kind_of(e->body));
    }
    return 0;
}

/* Looks in all files, the first wins. whence says who named it. */
static int kubeconfig_find(const struct kubeconfig *k, struct kubeconfig_entry *e,
                           const char *whence, struct err *err)
{
    AUTO(auto_free) char *lists = xasprintf("%ss", e->kind);
    bool found;

    for (size_t i = 0; i < k->n; i++) {
        const cJSON *list;

        e->file = &k->files[i];
        if (entry_list(e, e->file->doc.root, lists, &list, err) ||
            find_in_file(e, list, &found, err))
            return -1;
        if (found)
            return 0;
    }
    return err_set(err, ERR_INVALID, "%s: %s names the %s \"%.100s\", which is not there%s",
                   k->files[0].path, whence, e->kind, e->name,
                   k->n > 1 ? ", nor in the other files" : "");
}

static int current_context(const struct kubeconfig *k, const char **name, struct err *err)
{
    for (size_t i = 0; i < k->n; i++) {
        struct kubeconfig_entry top = {
            .file = &k->files[i], .kind = "field", .name = "current-context"};

        if (entry_text(&top, k->files[i].doc.root, "current-context", name, err))
            return -1;
        if (*name)
            return 0;
    }
    return err_set(err, ERR_INVALID, "%s: no current-context is set and none was asked for",
                   k->files[0].path);
}

/* A URL of a proxy as in HTTPS_PROXY; curl names the schemes. */
static int proxy_url(const struct kubeconfig_entry *cluster, char **out, struct err *err)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    const char *url;

    if (entry_text(cluster, cluster->body, "proxy-url", &url, err))
        return -1;
    if (!url)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0) {
            *out = xstrdup(url);
            return 0;
        }
    return entry_fail(cluster, kubeconfig_field_of(cluster->body, "proxy-url"), err,
                      "proxy-url begins with http://, https:// or socks5://");
}

static int read_cluster(struct kube_access *a, const struct kubeconfig_entry *cluster,
                        struct err *err)
{
    const char *server, *tls_name;
    AUTO(auto_free) char *where = NULL;

    if (entry_text(cluster, cluster->body, "server", &server, err) ||
        entry_text(cluster, cluster->body, "tls-server-name", &tls_name, err) ||
        entry_bool(cluster, cluster->body, "insecure-skip-tls-verify", &a->insecure, err) ||
        entry_material(cluster, "certificate-authority", &a->ca, err) ||
        proxy_url(cluster, &a->proxy_url, err))
        return -1;
    if (!server)
        return entry_fail(cluster, cluster->body, err, "server is missing");
    where = xasprintf("%s:%d: cluster \"%.100s\": server", cluster->file->path,
                      yaml_line(&cluster->file->doc, kubeconfig_field_of(cluster->body, "server")),
                      cluster->name);
    if (a->insecure && (a->ca.file || a->ca.text))
        return entry_fail(cluster, cluster->body, err,
                          "insecure-skip-tls-verify and certificate-authority exclude each other");
    a->tls_server_name = tls_name ? xstrdup(tls_name) : NULL;
    return server_url(&a->server, server, where, err);
}

static int resolve(struct kube_access *a, const struct kubeconfig *k, const char *context_name,
                   struct err *err)
{
    struct kubeconfig_entry context = {.kind = "context", .name = context_name};
    struct kubeconfig_entry cluster = {.kind = "cluster"}, user = {.kind = "user"};
    const char *namespace_;
    AUTO(auto_free) char *whence = NULL;

    if (!context.name && current_context(k, &context.name, err))
        return -1;
    if (kubeconfig_find(k, &context, context_name ? "the caller" : "current-context", err) ||
        entry_text(&context, context.body, "cluster", &cluster.name, err) ||
        entry_text(&context, context.body, "user", &user.name, err) ||
        entry_text(&context, context.body, "namespace", &namespace_, err))
        return -1;
    if (!cluster.name)
        return entry_fail(&context, context.body, err, "cluster is missing");
    whence = xasprintf("context \"%.100s\"", context.name);
    if (kubeconfig_find(k, &cluster, whence, err) || read_cluster(a, &cluster, err))
        return -1;
    if (user.name &&
        (kubeconfig_find(k, &user, whence, err) || kubeconfig_user(a, &user, &cluster, err)))
        return -1;
    a->namespace_ = namespace_ ? xstrdup(namespace_) : NULL;
    a->source = xasprintf("context %s of %s", context.name, context.file->path);
    return 0;
}

static int add_file(struct kubeconfig *k, const char *path, const char *text, size_t len,
                    struct err *err)
{
    struct kubeconfig_file *file = &k->files[k->n++];

    *file = (struct kubeconfig_file){.path = xstrdup(path)};
    if (yaml_parse(&file->doc, text, len, path, err))
        return -1;
    if (file->doc.root && !cJSON_IsObject(file->doc.root) && !cJSON_IsNull(file->doc.root))
        return err_set(err, ERR_INVALID, "%s: found %s; a kubeconfig is a mapping", path,
                       kubeconfig_kind_of(file->doc.root));
    return 0;
}

static int kubeconfig_finish(struct kube_access *a, const struct kubeconfig *k, const char *context,
                             struct err *err)
{
    AUTO(kube_access_release) struct kube_access found = {0};

    if (resolve(&found, k, context, err))
        return -1;
    kube_access_move(a, &found);
    return 0;
}

int kubeconfig_parse(struct kube_access *a, const char *text, size_t len, const char *name,
                     const char *context, struct err *err)
{
    AUTO(kubeconfig_release) struct kubeconfig k = {.files = xcalloc(1, sizeof *k.files)};

    *a = (struct kube_access){0};
    return add_file(&k, name, text, len, err) ? -1 : kubeconfig_finish(a, &k, context, err);
}

static int kubeconfig_read_file(struct kubeconfig *k, const char *path, struct err *err)
{
    AUTO(auto_secret) char *text = NULL;
    size_t len;

    if (secret_read_file(&text, &len, path, YAML_MAX_BYTES, err))
        return -1;
    return add_file(k, path, text, len, err);
}

int kubeconfig_load(struct kube_access *a, const char *files, bool list, const char *context,
                    struct err *err)
{
    AUTO(kubeconfig_release) struct kubeconfig k = {.files = xcalloc(MAX_FILES, sizeof *k.files)};
    AUTO(auto_free) char *paths = xstrdup(files);
    char *rest = paths, *path;
    struct err missing = {0};

    *a = (struct kube_access){0};
    while ((path = list ? strsep(&rest, ":") : STEAL(rest))) {
        if (!*path)
            continue;
        if (k.n == MAX_FILES)
            return err_set(err, ERR_INVALID, "KUBECONFIG names more than %d files", MAX_FILES);
        if (kubeconfig_read_file(&k, path, &missing) == 0)
            continue;
        if (missing.code != ERR_NOT_FOUND || !list) {
            *err = missing;
            return -1;
        }
    }
    if (!k.n)
        return err_set(err, ERR_NOT_FOUND, "none of the files of KUBECONFIG exists: %.300s", files);
    return kubeconfig_finish(a, &k, context, err);
}
