#include "wire/tls.h"

#include <malloc.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/x509_vfy.h>

#include "paceline/mem.h"
#include "wire/channel.h"

enum { CERTIFICATE_MAX = 16384 };

/*
 * libcrypto copies keys into memory that it frees without wiping: where it
 * asks for a secure heap that does not exist. So every block that it frees in this program is
 * wiped. This must be set before its first allocation. If memory runs out the program ends, as it
 * does for our own allocations: not every path of libcrypto survives that.
 */
static void *wiped_malloc(size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return n ? xmalloc(n) : NULL;
}

static void wiped_free(void *block, const char *file, int line)
{
    (void)file, (void)line;
    if (block)
        explicit_bzero(block, malloc_usable_size(block));
    free(block);
}

static void *wiped_realloc(void *block, size_t n, const char *file, int line)
{
    size_t old = block ? malloc_usable_size(block) : 0;
    void *larger = wiped_malloc(n, file, line);

    if (block && n)
        memcpy(larger, block, old < n ? old : n);
    wiped_free(block, file, line);
    return larger;
}

__attribute__((constructor)) static void wipe_what_is_given_back(void)
{
    CRYPTO_set_mem_functions(wiped_malloc, wiped_realloc, wiped_free);
}

/* PSKs of OpenSSL's own tools go with SHA-256, so that they can speak to an agent. */
static const unsigned char tls_suite[] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256 */
static const char tls_identity[] = "paceline job";

struct channel_tls {
    SSL_CTX *ctx;
    unsigned char key[CHANNEL_KEY_BYTES];
};

/* A TLS 1.3 handshake takes an external key as if it were that of an earlier session. */
static SSL_SESSION *tls_key_session(SSL *ssl)
{
    const struct channel_tls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, tls_suite);
    SSL_SESSION *session = SSL_SESSION_new();

    if (!session || !cipher ||
        SSL_SESSION_set1_master_key(session, tls->key, sizeof tls->key) != 1 ||
        SSL_SESSION_set_cipher(session, cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1)
        abort(); /* without memory only */
    return session;
}

static int tls_offer_key(SSL *ssl, const EVP_MD *md, const unsigned char **identity, size_t *n,
                         SSL_SESSION **session)
{
    (void)md; /* of the only suite */
    *identity = (const unsigned char *)tls_identity;
    *n = strlen(tls_identity);
    *session = tls_key_session(ssl);
    return 1;
}

/* Without a session the handshake fails, for the server has no certificate. */
static int tls_find_key(SSL *ssl, const unsigned char *identity, size_t n, SSL_SESSION **session)
{
    const bool ours = n == strlen(tls_identity) && memcmp(identity, tls_identity, n) == 0;

    *session = ours ? tls_key_session(ssl) : NULL;
    return 1;
}

/* A server that has a certificate instead of the key is not the job's. */
static int tls_refuse_certificate(X509_STORE_CTX *store, void *arg)
{
    (void)arg;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
    return 0;
}

/* OpenSSL never agrees on a key without a Diffie-Hellman exchange unless it is told to
 * (SSL_OP_ALLOW_NO_DHE_KEX): who learns the key later cannot read what was sent before. */
static void tls_configure(struct channel_tls *tls)
{
    SSL_CTX *ctx = tls->ctx = SSL_CTX_new(TLS_method());

    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set1_groups_list(ctx, "X25519:P-256") != 1 || SSL_CTX_set_num_tickets(ctx, 0) != 1)
        abort(); /* without memory only */
    SSL_CTX_set_app_data(ctx, tls);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_psk_use_session_callback(ctx, tls_offer_key);
    SSL_CTX_set_psk_find_session_callback(ctx, tls_find_key);
    SSL_CTX_set_cert_verify_callback(ctx, tls_refuse_certificate, NULL);
}

int channel_tls_new(struct channel_tls **out, const void *key, size_t n, struct err *err)
{
    struct channel_tls *tls;

    if (n != CHANNEL_KEY_BYTES)
        return err_set(err, ERR_INVALID, "the key has %zu bytes, not %d", n, CHANNEL_KEY_BYTES);
    tls = xcalloc(1, sizeof *tls);
    memcpy(tls->key, key, n);
    tls_configure(tls);
    *out = tls;
    return 0;
}

void channel_tls_free(struct channel_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->ctx);
    OPENSSL_cleanse(tls->key, sizeof tls->key);
    free(tls);
}

SSL *channel_tls_session(struct channel_tls *tls, int fd, bool server)
{
    SSL *ssl = SSL_new(tls->ctx);

    if (!ssl || SSL_set_fd(ssl, fd) != 1)
        abort(); /* without memory only */
    if (server) {
        SSL_set_accept_state(ssl);
    } else {
        SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
        SSL_set_connect_state(ssl);
    }
    return ssl;
}
