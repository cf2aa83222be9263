/* Certificates for tests of TLS: a CA, what it signs, as files in a folder. */
#ifndef PACELINE_TESTS_UNIT_KUBE_PKI_H
#define PACELINE_TESTS_UNIT_KUBE_PKI_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "paceline/mem.h"
#include "tests/test.h"

struct pki {
    EVP_PKEY *key;
    X509 *cert;
};

static inline void pki_free(struct pki *p)
{
    EVP_PKEY_free(p->key);
    X509_free(p->cert);
}

static inline void pki_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    CHECK(extension != NULL);
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
}

/* signer NULL: a CA, signed by itself; names: a subjectAltName, NULL: none. */
static inline struct pki pki_make(const struct pki *signer, const char *common_name,
                                  const char *names)
{
    static long serial = 1;
    struct pki made = {EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"), X509_new()};
    X509 *issuer = signer ? signer->cert : made.cert;
    X509_NAME *subject = X509_get_subject_name(made.cert);

    X509_set_version(made.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.cert), 86400);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1,
                               -1, 0);
    X509_set_issuer_name(made.cert, X509_get_subject_name(issuer));
    X509_set_pubkey(made.cert, made.key);
    pki_extension(made.cert, issuer, NID_basic_constraints,
                  signer ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (names)
        pki_extension(made.cert, issuer, NID_subject_alt_name, names);
    CHECK(X509_sign(made.cert, signer ? signer->key : made.key, EVP_sha256()) > 0);
    return made;
}

/* folder/name.crt and folder/name.key */
static inline void pki_write(const struct pki *p, const char *folder, const char *name)
{
    AUTO(auto_free) char *crt = xasprintf("%s/%s.crt", folder, name);
    AUTO(auto_free) char *key = xasprintf("%s/%s.key", folder, name);
    AUTO(auto_fclose) FILE *crt_file = fopen(crt, "w"), *key_file = fopen(key, "w");

    CHECK(crt_file && PEM_write_X509(crt_file, p->cert));
    CHECK(key_file && PEM_write_PrivateKey(key_file, p->key, NULL, NULL, 0, NULL, NULL));
}

#endif
