#include "operator/kube/incluster.h"

#include "operator/kube/secret.h"
#include "paceline/mem.h"

static const char mounted[] = "/var/run/secrets/kubernetes.io/serviceaccount";

bool incluster_offered(void)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");

    return host && *host;
}

static int from_environment(char **server, struct err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    bool bracketed;

    if (!host || !*host || !port || !*port)
        return err_set(err, ERR_NOT_FOUND,
                       "in a pod KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are set; %s "
                       "is not",
                       !host || !*host ? "the first" : "the second");
    if (strlen(port) > 5 || port[strspn(port, "0123456789")] || strtol(port, NULL, 10) < 1 ||
        strtol(port, NULL, 10) > 65535)
        return err_set(err, ERR_INVALID,
                       "KUBERNETES_SERVICE_PORT: found \"%.60s\"; 1 to 65535 is allowed", port);
    bracketed = strchr(host, ':') && *host != '[';
    AUTO(auto_free)
    char *url =
        xasprintf("https://%s%s%s:%s", bracketed ? "[" : "", host, bracketed ? "]" : "", port);
    return server_url(server, url, "KUBERNETES_SERVICE_HOST", err);
}

static struct material in_folder(const char *folder, const char *name)
{
    return (struct material){.file = xasprintf("%s/%s", folder, name),
                             .where = xstrdup("the service account")};
}

/* Absent in a folder that somebody mounted by hand. */
static char *incluster_namespace_of(const char *folder)
{
    AUTO(auto_free) char *path = xasprintf("%s/namespace", folder);
    AUTO(auto_secret) char *text = NULL;
    struct err ignored;
    size_t len;

    if (secret_read_file(&text, &len, path, 256, &ignored))
        return NULL;
    text[strcspn(text, " \t\r\n")] = '\0';
    return *text ? STEAL(text) : NULL;
}

int incluster_load(struct kube_access *a, const char *folder, struct err *err)
{
    AUTO(kube_access_release) struct kube_access found = {0};
    AUTO(auto_secret) char *text = NULL;

    *a = (struct kube_access){0};
    folder = folder ? folder : mounted;
    if (from_environment(&found.server, err))
        return -1;
    found.token = in_folder(folder, "token");
    found.ca = in_folder(folder, "ca.crt");
    if (material_read(&found.token, &text, err))
        return err_wrap(err, "automountServiceAccountToken must not be false");
    found.namespace_ = incluster_namespace_of(folder);
    found.source = xasprintf("the service account in %s", folder);
    kube_access_move(a, &found);
    return 0;
}
