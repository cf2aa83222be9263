#include "operator/masterkey.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "operator/core/backoff.h"
#include "paceline/json.h"
#include "paceline/log.h"
#include "paceline/mem.h"

enum {
    BASE64_BYTES = (MASTERKEY_BYTES + 2) / 3 * 4,
    FIRST_MS = 500, /* back-off */
    MAX_MS = 15000,
};

struct masterkey {
    const struct kube_ops *ops;
    void *kube;
    char *namespace_;
    int64_t request_ms;
    struct kube_call *call;
    unsigned char key[MASTERKEY_BYTES];
    bool have, absent; /* absent: the last read said so */
    bool failed;       /* since the last step; answers do not know the time */
    int failures;
    int64_t at_ms; /* not before */
    uint64_t random;
};

int masterkey_read_file(unsigned char key[MASTERKEY_BYTES], const char *path, struct err *err)
{
    unsigned char bytes[MASTERKEY_BYTES + 1];
    AUTO(auto_fclose) FILE *f = fopen(path, "re");
    size_t n;

    if (!f)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "master key %s: %s", path,
                       strerror(errno));
    setvbuf(f, NULL, _IONBF, 0); /* no copy in a buffer that nobody wipes */
    n = fread(bytes, 1, sizeof bytes, f);
    if (n == MASTERKEY_BYTES)
        memcpy(key, bytes, MASTERKEY_BYTES);
    OPENSSL_cleanse(bytes, sizeof bytes);
    if (ferror(f))
        return err_set(err, ERR_IO, "master key %s: %s", path, strerror(errno));
    if (n != MASTERKEY_BYTES)
        return err_set(err, ERR_INVALID, "master key %s has %s than %d bytes; it needs exactly %d",
                       path, n < MASTERKEY_BYTES ? "fewer" : "more", MASTERKEY_BYTES,
                       MASTERKEY_BYTES);
    return 0;
}

static void fill_random(void *bytes, size_t n)
{
    if (getrandom(bytes, n, 0) != (ssize_t)n) { /* up to 256 bytes come whole */
        log_error("the kernel gives no random bytes: %s", strerror(errno));
        exit(EXIT_UNEXPECTED);
    }
}

struct masterkey *masterkey_new(const struct kube_ops *ops, void *kube, const char *namespace_,
                                int64_t request_ms)
{
    struct masterkey *k = xcalloc(1, sizeof *k);

    k->ops = ops;
    k->kube = kube;
    k->namespace_ = xstrdup(namespace_);
    k->request_ms = request_ms;
    fill_random(&k->random, sizeof k->random);
    return k;
}

void masterkey_free(struct masterkey *k)
{
    if (!k)
        return;
    if (k->call)
        k->ops->cancel(k->kube, k->call);
    OPENSSL_cleanse(k->key, sizeof k->key);
    free(k->namespace_);
    free(k);
}

static void masterkey_fail(struct masterkey *k, const char *what, const struct kube_response *r)
{
    const char *detail = r->status ? r->body : r->error;

    log_warn("master key: cannot %s Secret %s/%s code=%d: %.300s", what, k->namespace_,
             MASTERKEY_SECRET, r->status, detail ? detail : "");
    k->failed = true;
}

/* The key in the Secret's data; false: it is not 32 bytes in base64. */
static bool masterkey_decode(unsigned char key[MASTERKEY_BYTES], const cJSON *secret)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(secret, "data");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "key"));
    unsigned char bytes[BASE64_BYTES / 4 * 3];
    bool good;

    if (!text || strlen(text) != BASE64_BYTES)
        return false;
    /* One byte more than the key, because it counts what padding stands for. */
    good = EVP_DecodeBlock(bytes, (const unsigned char *)text, BASE64_BYTES) == sizeof bytes &&
           text[BASE64_BYTES - 1] == '=' && text[BASE64_BYTES - 2] != '=';
    if (good)
        memcpy(key, bytes, MASTERKEY_BYTES);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return good;
}

static void masterkey_on_read(void *arg, const struct kube_response *r)
{
    struct masterkey *k = arg;
    AUTO(auto_json) cJSON *secret = NULL;
    struct err err;

    k->call = NULL; /* its receiver wipes the body */
    if (r->status == 404) {
        k->absent = true;
    } else if (r->status != 200) {
        masterkey_fail(k, "read", r);
    } else if (json_parse(&secret, r->body, r->len, "Secret", &err) == 0 &&
               masterkey_decode(k->key, secret)) {
        k->have = true;
    } else {
        /* Its bytes may be a key that somebody needs: never written over, never shown. */
        log_error("master key: Secret %s/%s has no 32 bytes in data.key; restore it, or delete it "
                  "when no TrainingJob runs",
                  k->namespace_, MASTERKEY_SECRET);
        k->failed = true;
    }
    json_wipe(secret);
}

static void on_created(void *arg, const struct kube_response *r)
{
    struct masterkey *k = arg;

    k->call = NULL;
    k->absent = false; /* whatever came of it, read first */
    if (r->status == 201) {
        log_info("master key: made Secret %s/%s", k->namespace_, MASTERKEY_SECRET);
        k->have = true;
    } else if (r->status != 409) { /* 409: another operator was first; its key counts */
        masterkey_fail(k, "create", r);
    }
}

static void send_read(struct masterkey *k)
{
    AUTO(auto_free)
    char *path = xasprintf("/api/v1/namespaces/%s/secrets/%s", k->namespace_, MASTERKEY_SECRET);

    k->call = k->ops->send(
        k->kube,
        &(struct kube_request){.method = KUBE_GET, .path = path, .timeout_ms = k->request_ms},
        masterkey_on_read, k);
}

static void send_create(struct masterkey *k)
{
    AUTO(auto_free) char *path = xasprintf("/api/v1/namespaces/%s/secrets", k->namespace_);
    unsigned char text[BASE64_BYTES + 1];
    char body[512];
    int n;

    fill_random(k->key, sizeof k->key);
    EVP_EncodeBlock(text, k->key, MASTERKEY_BYTES);
    n = snprintf(body, sizeof body,
                 "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\","
                 "\"immutable\":true,\"metadata\":{\"name\":\"%s\",\"labels\":"
                 "{\"app.kubernetes.io/name\":\"paceline-operator\"}},\"data\":{\"key\":\"%s\"}}",
                 MASTERKEY_SECRET, text);
    k->call = k->ops->send(k->kube,
                           &(struct kube_request){.method = KUBE_POST,
                                                  .path = path,
                                                  .body = body,
                                                  .body_len = (size_t)n,
                                                  .timeout_ms = k->request_ms},
                           on_created, k);
    OPENSSL_cleanse(text, sizeof text);
    OPENSSL_cleanse(body, sizeof body);
}

void masterkey_step(struct masterkey *k, int64_t now_ms)
{
    if (k->failed) {
        k->at_ms = now_ms + backoff_ms(k->failures++, FIRST_MS, MAX_MS, &k->random);
        k->failed = false;
    }
    if (k->have || k->call || now_ms < k->at_ms)
        return;
    if (k->absent)
        send_create(k);
    else
        send_read(k);
}

int64_t masterkey_next_ms(const struct masterkey *k, int64_t now_ms)
{
    if (k->have || k->call)
        return -1;
    return k->failed || k->at_ms <= now_ms ? 0 : k->at_ms - now_ms;
}

const unsigned char *masterkey_bytes(const struct masterkey *k) { return k->have ? k->key : NULL; }
