// LINK: operator/kube common
// LIBS: -lcurl -lssl -lcrypto
/* The small parts of the client: base64, Retry-After, proxies of the environment, URLs, plugins'
 * answers. */
#include "operator/kube/exec_plugin.h"
#include "operator/kube/proxy.h"
#include "operator/kube/retry_after.h"
#include "operator/kube/secret.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

/* RFC 4648, section 10, and what is not base64. */
static void test_base64(void)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    static const char *const wrong[] = {"Z",    "Zg",       "Zg=",   "Zg===",  "Z===",
                                        "=",    "Zg==Z",    "Zm9v=", "Zm 9v",  "Zm9-",
                                        "====", "Zm8=Zg==", "Zm9vZ", "Zm9v==", "Zg=\n"};

    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        AUTO(auto_free) char *coded = base64_encode(pairs[i][0], strlen(pairs[i][0]));
        AUTO(auto_free) char *plain = NULL;
        size_t len = 99;

        CHECK_STR(coded, pairs[i][1]);
        CHECK_INT(base64_decode(&plain, &len, coded), 0);
        CHECK_STR(plain, pairs[i][0]);
        CHECK_INT(len, strlen(pairs[i][0]));
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO(auto_free) char *plain = NULL;
        size_t len;

        if (base64_decode(&plain, &len, wrong[i]) == 0)
            TEST_FAIL("\"%s\" was decoded", wrong[i]);
        CHECK(plain == NULL);
    }
    for (int byte = 0; byte < 256; byte++) {
        unsigned char in[3] = {(unsigned char)byte, (unsigned char)(255 - byte), 'x'};
        AUTO(auto_free) char *coded = base64_encode(in, 3), *plain = NULL;
        AUTO(auto_free) char *lines = xasprintf("%.2s\r\n%s\n", coded, coded + 2);
        size_t len;

        CHECK_INT(base64_decode(&plain, &len, lines), 0);
        CHECK_INT(len, 3);
        CHECK_BYTES(plain, in, 3);
    }
}

static void test_read_file(void)
{
    char *folder = scratch_make();
    AUTO(auto_free) char *path = xasprintf("%s/f", folder);
    AUTO(auto_free) char *text = xcalloc(1, 50001);

    memset(text, 'y', 50000);
    for (size_t n = 0; n <= 50000; n = n * 3 + 1) {
        AUTO(auto_secret) char *read = NULL;
        struct err err = {0};
        size_t len;

        scratch_write(folder, "f", text, n);
        CHECK_INT(secret_read_file(&read, &len, path, 50000, &err), 0);
        CHECK_INT(len, n);
        CHECK_INT(strlen(read), n);
        if (n) {
            AUTO(auto_secret) char *more = NULL;
            CHECK_INT(secret_read_file(&more, &len, path, n - 1, &err), -1);
            CHECK_INT(err.code, ERR_INVALID);
            CHECK(more == NULL);
        }
    }
    AUTO(auto_secret) char *none = NULL;
    struct err err = {0};
    size_t len;
    scratch_write(folder, "f", "a\0b", 3);
    CHECK_INT(secret_read_file(&none, &len, path, 50000, &err), -1);
    CHECK_CONTAINS(err.msg, "NUL");
    CHECK_INT(secret_read_file(&none, &len, folder, 50000, &err), -1);
    CHECK_INT(err.code, ERR_IO);
    CHECK_INT(secret_read_file(&none, &len, "/dev/null/x", 50000, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_INT(secret_read_file(&none, &len, "/dev/zero", 50000, &err), -1);
    scratch_remove(folder);
}

static void test_retry_after(void)
{
    static const struct {
        const char *value;
        int64_t ms;
    } cases[] = {
        {"0", 0},
        {"1", 1000},
        {"  120\r\n", 120000},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 7000},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 7000},
        {"Sun Nov  6 08:49:37 1994", 7000},
        {"Sun, 06 Nov 1994 08:49:00 GMT", 0},
        {"Sun, 06 Nov 2094 08:49:00 GMT", 86400000},
        {"99999999999999999999", 86400000},
        {"86401", 86400000},
        {"", -1},
        {"-1", -1},
        {"1.5", -1},
        {"soon", -1},
        {"5 minutes", -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = retry_after_ms(cases[i].value, strlen(cases[i].value), 784111770);

        if (ms != cases[i].ms)
            TEST_FAIL("\"%s\": got %lld, want %lld", cases[i].value, (long long)ms,
                      (long long)cases[i].ms);
        CHECK(ms >= -1);
    }
}

/* Cases of Go's golang.org/x/net/http/httpproxy, by its documentation. */
static void test_no_proxy(void)
{
    static const struct {
        const char *list, *host;
        int port;
        bool spared;
    } cases[] = {
        {"", "a.com", 443, false},
        {"*", "a.com", 443, true},
        {"a.com", "a.com", 443, true},
        {"a.com", "A.COM", 443, true},
        {"A.com", "b.a.com", 443, true},
        {"a.com", "ba.com", 443, false},
        {".a.com", "a.com", 443, false},
        {".a.com", "b.a.com", 443, true},
        {"*.a.com", "a.com", 443, false},
        {"*.a.com", "c.b.a.com", 443, true},
        {"x, ,a.com ", "a.com", 443, true},
        {"a.com:443", "a.com", 443, true},
        {"a.com:443", "a.com", 6443, false},
        {".svc,.cluster.local", "kubernetes.default.svc", 443, true},
        {"10.0.0.1", "10.0.0.1", 443, true},
        {"10.0.0.1:6443", "10.0.0.1", 6443, true},
        {"10.0.0.1:6443", "10.0.0.1", 443, false},
        {"10.0.0.1", "10.0.0.10", 443, false},
        {"10.0.0.0/8", "10.96.0.1", 443, true},
        {"10.0.0.0/8", "11.96.0.1", 443, false},
        {"10.96.0.0/31", "10.96.0.1", 443, true},
        {"10.96.0.0/31", "10.96.0.2", 443, false},
        {"0.0.0.0/0", "1.2.3.4", 443, true},
        {"10.0.0.0/33", "10.0.0.0", 443, false},
        {"10.0.0.0/", "10.0.0.0", 443, false},
        {"10.0.0.0/8x", "10.0.0.0", 443, false},
        {"10.0.0.0/-1", "10.0.0.0", 443, false},
        {"fd00::/8", "fd00::1", 443, true},
        {"fd00::/8", "fe00::1", 443, false},
        {"fd00::1", "fd00:0::1", 443, true},
        {"[fd00::1]:443", "fd00::1", 443, true},
        {"[fd00::1]:443", "fd00::1", 6443, false},
        {"[fd00::1]", "fd00::1", 6443, true},
        {"::ffff:10.0.0.1", "10.0.0.1", 443, true},
        {"/,:,[,],.,*.,:1,a/b/c", "a.com", 443, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool spared = proxy_spared(cases[i].list, cases[i].host, cases[i].port);

        if (spared != cases[i].spared)
            TEST_FAIL("NO_PROXY=%s and %s:%d: %d", cases[i].list, cases[i].host, cases[i].port,
                      spared);
        CHECK(spared || !cases[i].spared);
    }
}

static void check_proxy(bool https, const char *host, const char *want)
{
    AUTO(auto_free) char *proxy = proxy_from_environment(https, host, https ? 443 : 80);

    CHECK_STR(proxy ? proxy : "none", want);
}

static void test_environment(void)
{
    static const char *const names[] = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
                                        "http_proxy",  "NO_PROXY",    "no_proxy"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    check_proxy(true, "a.com", "none");
    setenv("https_proxy", "low:1", 1);
    check_proxy(true, "a.com", "http://low:1");
    setenv("HTTPS_PROXY", "socks5://up:1", 1);
    check_proxy(true, "a.com", "socks5://up:1");
    check_proxy(false, "a.com", "none");
    setenv("HTTP_PROXY", "plain:2", 1);
    check_proxy(false, "a.com", "http://plain:2");
    check_proxy(true, "localhost", "none");
    check_proxy(true, "127.3.2.1", "none");
    check_proxy(true, "::1", "none");
    check_proxy(true, "128.0.0.1", "socks5://up:1");
    setenv("no_proxy", "a.com", 1);
    check_proxy(true, "x.a.com", "none");
    setenv("NO_PROXY", "b.com", 1);
    check_proxy(true, "x.a.com", "socks5://up:1");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
}

static void test_urls(void)
{
    static const char *const good[][2] = {
        {"https://h", "https://h"},
        {"h:6443", "https://h:6443"},
        {"https://h:6443/", "https://h:6443"},
        {"http://h/a/b//", "http://h/a/b"},
        {"HTTPS://[fd00::1]:6443", "https://[fd00::1]:6443"},
    };
    static const char *const bad[] = {"",
                                      "https://",
                                      "ftp://h",
                                      "https://u:p@h",
                                      "https://h?q",
                                      "https://h#f",
                                      "https://h h",
                                      "https://h:99999",
                                      "https://h\n",
                                      "file:///etc/passwd"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        AUTO(auto_free) char *url = NULL;
        struct err err = {0};

        CHECK_INT(server_url(&url, good[i][0], "here", &err), 0);
        CHECK_STR(url, good[i][1]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(auto_free) char *url = NULL;
        struct err err = {0};

        if (server_url(&url, bad[i], "here", &err) == 0)
            TEST_FAIL("\"%s\" became %s", bad[i], url);
        CHECK_CONTAINS(err.msg, "here: ");
    }
}

#define V1 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status) \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":" status "}"

static void test_exec_answers(void)
{
    static const struct {
        const char *text, *message; /* NULL: fine */
        int64_t expires_s;
    } cases[] = {
        {CREDENTIAL("{\"token\":\"t\"}"), NULL, 0},
        {CREDENTIAL("{\"token\":\"t\",\"clientCertificateData\":null,\"expirationTimestamp\":"
                    "\"2030-01-31T12:00:00Z\"}"),
         NULL, 1896091200},
        {CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":\"2030-01-31T12:00:00.123+01:30\"}"),
         NULL, 1896085800},
        {CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":\"2030-01-31T12:00:00-00:30\"}"),
         NULL, 1896093000},
        {CREDENTIAL("{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}"), NULL, 0},
        {CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":\"tomorrow\"}"),
         "expirationTimestamp is \"tomorrow\"", 0},
        {CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":\"2030-01-31T12:00:00+01\"}"),
         "RFC 3339", 0},
        {CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":\"2030-01-31T12:00:00+01:00Z\"}"),
         "RFC 3339", 0},
        {CREDENTIAL("{\"token\":\"a\\nb\"}"), "line end", 0},
        {CREDENTIAL("{\"token\":5}"), "status.token is no text", 0},
        {CREDENTIAL("{\"clientKeyData\":\"k\"}"), "together", 0},
        {CREDENTIAL("{}"), "neither a token nor a certificate", 0},
        {CREDENTIAL("[]"), "no status", 0},
        {"{\"kind\":\"Pod\"}", "kind is \"Pod\"", 0},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\"}", "it was asked for " V1, 0},
        {"", "not valid JSON", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(exec_credential_release) struct exec_credential c;
        struct err err = {0};
        int rc = exec_credential_parse(&c, cases[i].text, strlen(cases[i].text), V1, &err);

        CHECK_INT(rc, cases[i].message ? -1 : 0);
        CHECK_CONTAINS(err.msg, cases[i].message ? cases[i].message : "");
        CHECK(rc == 0 || (!c.token && !c.cert && !c.key));
        CHECK_INT(c.expires_ms / 1000, cases[i].expires_s);
    }
}

int main(void)
{
    test_base64();
    test_read_file();
    test_retry_after();
    test_no_proxy();
    test_environment();
    test_urls();
    test_exec_answers();
    return test_result();
}
