#include "operator/kube/pem.h"

#include <stdbool.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "paceline/mem.h"

static void auto_bio(BIO **b) { BIO_free(*b); }
static void auto_x509(X509 **x) { X509_free(*x); }
static void auto_pkey(EVP_PKEY **k) { EVP_PKEY_free(*k); }

/* Never asks a terminal. */
static int no_password(char *text, int size, int writing, void *arg)
{
    (void)text, (void)size, (void)writing, (void)arg;
    return -1;
}

int pem_check_certificates(const char *pem, const char *where, struct err *err)
{
    AUTO(auto_bio) BIO *in = BIO_new_mem_buf(pem, -1);
    unsigned long last;
    int n = 0;

    ERR_clear_error();
    for (;; n++) {
        AUTO(auto_x509) X509 *cert = PEM_read_bio_X509(in, NULL, no_password, NULL);

        if (!cert)
            break;
    }
    last = ERR_peek_last_error();
    ERR_clear_error();
    if (!n && ERR_GET_REASON(last) == PEM_R_NO_START_LINE)
        return err_set(err, ERR_INVALID,
                       "%s: holds no certificate; PEM is expected, with a line "
                       "\"-----BEGIN CERTIFICATE-----\"",
                       where);
    if (ERR_GET_REASON(last) != PEM_R_NO_START_LINE)
        return err_set(err, ERR_INVALID, "%s: certificate %d cannot be read: %s", where, n + 1,
                       last ? ERR_reason_error_string(last) : "damaged");
    return 0;
}

int pem_check_pair(const char *cert, const char *key, const char *where, struct err *err)
{
    AUTO(auto_bio) BIO *cert_in = BIO_new_mem_buf(cert, -1);
    AUTO(auto_bio) BIO *key_in = BIO_new_mem_buf(key, -1);
    AUTO(auto_x509) X509 *first = PEM_read_bio_X509(cert_in, NULL, no_password, NULL);
    AUTO(auto_pkey) EVP_PKEY *private = PEM_read_bio_PrivateKey(key_in, NULL, no_password, NULL);
    bool match = first && private && X509_check_private_key(first, private) == 1;

    ERR_clear_error();
    if (!first)
        return err_set(err, ERR_INVALID, "%s: holds no certificate in PEM", where);
    if (!private)
        return err_set(err, ERR_INVALID,
                       "%s: the key cannot be read; an unencrypted key in PEM is expected", where);
    if (!match)
        return err_set(err, ERR_INVALID, "%s: the key does not belong to the certificate", where);
    return 0;
}
