// LINK: operator/kube common
// LIBS: -lcurl -lssl -lcrypto
/* A kubeconfig of any bytes is read or refused with a sentence; so is what an exec plugin prints.
 */
#include <stdint.h>

#include "operator/kube/exec_plugin.h"
#include "operator/kube/kubeconfig.h"
#include "operator/kube/pem.h"
#include "operator/kube/proxy.h"
#include "paceline/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_access(const struct kube_access *a)
{
    struct err err;

    if (!a->server || strncmp(a->server, "http", 4) != 0 || !a->source)
        abort();
    if (!(a->cert.file || a->cert.text) != !(a->key.file || a->key.text))
        abort();
    if (a->ca.text && pem_check_certificates(a->ca.text, "ca", &err) == 0 && !*a->ca.text)
        abort();
    if (a->cert.text && a->key.text)
        (void)!pem_check_pair(a->cert.text, a->key.text, "pair", &err);
    if (a->exec.command) {
        AUTO(auto_free) char *info = exec_info(&a->exec, a->ca.text);

        if (!strstr(info, a->exec.api_version))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char version[] = "client.authentication.k8s.io/v1";
    AUTO(auto_free) char *text = xcalloc(1, size + 1);
    AUTO(kube_access_release) struct kube_access a;
    AUTO(exec_credential_release) struct exec_credential c;
    struct err err = {0};

    if (size)
        memcpy(text, data, size);
    if (kubeconfig_parse(&a, text, size, "/config", NULL, &err) == 0)
        check_access(&a);
    else if (a.server || !err.msg[0])
        abort();
    if (exec_credential_parse(&c, text, size, version, &err) == 0 && !c.token && !c.cert)
        abort();
    (void)proxy_spared(text, "api.example", 6443);
    (void)proxy_spared(text, "10.0.0.1", 6443);
    return 0;
}
