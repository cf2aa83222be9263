// LINK: operator/kube common
// LIBS: -lcurl -lssl -lcrypto
// TIMEOUT: 120
/* The client's credentials, the servers that it trusts, and the proxy that it uses. */
#include "operator/kube/incluster.h"
#include "tests/unit/kube_fake.h"

static void write_text(const struct fake *f, const char *name, const char *text)
{
    scratch_write(f->folder, name, text, strlen(text));
}

/* Puts a new file in the place of the old, as the kubelet does. */
static void replace_text(const struct fake *f, const char *name, const char *text)
{
    AUTO(auto_free) char *fresh = xasprintf("%s/%s.new", f->folder, name);
    AUTO(auto_free) char *path = xasprintf("%s/%s", f->folder, name);
    AUTO(auto_free) char *fresh_name = xasprintf("%s.new", name);

    write_text(f, fresh_name, text);
    CHECK_INT(rename(fresh, path), 0);
}

static struct kube_client *client_of(const struct fake *f, int port, const char *cluster,
                                     const char *user, int64_t check_ms)
{
    const struct kube_client_config config = {.check_ms = check_ms, .exec_ms = 5000};
    AUTO(auto_free)
    char *fields = xasprintf("server: 'https://127.0.0.1:%d', certificate-authority: ca.crt%s%s",
                             port, *cluster ? ", " : "", cluster);

    return fake_client(f, fields, user, &config);
}

static struct kube_client *user_client(const struct fake *f, const char *user)
{
    return client_of(f, f->https, "", user, 0);
}

/* Sets the credentials that the server wants from now on, by a client of its own. */
static void set_token(const struct fake *f, const char *authorization)
{
    AUTO(auto_client) struct kube_client *client = user_client(f, "");
    AUTO(answer_release) struct fake_answer a = request(client, KUBE_POST, "/token", authorization);

    CHECK_INT(a.status, 200);
}

static void test_basic(const struct fake *f)
{
    AUTO(auto_client)
    struct kube_client *client = user_client(f, "username: Aladdin, password: 'open sesame'");
    AUTO(answer_release) struct fake_answer a = get(client, "/show");

    CHECK_FIELD(&a, "authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

static void test_token_file(const struct fake *f)
{
    write_text(f, "token", "first\n");
    set_token(f, "Bearer first");
    AUTO(auto_client) struct kube_client *client = user_client(f, "tokenFile: token");
    AUTO(answer_release) struct fake_answer a = get(client, "/guarded"), b, c, d, w;

    CHECK_INT(a.status, 200);
    set_token(f, "Bearer second");
    b = get(client, "/guarded");
    CHECK_INT(b.status, 401); /* the file is as it was */
    CHECK_INT(kube_client_stats(client).retries, 0);
    replace_text(f, "token", "second\n");
    c = request(client, KUBE_POST, "/guarded", "{\"a\":1}");
    CHECK_INT(c.status, 200);
    CHECK_FIELD(&c, "body", "{\"a\":1}");
    CHECK_INT(kube_client_stats(client).retries, 1);
    set_token(f, "Bearer third");
    replace_text(f, "token", "third");
    w = watch(client, "/guarded?watch=1");
    CHECK_INT(w.status, 200);
    CHECK_STR(w.lines.data, "welcome\n");
    set_token(f, "Bearer fourth");
    replace_text(f, "token", "");
    d = get(client, "/guarded"); /* an empty file is no new token */
    CHECK_INT(d.status, 401);
}

/* Many requests meet the 401 at once: each is repeated once, the file is read once. */
static void test_rotation_in_parallel(const struct fake *f)
{
    enum { N = 100 };
    struct fake_answer answers[N];

    write_text(f, "token", "old");
    set_token(f, "Bearer old");
    AUTO(auto_client) struct kube_client *client = user_client(f, "tokenFile: token");
    AUTO(answer_release) struct fake_answer a = get(client, "/guarded");
    CHECK_INT(a.status, 200);
    set_token(f, "Bearer new");
    replace_text(f, "token", "new");
    for (int i = 0; i < N; i++)
        begin(client, &answers[i], KUBE_POST, "/guarded", "{}");
    for (int i = 0; i < N; i++) {
        wait_done(client, &answers[i]);
        CHECK_INT(answers[i].status, 200);
        answer_release(&answers[i]);
    }
    CHECK(kube_client_stats(client).retries <= 64);
}

/* Without any 401: the file is looked at now and then. */
static void test_token_renewed(const struct fake *f)
{
    write_text(f, "token", "one");
    AUTO(auto_client)
    struct kube_client *client = client_of(f, f->https, "", "tokenFile: token", 1);
    AUTO(answer_release) struct fake_answer a = get(client, "/show"), b;

    CHECK_FIELD(&a, "authorization", "Bearer one");
    replace_text(f, "token", "two");
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    b = get(client, "/show");
    CHECK_FIELD(&b, "authorization", "Bearer two");
}

static void copy(const struct fake *f, const char *from, const char *to)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", f->folder, from);
    AUTO(buf_release) struct buf text;
    struct err err;

    CHECK_INT(buf_read_file(&text, path, 100000, &err), 0);
    replace_text(f, to, text.data);
}

/* A certificate that is replaced is used by new connections, once its key is there too. */
static void test_client_certificate(const struct fake *f)
{
    copy(f, "client.crt", "my.crt");
    copy(f, "client.key", "my.key");
    AUTO(auto_client)
    struct kube_client *client =
        client_of(f, f->https, "", "client-certificate: my.crt, client-key: my.key", 1);
    AUTO(answer_release) struct fake_answer a = get(client, "/show"), b, c;

    CHECK_FIELD(&a, "certificate", "client");
    copy(f, "second.crt", "my.crt");
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    b = get(client, "/show");
    CHECK_FIELD(&b, "certificate", "client");
    copy(f, "second.key", "my.key");
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    c = get(client, "/show");
    CHECK_FIELD(&c, "certificate", "second client");
}

static void test_whom_we_believe(const struct fake *f)
{
    AUTO(auto_free)
    char *stranger =
        xasprintf("server: 'https://127.0.0.1:%d', certificate-authority: stranger.crt", f->https);
    AUTO(auto_free) char *none = xasprintf("server: 'https://127.0.0.1:%d'", f->https);
    AUTO(auto_free)
    char *any =
        xasprintf("server: 'https://127.0.0.1:%d', insecure-skip-tls-verify: true", f->other);
    AUTO(auto_client) struct kube_client *wrong = fake_client(f, stranger, "token: secret", NULL);
    AUTO(auto_client) struct kube_client *system = fake_client(f, none, "token: secret", NULL);
    AUTO(auto_client) struct kube_client *host = client_of(f, f->other, "", "token: secret", 0);
    AUTO(auto_client)
    struct kube_client *named =
        client_of(f, f->other, "tls-server-name: other.example", "token: secret", 0);
    AUTO(auto_client) struct kube_client *trusting = fake_client(f, any, "", NULL);
    AUTO(answer_release) struct fake_answer a = get(wrong, "/show"), b = get(system, "/show");
    AUTO(answer_release) struct fake_answer c = get(host, "/show"), d = get(named, "/show");
    AUTO(answer_release) struct fake_answer e = get(trusting, "/show");
    AUTO(auto_free) char *where = xasprintf("https://127.0.0.1:%d/show: ", f->https);

    CHECK_INT(a.status, 0);
    CHECK_CONTAINS(a.error, where);
    CHECK_CONTAINS(a.error, "certificate was refused");
    CHECK_CONTAINS(a.error, "certificate-authority of cluster \"k\"");
    CHECK(strstr(a.error, "secret") == NULL);
    CHECK_INT(b.status, 0);
    CHECK_CONTAINS(b.error, "the CA is the system's");
    CHECK_INT(c.status, 0);
    CHECK_CONTAINS(c.error, "127.0.0.1");
    CHECK_CONTAINS(c.error, "certificate was refused");
    CHECK_INT(d.status, 200);
    CHECK_CONTAINS(d.body, "127.0.0.1"); /* the Host header stays true */
    CHECK_INT(e.status, 200);
}

static void test_new_ca(const struct fake *f)
{
    copy(f, "stranger.crt", "my-ca.crt");
    AUTO(auto_free)
    char *cluster =
        xasprintf("server: 'https://127.0.0.1:%d', certificate-authority: my-ca.crt", f->https);
    AUTO(auto_client) struct kube_client *client = fake_client(f, cluster, "", NULL);
    AUTO(answer_release) struct fake_answer a = get(client, "/show"), b;

    CHECK_INT(a.status, 0);
    copy(f, "ca.crt", "my-ca.crt");
    b = get(client, "/show"); /* at once: the refusal makes it look again */
    CHECK_INT(b.status, 200);
}

/* Over plain HTTP, nothing secret. */
static void test_plain_http(const struct fake *f)
{
    AUTO(auto_free) char *cluster = xasprintf("server: 'http://127.0.0.1:%d'", f->http);
    AUTO(auto_client) struct kube_client *client = fake_client(f, cluster, "token: abc", NULL);
    AUTO(answer_release) struct fake_answer a = get(client, "/show");

    CHECK_INT(a.status, 200);
    CHECK_FIELD(&a, "authorization", "absent");
}

static void test_refused_connection(const struct fake *f)
{
    AUTO(auto_client)
    struct kube_client *client = fake_client(f, "server: 'https://127.0.0.1:1'", "", NULL);
    AUTO(answer_release) struct fake_answer a = get(client, "/api?limit=1");

    CHECK_INT(a.status, 0);
    CHECK_CONTAINS(a.error, "GET https://127.0.0.1:1/api: ");
    CHECK_CONTAINS(a.error, "connect");
}

static void test_proxy(const struct fake *f)
{
    AUTO(auto_free) char *by_field = xasprintf("proxy-url: 'http://u:p@127.0.0.1:%d'", f->proxy);
    AUTO(auto_client)
    struct kube_client *client = client_of(f, f->https, by_field, "token: secret", 0);
    AUTO(auto_free)
    char *named = xasprintf("server: 'https://api.example:%d', "
                            "certificate-authority: ca.crt",
                            f->https);
    AUTO(auto_free) char *proxy = xasprintf("http://127.0.0.1:%d", f->proxy);
    AUTO(answer_release) struct fake_answer a = get(client, "/show"), state = get(client, "/state");
    AUTO(answer_release) struct fake_answer b, after;

    CHECK_INT(a.status, 200);
    CHECK_FIELD(&a, "authorization", "Bearer secret");
    CHECK_FIELD(&a, "proxy-authorization", "absent");
    CHECK_FIELD(&state, "proxied", "1");
    CHECK_CONTAINS(state.body, "CONNECT 127.0.0.1:");
    CHECK_CONTAINS(state.body, "dTpw"); /* u:p */
    CHECK(strstr(state.body, "Bearer secret") == NULL);
    setenv("HTTPS_PROXY", proxy, 1);
    AUTO(auto_client) struct kube_client *by_environment = fake_client(f, named, "", NULL);
    AUTO(auto_client) struct kube_client *loopback = user_client(f, "");
    unsetenv("HTTPS_PROXY");
    b = get(by_environment, "/show");
    CHECK_INT(b.status, 200);
    after = get(loopback, "/state"); /* loopback has no proxy */
    CHECK_FIELD(&after, "proxied", "2");
}

static void write_script(const struct fake *f, const char *name, const char *text)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", f->folder, name);

    write_text(f, name, text);
    CHECK_INT(chmod(path, 0755), 0);
}

#define EXEC(more)                                                            \
    "exec: {command: ./plugin, apiVersion: client.authentication.k8s.io/v1, " \
    "interactiveMode: Never" more "}"

/* Prints what the file `credential` holds and counts its runs. */
static const char plugin[] = "#!/bin/sh\n"
                             "cd \"$(dirname \"$0\")\" || exit\n"
                             "echo run >>runs\n"
                             "echo \"$KUBERNETES_EXEC_INFO\" >info\n"
                             "echo \"$1-$COLOUR-$SHAPE\" >arguments\n"
                             "cat credential\n";
static const char head[] =
    "\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"";

static void set_credential(const struct fake *f, const char *status)
{
    AUTO(auto_free) char *text = xasprintf("{%s,\"status\":{%s}}\n", head, status);

    write_text(f, "credential", text);
}

static void check_file(const struct fake *f, const char *name, const char *want)
{
    AUTO(auto_free) char *path = xasprintf("%s/%s", f->folder, name);
    AUTO(buf_release) struct buf text;
    struct err err;

    CHECK_INT(buf_read_file(&text, path, 100000, &err), 0);
    CHECK_CONTAINS(text.data, want);
}

static int count_runs(const struct fake *f)
{
    AUTO(auto_free) char *path = xasprintf("%s/runs", f->folder);
    AUTO(buf_release) struct buf text;
    struct err err;

    CHECK_INT(buf_read_file(&text, path, 100000, &err), 0);
    return (int)text.len / 4;
}

static void test_exec(const struct fake *f)
{
    setenv("SHAPE", "round", 1);
    setenv("COLOUR", "blue", 1); /* the kubeconfig's wins */
    write_script(f, "plugin", plugin);
    set_credential(f, "\"token\":\"t1\"");
    write_text(f, "runs", "");
    set_token(f, "Bearer t1");
    AUTO(auto_client)
    struct kube_client *client = client_of(
        f, f->https,
        "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: us}}]",
        EXEC(", args: ['x y'], env: [{name: COLOUR, value: red}], provideClusterInfo: true"), 50);
    AUTO(answer_release)
    struct fake_answer a = get(client, "/guarded"), b = get(client, "/guarded");
    AUTO(answer_release) struct fake_answer c, d;

    CHECK_INT(a.status, 200);
    CHECK_INT(b.status, 200);
    CHECK_INT(count_runs(f), 1); /* for both */
    check_file(f, "arguments", "x y-red-round\n");
    check_file(f, "info", "\"config\":{\"audience\":\"us\"}");
    check_file(f, "info", "\"interactive\":false");
    check_file(f, "info", "\"certificate-authority-data\":\"LS0tLS1CRUdJTi");
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    set_token(f, "Bearer t2");
    set_credential(f, "\"token\":\"t2\"");
    c = get(client, "/guarded"); /* 401 makes it run again */
    CHECK_INT(c.status, 200);
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    set_token(f, "Bearer t3");
    d = get(client, "/guarded");
    CHECK_INT(d.status, 401); /* asked once more, and it knew no better */
    CHECK_INT(kube_client_stats(client).retries, 2);
}

/* A slow plugin, a new token each time: many requests refused at once are one run, and a server
 * that refuses every token is asked twice. */
static void test_exec_refused(const struct fake *f)
{
    enum { N = 20 };
    struct fake_answer answers[N];

    write_script(f, "plugin",
                 "#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit\necho run >>runs\nsleep 0.1\n"
                 "n=$(wc -l <runs)\nsed \"s/NUMBER/$n/\" credential\n");
    set_credential(f, "\"token\":\"tNUMBER\"");
    write_text(f, "runs", "");
    set_token(f, "Bearer t1");
    AUTO(auto_client) struct kube_client *client = client_of(f, f->https, "", EXEC(""), 50);
    AUTO(answer_release) struct fake_answer a = get(client, "/guarded"), b;
    CHECK_INT(a.status, 200);
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    set_token(f, "Bearer t2");
    for (int i = 0; i < N; i++)
        begin(client, &answers[i], KUBE_GET, i ? "/guarded" : "/guarded-later", NULL);
    for (int i = 0; i < N; i++) {
        wait_done(client, &answers[i]);
        CHECK_INT(answers[i].status, 200);
        answer_release(&answers[i]);
    }
    CHECK_INT(count_runs(f), 2);
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    set_token(f, "Bearer none");
    b = get(client, "/guarded");
    CHECK_INT(b.status, 401);
    CHECK_INT(count_runs(f), 3);
}

static void test_exec_expires(const struct fake *f)
{
    char status[200], stamp[40];
    const time_t soon = time(NULL) + 4; /* until then two answers have come */
    struct tm utc;

    gmtime_r(&soon, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(status, sizeof status, "\"token\":\"short\",\"expirationTimestamp\":\"%s\"", stamp);
    write_script(f, "plugin", plugin);
    set_credential(f, status);
    AUTO(auto_client) struct kube_client *client = client_of(f, f->https, "", EXEC(""), 50);
    AUTO(answer_release) struct fake_answer a = get(client, "/show"), b, c;

    CHECK_FIELD(&a, "authorization", "Bearer short");
    set_credential(f, "\"token\":\"long\"");
    b = get(client, "/show");
    CHECK_FIELD(&b, "authorization", "Bearer short"); /* still good */
    while (time(NULL) <= soon)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    c = get(client, "/show");
    CHECK_FIELD(&c, "authorization", "Bearer long");
}

static void test_exec_certificate(const struct fake *f)
{
    AUTO(auto_json) cJSON *status = cJSON_CreateObject();
    AUTO(buf_release) struct buf crt, key, text;
    AUTO(auto_free) char *crt_path = xasprintf("%s/client.crt", f->folder);
    AUTO(auto_free) char *key_path = xasprintf("%s/client.key", f->folder);
    struct err err;

    CHECK_INT(buf_read_file(&crt, crt_path, 100000, &err), 0);
    CHECK_INT(buf_read_file(&key, key_path, 100000, &err), 0);
    cJSON_AddStringToObject(status, "clientCertificateData", crt.data);
    cJSON_AddStringToObject(status, "clientKeyData", key.data);
    buf_init(&text, 0);
    json_print(status, 0, &text);
    text.data[text.len - 1] = '\0'; /* without its braces */
    write_script(f, "plugin", plugin);
    set_credential(f, text.data + 1);
    AUTO(auto_client) struct kube_client *client = user_client(f, EXEC(""));
    AUTO(answer_release) struct fake_answer a = get(client, "/show");
    CHECK_FIELD(&a, "certificate", "client");
}

static void test_exec_fails(const struct fake *f)
{
    static const struct {
        const char *script, *message;
    } cases[] = {
        {"#!/bin/sh\necho first >&2; echo 'log in first' >&2; exit 3\n",
         "failed with exit code 3: log in first"},
        {"#!/bin/sh\nkill -9 $$\n", "was ended by signal 9"},
        {"#!/bin/sh\necho token\n", "its output:1: not valid JSON"},
        {"#!/bin/sh\nhead -c 300000 /dev/zero\n", "printed more than 262144 bytes"},
        {"#!/bin/sh\nyes | head -c 100000 >&2; echo the end >&2; exit 4\n", "exit code 4: the end"},
        {"#!/bin/sh\nexec yes >&2\n", "gave no answer within 300 ms"},
        {"#!/bin/sh\nexec sleep 20\n", "gave no answer within 300 ms"},
        {"#!/bin/sh\nsleep 20 &\nexit 0\n", "gave no answer within 300 ms"},
        {"#!/nowhere/at/all\n", "could not be started: No such file or directory; buy it"},
    };
    const struct kube_client_config config = {.exec_ms = 300, .check_ms = 60000};
    AUTO(auto_free)
    char *cluster =
        xasprintf("server: 'https://127.0.0.1:%d', certificate-authority: ca.crt", f->https);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        write_script(f, "plugin", cases[i].script);
        AUTO(auto_client)
        struct kube_client *client =
            fake_client(f, cluster, EXEC(", installHint: buy it"), &config);
        AUTO(answer_release) struct fake_answer a = get(client, "/show"), b = get(client, "/show");
        AUTO(answer_release) struct fake_answer w = watch(client, "/show");

        CHECK_INT(a.status, 0);
        CHECK_CONTAINS(a.error, cases[i].message);
        CHECK_STR(b.error, a.error); /* at once: it is not run again so soon */
        CHECK_STR(w.error, a.error);
    }
}

/* While a plugin takes its time to renew a token that is still good, requests go on. */
static void test_exec_does_not_block(const struct fake *f)
{
    char status[200], stamp[40];
    time_t soon = time(NULL) + 30;
    struct tm utc;
    int64_t start;

    gmtime_r(&soon, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(status, sizeof status, "\"token\":\"good\",\"expirationTimestamp\":\"%s\"", stamp);
    write_script(f, "plugin",
                 "#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit\n"
                 "[ ! -e slow ] || sleep 4\ncat credential\n");
    set_credential(f, status);
    AUTO(auto_client) struct kube_client *client = client_of(f, f->https, "", EXEC(""), 50);
    AUTO(answer_release) struct fake_answer a = get(client, "/show"), b;
    write_text(f, "slow", "");
    start = now_ms();
    for (int i = 0; i < 50; i++) {
        b = get(client, "/show");
        CHECK_INT(b.status, 200);
        answer_release(&b);
    }
    CHECK(now_ms() - start < 3000);
    b = get(client, "/show");
    CHECK_INT(a.status, 200);
}

static void test_in_cluster(const struct fake *f)
{
    AUTO(auto_free) char *port = xasprintf("%d", f->https);
    AUTO(auto_free) char *namespace_ = xasprintf("%s/namespace", f->folder);
    struct kube_client *client = NULL;
    struct kube_access access;
    struct err err = {0};

    write_text(f, "token", "sa-token\n");
    write_text(f, "namespace", "team-a");
    unsetenv("KUBERNETES_SERVICE_HOST");
    CHECK(!incluster_offered());
    CHECK_INT(incluster_load(&access, f->folder, &err), -1);
    CHECK_CONTAINS(err.msg, "KUBERNETES_SERVICE_HOST");
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "6443", 1);
    CHECK(incluster_offered());
    CHECK_INT(incluster_load(&access, f->folder, &err), 0);
    CHECK_STR(access.server, "https://[fd00::1]:6443");
    CHECK_STR(access.namespace_, "team-a");
    kube_access_release(&access);
    setenv("KUBERNETES_SERVICE_PORT", "6443x", 1);
    CHECK_INT(incluster_load(&access, f->folder, &err), -1);
    CHECK_CONTAINS(err.msg, "KUBERNETES_SERVICE_PORT");
    setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", port, 1);
    CHECK_INT(incluster_load(&access, "/nowhere", &err), -1);
    CHECK_CONTAINS(err.msg, "/nowhere/token");
    CHECK_INT(unlink(namespace_), 0);
    CHECK_INT(incluster_load(&access, f->folder, &err), 0);
    CHECK(access.namespace_ == NULL);
    CHECK_INT(kube_client_new(&client, &access, NULL, &err), 0);
    AUTO(answer_release) struct fake_answer a = get(client, "/show");
    CHECK_FIELD(&a, "authorization", "Bearer sa-token");
    kube_client_free(client);
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
}

static void test_bad_material(const struct fake *f)
{
    static const struct {
        const char *user, *message;
    } cases[] = {
        {"tokenFile: nowhere", "nowhere: No such file"},
        {"tokenFile: empty", "the token is empty"},
        {"token: \"two\\r\\nlines\"", "no header can carry"},
        {"client-certificate: ca.crt, client-key: client.key", "the key does not belong"},
        {"client-certificate: client.key, client-key: client.key", "holds no certificate"},
        {"client-certificate: client.crt, client-key: client.crt", "the key cannot be read"},
    };

    write_text(f, "empty", "\n");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_free)
        char *text = xasprintf("current-context: c\n"
                               "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                               "clusters: [{name: k, cluster: {server: 'https://x'}}]\n"
                               "users: [{name: u, user: {%s}}]\n",
                               cases[i].user);
        AUTO(auto_free) char *name = xasprintf("%s/config", f->folder);
        struct kube_client *client = NULL;
        struct kube_access access;
        struct err err = {0};

        CHECK_INT(kubeconfig_parse(&access, text, strlen(text), name, NULL, &err), 0);
        CHECK_INT(kube_client_new(&client, &access, NULL, &err), -1);
        CHECK_CONTAINS(err.msg, cases[i].message);
        CHECK_CONTAINS(err.msg, "user \"u\" in ");
        CHECK(access.server == NULL);
    }
}

int main(void)
{
    static const char *const variables[] = {"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"};
    struct fake f;

    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        unsetenv(variables[i]);
    fake_start(&f);
    test_basic(&f);
    test_token_file(&f);
    test_rotation_in_parallel(&f);
    test_token_renewed(&f);
    test_client_certificate(&f);
    test_whom_we_believe(&f);
    test_new_ca(&f);
    test_plain_http(&f);
    test_refused_connection(&f);
    test_proxy(&f);
    test_exec(&f);
    test_exec_refused(&f);
    test_exec_expires(&f);
    test_exec_certificate(&f);
    test_exec_fails(&f);
    test_exec_does_not_block(&f);
    test_in_cluster(&f);
    test_bad_material(&f);
    fake_stop(&f);
    return test_result();
}
