// LINK: operator/masterkey.c operator/controller operator/core operator/reconcile operator/objects
// LINK: operator/api operator/web/snapshot.c operator/kube/secret.c wire common
// LIBS: -lssl -lcrypto -ldl
/*
 * No key stays in memory that is given back: each block is searched for the keys when it is freed,
 * also blocks of libraries. The master key as it comes and as it is kept, a job's key
 * as it is, in its Secret and in TLS.
 */
#include <dlfcn.h>
#include <malloc.h>

#include <openssl/evp.h>

#include "operator/agents/agent_ops.h"
#include "operator/masterkey.h"
#include "operator/objects/keys.h"
#include "operator/objects/objects.h"
#include "tests/unit/controller_fake.h"
#include "wire/channel.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static struct needle {
    const char *name;
    char bytes[64];
    size_t n;
} needles[8];
static size_t n_needles;
static bool armed;
static const char *stage = "";
static int n_leaks;
static size_t n_searched;

__attribute__((unused)) static void search(const void *block, size_t n)
{
    armed = false; /* what is printed is freed, too */
    n_searched++;
    for (size_t i = 0; i < n_needles; i++)
        if (memmem(block, n, needles[i].bytes, needles[i].n)) {
            n_leaks++;
            fprintf(stderr, "%s: %s is in a freed block of %zu bytes\n", stage, needles[i].name, n);
        }
    armed = true;
}

#ifndef SANITIZED
static void (*real_free)(void *block);

__attribute__((constructor)) static void find_free(void)
{
    void *found = dlsym(RTLD_NEXT, "free");

    memcpy(&real_free, &found, sizeof real_free);
}

/* A program's own functions go before those of shared libraries. */
void free(void *block)
{
    if (block && armed)
        search(block, malloc_usable_size(block));
    if (real_free)
        real_free(block);
}

/* Always to another place, as the real one may do. */
void *realloc(void *block, size_t n)
{
    size_t old = block ? malloc_usable_size(block) : 0;
    void *larger = malloc(n ? n : 1);

    if (larger && block) {
        memcpy(larger, block, old < n ? old : n);
        free(block);
    }
    return larger;
}
#endif

static void look_for(const char *name, const void *bytes, size_t n)
{
    struct needle *needle = &needles[n_needles++];

    needle->name = name;
    needle->n = n < sizeof needle->bytes ? n : sizeof needle->bytes;
    memcpy(needle->bytes, bytes, needle->n);
}

#define MASTER "master key, 32 bytes of random.." /* as a file would have it */

static void test_growing(void)
{
    struct buf b;

    look_for("what a buffer held", "a secret of a buffer", 20);
    stage = "growing";
    armed = true;
    buf_init_secret(&b, 0);
    buf_puts(&b, "a secret of a buffer");
    for (int i = 0; i < 1000; i++)
        buf_puts(&b, "and more");
    buf_release(&b);
    armed = false;
}

/* The master key's Secret is read, and kept. */
static void test_master_key(void)
{
    struct masterkey *k;
    unsigned char text[64];
    AUTO(auto_free) char *body = NULL;

    EVP_EncodeBlock(text, (const unsigned char *)MASTER, 32);
    look_for("the master key", MASTER, 32);
    look_for("the master key in base64", text, 40);
    body = xasprintf("{\"data\":{\"key\":\"%s\"}}", (char *)text);
    stage = "reading the Secret";
    armed = true;
    k = masterkey_new(&ops, NULL, "ns", 1000);
    masterkey_step(k, 1);
    answer(open_call(KUBE_GET, "/secrets/"), 200, body);
    CHECK(masterkey_bytes(k) != NULL);
    masterkey_free(k);
    armed = false;
    OPENSSL_cleanse(body, strlen(body)); /* the test's own */
}

/* A job's key in all its forms. The controller has the master key meanwhile. */
static void test_job_key(void)
{
    static const struct objects_config config = {.operator_namespace = "ops",
                                                 .worker_image = "w",
                                                 .master_key = (const unsigned char *)MASTER};
    struct controller_config usual_config = usual;
    unsigned char key[KEY_BYTES];
    struct buf body;
    struct channel_tls *tls;
    AUTO(auto_json) cJSON *job = cJSON_Parse(JOB("a", "u1", "3", ""));
    unsigned char text[64];
    struct tj *tj;
    struct err err;

    CHECK_INT(tj_decode(&tj, job, &err), 0);
    key_derive(key, config.master_key, "u1");
    look_for("the job's key", key, KEY_BYTES);
    EVP_EncodeBlock(text, key, KEY_BYTES);
    look_for("the job's Secret", text, 40);

    armed = true;
    stage = "deriving it";
    key_derive(key, config.master_key, "u1");
    stage = "making TLS";
    CHECK_INT(channel_tls_new(&tls, key, KEY_BYTES, &err), 0);
    channel_tls_free(tls);
    stage = "making its Secret";
    buf_init_secret(&body, 0);
    CHECK_INT(owned_body(&config, tj, OWNED_SECRET, &body, &err), 0);
    CHECK(memmem(body.data, body.len, needles[n_needles - 1].bytes, 40) != NULL);
    buf_release(&body);
    tj_free(tj);

    stage = "the controller";
    now = (struct moment){.wall_ms = 1800000000000, .mono_ms = 5000};
    usual_config.master_key = (const unsigned char *)MASTER;
    c = controller_new(&usual_config, &ops, NULL, now);
    controller_step(c, now);
    sync_lists(one_job, EMPTY_LIST);
    accept_job();
    /* Of the answer the operator keeps the metadata (api/kept.h). */
    answer(open_call(KUBE_POST, "/secrets"), 201,
           "{\"metadata\":{\"name\":\"s\",\"namespace\":\"ns\",\"uid\":\"9\","
           "\"resourceVersion\":\"9\"}}");
    pass(0);
    controller_free(c);
    armed = false;
    calls_clear();
}

int main(void)
{
#ifdef SANITIZED
    puts("a sanitizer has its own free");
    return 77;
#endif
    log_init(LOG_ERROR, "");
    test_growing();
    test_master_key();
    test_job_key();
    CHECK_INT(n_leaks, 0);
    CHECK(n_searched > 1000);
    return test_result();
}
