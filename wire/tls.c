#include "wire/tls.h"

#include <malloc.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "paceline/mem.h"
#include "wire/channel.h"

enum { CERTIFICATE_MAX = 16384 };

/*
 * libcrypto copies keys into memory that it frees without wiping: while it reads PEM, and where it
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

struct channel_tls {
    SSL_CTX *ctx;
    EVP_PKEY *key;
};

static void tls_free_bio(BIO **bio) { BIO_free(*bio); }
static void free_cert(X509 **cert) { X509_free(*cert); }

/*
 * Instead of OpenSSL's check of a chain, names and dates: the peer's public key must be ours. That
 * the peer has the private key is proved by the handshake itself.
 */
static int same_key(X509_STORE_CTX *store, void *arg)
{
    const struct channel_tls *tls = arg;
    X509 *cert = X509_STORE_CTX_get0_cert(store);
    EVP_PKEY *key = cert ? X509_get0_pubkey(cert) : NULL;

    if (key && EVP_PKEY_eq(key, tls->key) == 1)
        return 1;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
    return 0;
}

static bool configure(struct channel_tls *tls, X509 *cert)
{
    SSL_CTX *ctx = tls->ctx = SSL_CTX_new(TLS_method());

    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1 ||
        SSL_CTX_use_certificate(ctx, cert) != 1 || SSL_CTX_use_PrivateKey(ctx, tls->key) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1 || SSL_CTX_set_num_tickets(ctx, 0) != 1)
        return false;
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_cert_list(ctx, CERTIFICATE_MAX);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(ctx, same_key, tls);
    return true;
}

int channel_tls_new(struct channel_tls **out, const char *key_pem, size_t key_len,
                    const char *cert_pem, size_t cert_len, struct err *err)
{
    AUTO(tls_free_bio) BIO *key = BIO_new_mem_buf(key_pem, (int)key_len);
    AUTO(tls_free_bio) BIO *text = BIO_new_mem_buf(cert_pem, (int)cert_len);
    AUTO(free_cert) X509 *cert = NULL;
    struct channel_tls *tls = xcalloc(1, sizeof *tls);
    const char *wrong = NULL;

    ERR_clear_error();
    tls->key = PEM_read_bio_PrivateKey(key, NULL, NULL, "");
    cert = PEM_read_bio_X509(text, NULL, NULL, "");
    if (!tls->key)
        wrong = "the key is no private key in PEM";
    else if (!cert)
        wrong = "the certificate is none in PEM";
    else if (!configure(tls, cert))
        wrong = "key and certificate do not belong together";
    ERR_clear_error();
    if (wrong) {
        channel_tls_free(tls);
        return err_set(err, ERR_INVALID, "%s", wrong);
    }
    *out = tls;
    return 0;
}

void channel_tls_free(struct channel_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->ctx);
    EVP_PKEY_free(tls->key);
    free(tls);
}

SSL *channel_tls_session(struct channel_tls *tls, int fd, bool server)
{
    SSL *ssl = SSL_new(tls->ctx);

    if (!ssl || SSL_set_fd(ssl, fd) != 1)
        abort(); /* without memory only */
    if (server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    return ssl;
}
