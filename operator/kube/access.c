#include "operator/kube/access.h"

#include <curl/curl.h>

#include "operator/kube/incluster.h"
#include "operator/kube/kubeconfig.h"
#include "operator/kube/secret.h"
#include "paceline/mem.h"

static void material_release(struct material *m)
{
    free(m->file);
    secret_free(m->text);
    free(m->where);
}

static void access_exec_release(struct exec_config *e)
{
    for (size_t i = 0; i < e->n_args; i++)
        free(e->args[i]);
    for (size_t i = 0; i < e->n_env; i++)
        secret_free(e->env[i]);
    free(e->args);
    free(e->env);
    free(e->command);
    free(e->api_version);
    free(e->install_hint);
    free(e->cluster);
}

void kube_access_release(struct kube_access *a)
{
    free(a->server);
    free(a->tls_server_name);
    secret_free(a->proxy_url); /* may hold a password */
    material_release(&a->ca);
    material_release(&a->cert);
    material_release(&a->key);
    material_release(&a->token);
    free(a->username);
    secret_free(a->password);
    access_exec_release(&a->exec);
    free(a->namespace_);
    free(a->source);
    *a = (struct kube_access){0};
}

void kube_access_move(struct kube_access *to, struct kube_access *from)
{
    *to = *from;
    *from = (struct kube_access){0};
}

int kube_access_load(struct kube_access *a, const char *kubeconfig, const char *context,
                     struct err *err)
{
    const char *files = kubeconfig ? kubeconfig : getenv("KUBECONFIG");
    const char *home = getenv("HOME");
    AUTO(auto_free) char *standard = NULL;

    if (files && *files)
        return kubeconfig_load(a, files, !kubeconfig, context, err);
    if (incluster_offered())
        return incluster_load(a, NULL, err);
    standard = xasprintf("%s/.kube/config", home && *home ? home : "");
    if (kubeconfig_load(a, standard, false, context, err) == 0)
        return 0;
    if (err->code != ERR_NOT_FOUND)
        return -1;
    return err_set(err, ERR_NOT_FOUND,
                   "no way to a Kubernetes API: KUBECONFIG is not set, this is no pod "
                   "(KUBERNETES_SERVICE_HOST is not set), and there is no %s",
                   standard);
}

int material_read(const struct material *m, char **out, struct err *err)
{
    AUTO(auto_secret) char *text = NULL;
    size_t len;

    *out = NULL;
    if (!m->file) {
        *out = m->text ? xstrdup(m->text) : NULL;
        return 0;
    }
    if (secret_read_file(&text, &len, m->file, MATERIAL_MAX, err))
        return err_wrap(err, "%s", m->where);
    *out = STEAL(text);
    return 0;
}

static void access_auto_curlu(CURLU **u) { curl_url_cleanup(*u); }
static void access_auto_curl_free(char **s) { curl_free(*s); }

static char *part_of(CURLU *u, CURLUPart part)
{
    char *text = NULL;

    return curl_url_get(u, part, &text, 0) ? NULL : text;
}

int server_url(char **out, const char *url, const char *where, struct err *err)
{
    AUTO(access_auto_curlu) CURLU *u = curl_url();
    AUTO(auto_free) char *full = xasprintf("%s%s", strstr(url, "://") ? "" : "https://", url);
    AUTO(access_auto_curl_free) char *text = NULL, *scheme = NULL, *user = NULL, *query = NULL;
    AUTO(access_auto_curl_free) char *fragment = NULL;
    size_t len;

    if (!u || curl_url_set(u, CURLUPART_URL, full, CURLU_NON_SUPPORT_SCHEME) ||
        strpbrk(full, " \t\r\n"))
        return err_set(err, ERR_INVALID, "%s: found \"%.200s\"; \"https://HOST:PORT\" is expected",
                       where, url);
    scheme = part_of(u, CURLUPART_SCHEME);
    user = part_of(u, CURLUPART_USER);
    query = part_of(u, CURLUPART_QUERY);
    fragment = part_of(u, CURLUPART_FRAGMENT);
    if (!scheme || (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0) || user || query ||
        fragment)
        return err_set(err, ERR_INVALID,
                       "%s: a URL with http or https, a host, a port and a path is allowed, and "
                       "no user, query or fragment",
                       where);
    if (!(text = part_of(u, CURLUPART_URL)))
        return err_set(err, ERR_INVALID, "%s: the URL is not complete", where);
    len = strlen(text);
    while (len && text[len - 1] == '/')
        len--;
    *out = xasprintf("%.*s", (int)len, text);
    return 0;
}
