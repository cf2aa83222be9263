// LINK: operator/kube common
// LIBS: -lcurl -lssl -lcrypto
/* kubeconfig files: what is read, which file wins, and the sentence for what is wrong. */
#include "operator/kube/kubeconfig.h"
#include "operator/kube/secret.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

static const char full[] = "apiVersion: v1\n"
                           "kind: Config\n"
                           "preferences: {}\n"
                           "current-context: one\n"
                           "contexts:\n"
                           "- name: one\n"
                           "  context: {cluster: home, user: me, namespace: team}\n"
                           "- name: two\n"
                           "  context: {cluster: away, user: robot}\n"
                           "clusters:\n"
                           "- name: home\n"
                           "  cluster:\n"
                           "    server: https://10.0.0.1:6443/\n"
                           "    certificate-authority-data: aGVsbG8=\n"
                           "    certificate-authority: ignored.crt\n"
                           "    tls-server-name: kubernetes\n"
                           "    proxy-url: socks5://p:1080\n"
                           "- name: away\n"
                           "  cluster: {server: away.example, insecure-skip-tls-verify: true}\n"
                           "users:\n"
                           "- name: me\n"
                           "  user:\n"
                           "    client-certificate: certs/me.crt\n"
                           "    client-key: /abs/me.key\n"
                           "    token: fixed\n"
                           "    tokenFile: rotating\n"
                           "- name: robot\n"
                           "  user:\n"
                           "    exec:\n"
                           "      apiVersion: client.authentication.k8s.io/v1beta1\n"
                           "      command: bin/login\n"
                           "      args: [--now, '']\n"
                           "      env: [{name: A, value: b}, {name: C}]\n"
                           "      installHint: get it\n"
                           "      provideClusterInfo: true\n";

static void test_full(void)
{
    AUTO(kube_access_release) struct kube_access a, b;
    struct err err = {0};

    CHECK_INT(kubeconfig_parse(&a, full, strlen(full), "/etc/kube/config", NULL, &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_STR(a.server, "https://10.0.0.1:6443");
    CHECK_STR(a.ca.text, "hello");
    CHECK(a.ca.file == NULL);
    CHECK_STR(a.tls_server_name, "kubernetes");
    CHECK_STR(a.proxy_url, "socks5://p:1080");
    CHECK_STR(a.cert.file, "/etc/kube/certs/me.crt");
    CHECK_STR(a.key.file, "/abs/me.key");
    CHECK_STR(a.token.file, "/etc/kube/rotating");
    CHECK(a.token.text == NULL);
    CHECK_STR(a.namespace_, "team");
    CHECK_STR(a.source, "context one of /etc/kube/config");
    CHECK(!a.insecure);
    CHECK_INT(kubeconfig_parse(&b, full, strlen(full), "config", "two", &err), 0);
    CHECK_STR(b.server, "https://away.example");
    CHECK(b.insecure);
    CHECK_STR(b.exec.command, "bin/login"); /* the folder of "config" is ours */
    CHECK_INT(b.exec.n_args, 2);
    CHECK_STR(b.exec.args[0], "--now");
    CHECK_STR(b.exec.args[1], "");
    CHECK_STR(b.exec.env[0], "A=b");
    CHECK_STR(b.exec.env[1], "C=");
    CHECK_STR(b.exec.install_hint, "get it");
    CHECK_CONTAINS(b.exec.cluster, "\"insecure-skip-tls-verify\":true");
    CHECK(b.namespace_ == NULL);
}

/* A kubeconfig with one context; %s are further fields of the cluster and the user. */
static int parse(struct kube_access *a, const char *cluster, const char *user, struct err *err)
{
    AUTO(auto_free)
    char *text = xasprintf("current-context: c\n"
                           "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                           "clusters:\n- name: k\n  cluster: {%s}\n"
                           "users:\n- name: u\n  user: {%s}\n",
                           cluster, user);

    return kubeconfig_parse(a, text, strlen(text), "f", NULL, err);
}

static void test_refused(void)
{
#define SERVER "server: 'https://h'"
#define EXEC_V1 "apiVersion: client.authentication.k8s.io/v1"
    static const struct {
        const char *cluster, *user, *message;
    } cases[] = {
        {"", "", "f:5: cluster \"k\": server is missing"},
        {"server: [a]", "", "f:5: cluster \"k\": server is a list; text is allowed"},
        {"server: 'ftp://h'", "", "f:5: cluster \"k\": server: a URL with http or https"},
        {SERVER ", insecure-skip-tls-verify: 'no'", "",
         "insecure-skip-tls-verify is text; true or false is allowed"},
        {SERVER ", insecure-skip-tls-verify: true, certificate-authority: x", "",
         "exclude each other"},
        {SERVER ", certificate-authority-data: '*'", "",
         "certificate-authority-data is not text in base64"},
        {SERVER ", certificate-authority-data: AAAA", "", "not text in base64"},
        {SERVER ", proxy-url: 'ssh://x'", "", "proxy-url begins with http://"},
        {SERVER, "token: 12345", "f:8: user \"u\": token is a number; text is allowed, in quotes"},
        {SERVER, "token: a, username: b", "more than one of token, username and exec"},
        {SERVER, "password: b", "password stands without username"},
        {SERVER, "username: 'a:b'", "username holds a colon"},
        {SERVER, "client-key: x", "given together or not at all"},
        {SERVER, "client-certificate: x", "given together or not at all"},
        {SERVER, "auth-provider: {name: gcp}", "auth-provider was removed from Kubernetes"},
        {SERVER, "as: admin", "as is not supported"},
        {SERVER, "as-groups: [a]", "as-groups is not supported"},
        {SERVER, "exec: login", "exec is no mapping"},
        {SERVER, "exec: {" EXEC_V1 "}", "exec.command is missing"},
        {SERVER, "exec: {command: x}", "exec.apiVersion is \"\""},
        {SERVER, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}",
         "v1beta1 is allowed"},
        {SERVER, "exec: {command: x, " EXEC_V1 "}", "exec.interactiveMode is missing"},
        {SERVER, "exec: {command: x, " EXEC_V1 ", interactiveMode: Always}",
         "there is no terminal"},
        {SERVER, "exec: {command: x, " EXEC_V1 ", interactiveMode: never}",
         "is \"never\"; Never or IfAvailable"},
        {SERVER, "exec: {command: x, " EXEC_V1 ", interactiveMode: Never, args: [1]}",
         "exec.args holds what is no text"},
        {SERVER, "exec: {command: x, " EXEC_V1 ", interactiveMode: Never, env: [{value: 'x'}]}",
         "an entry of exec.env has no name"},
        {SERVER, "exec: {command: x, " EXEC_V1 ", interactiveMode: Never}, token: t",
         "more than one of token, username and exec"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(kube_access_release) struct kube_access a;
        struct err err = {0};

        CHECK_INT(parse(&a, cases[i].cluster, cases[i].user, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_CONTAINS(err.msg, cases[i].message);
        CHECK(a.server == NULL);
    }
}

static void test_broken_files(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "f: no current-context is set"},
        {"[]", "f: found a list; a kubeconfig is a mapping"},
        {"a: b: c", "not valid YAML"},
        {"current-context: x", "f: current-context names the context \"x\", which is not there"},
        {"current-context: [x]", "current-context is a list"},
        {"current-context: x\ncontexts: {}", "contexts is a mapping; a list is allowed"},
        {"current-context: x\ncontexts: [x]", "f:2: context \"x\": found text in the list"},
        {"current-context: x\ncontexts: [{name: x, context: y}]", "context is text; a mapping"},
        {"current-context: x\ncontexts: [{name: x}]", "cluster is missing"},
        {"current-context: x\ncontexts: [{name: x}, {name: x}]", "the name stands twice"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: k}}]",
         "f: context \"x\" names the cluster \"k\", which is not there"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(kube_access_release) struct kube_access a;
        struct err err = {0};

        CHECK_INT(kubeconfig_parse(&a, cases[i].text, strlen(cases[i].text), "f", NULL, &err), -1);
        CHECK_CONTAINS(err.msg, cases[i].message);
    }
}

/* The first file that has an entry, and the first that has a current-context, win. */
static void test_several_files(void)
{
    static const char first[] = "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                "users: [{name: u, user: {token: first, tokenFile: mine}}]\n";
    static const char second[] = "current-context: c\n"
                                 "clusters: [{name: k, cluster: {server: 'https://second'}}]\n"
                                 "users: [{name: u, user: {token: second}}]\n";
    static const char third[] = "current-context: d\n"
                                "clusters: [{name: k, cluster: {server: 'https://third'}}]\n";
    char *folder = scratch_make();
    AUTO(auto_free)
    char *list = xasprintf("%s/none::%s/1:%s/2:%s/3", folder, folder, folder, folder);
    AUTO(auto_free) char *token = xasprintf("%s/mine", folder);
    AUTO(auto_free) char *none = xasprintf("%s/none:%s/neither", folder, folder);
    AUTO(kube_access_release) struct kube_access a, b, c, d;
    struct err err = {0};

    scratch_write(folder, "1", first, strlen(first));
    scratch_write(folder, "2", second, strlen(second));
    scratch_write(folder, "3", third, strlen(third));
    CHECK_INT(kubeconfig_load(&a, list, true, NULL, &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_STR(a.server, "https://second");
    CHECK_STR(a.token.file, token);
    CHECK_INT(kubeconfig_load(&b, none, true, NULL, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    setenv("KUBECONFIG", list, 1);
    CHECK_INT(kube_access_load(&c, NULL, "nobody", &err), -1);
    CHECK_CONTAINS(err.msg, "the caller names the context \"nobody\"");
    CHECK_INT(kube_access_load(&c, NULL, NULL, &err), 0);
    CHECK_STR(c.server, "https://second");
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    setenv("HOME", folder, 1);
    CHECK_INT(kube_access_load(&d, NULL, NULL, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_CONTAINS(err.msg, "no way to a Kubernetes API");
    CHECK_INT(kube_access_load(&d, list, NULL, &err), -1); /* one file, though it has a colon */
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_CONTAINS(err.msg, "/3: No such file");
    scratch_remove(folder);
}

int main(void)
{
    test_full();
    test_refused();
    test_broken_files();
    test_several_files();
    return test_result();
}
