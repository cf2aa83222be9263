#include "operator/objects/keys.h"

#include <stdio.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "paceline/mem.h"

#define SALT "paceline.dev/job-key/v1"
#define NAME_SALT "paceline.dev/job-key-name/v1"
#define POINT_BYTES 65 /* uncompressed */

/* libcrypto fails here only without memory, or when it is not the one we were built for. */
static void must(bool ok)
{
    if (!ok)
        abort();
}

static EC_GROUP *curve(void)
{
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);

    must(group != NULL);
    return group;
}

static void free_curve(EC_GROUP **group) { EC_GROUP_free(*group); }
static void free_number(BIGNUM **n) { BN_clear_free(*n); }
static void free_scratch(BN_CTX **ctx) { BN_CTX_free(*ctx); }
static void free_point(EC_POINT **point) { EC_POINT_free(*point); }
static void free_pkey(EVP_PKEY **key) { EVP_PKEY_free(*key); }
static void free_x509(X509 **cert) { X509_free(*cert); }
static void keys_free_bio(BIO **bio) { BIO_free(*bio); }

/* A number that is secret, from its bytes. */
static BIGNUM *secret_number(const unsigned char bytes[KEY_BYTES])
{
    BIGNUM *n = BN_secure_new();

    must(n && BN_bin2bn(bytes, KEY_BYTES, n));
    BN_set_flags(n, BN_FLG_CONSTTIME);
    return n;
}

/* Whether 0 < bytes < the order of the curve. */
static bool keys_in_range(const unsigned char bytes[KEY_BYTES])
{
    AUTO(free_curve) EC_GROUP *group = curve();
    AUTO(free_number) BIGNUM *n = secret_number(bytes);

    return !BN_is_zero(n) && BN_cmp(n, EC_GROUP_get0_order(group)) < 0;
}

static void hkdf(unsigned char out[KEY_BYTES], const unsigned char master[KEY_BYTES],
                 const char *salt, const void *info, size_t info_len)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char[]){"SHA256"}, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)master, KEY_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (char *)salt, strlen(salt)),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_len),
        OSSL_PARAM_construct_end(),
    };

    must(ctx && EVP_KDF_derive(ctx, out, KEY_BYTES, params) == 1);
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
}

void key_scalar(unsigned char out[KEY_BYTES], const unsigned char master[KEY_BYTES],
                const char *uid)
{
    AUTO(buf_release) struct buf info;
    size_t n;

    buf_init(&info, 0);
    buf_puts(&info, uid);
    n = info.len;
    hkdf(out, master, SALT, info.data, n);
    buf_add(&info, "\0\1", 2);
    for (; !keys_in_range(out); info.data[n + 1]++)
        hkdf(out, master, SALT, info.data, info.len);
}

void key_digits(char out[KEY_DIGITS_SIZE], const unsigned char master[KEY_BYTES], const char *uid)
{
    unsigned char bytes[KEY_BYTES];

    hkdf(bytes, master, NAME_SALT, uid, strlen(uid));
    snprintf(out, KEY_DIGITS_SIZE, "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
}

/* HMAC with the key k of v, a separator (-1: none) and n more bytes; out may be k or v. */
static void hmac(unsigned char out[KEY_BYTES], const unsigned char k[KEY_BYTES],
                 const unsigned char v[KEY_BYTES], int separator, const unsigned char *rest,
                 size_t n)
{
    unsigned char text[KEY_BYTES + 1 + 2 * KEY_BYTES], key[KEY_BYTES];
    size_t len = KEY_BYTES;

    memcpy(key, k, KEY_BYTES);
    memcpy(text, v, KEY_BYTES);
    if (separator >= 0)
        text[len++] = (unsigned char)separator;
    if (n)
        memcpy(text + len, rest, n);
    must(HMAC(EVP_sha256(), key, KEY_BYTES, text, len + n, out, NULL) != NULL);
    OPENSSL_cleanse(text, sizeof text);
    OPENSSL_cleanse(key, sizeof key);
}

/* The generator of nonces of RFC 6979, section 3.2. */
struct nonces {
    unsigned char k[KEY_BYTES], v[KEY_BYTES];
};

static void nonces_init(struct nonces *g, const unsigned char scalar[KEY_BYTES],
                        const unsigned char hash[KEY_BYTES])
{
    unsigned char seed[2 * KEY_BYTES];

    memcpy(seed, scalar, KEY_BYTES);
    memcpy(seed + KEY_BYTES, hash, KEY_BYTES);
    memset(g->k, 0, KEY_BYTES);
    memset(g->v, 1, KEY_BYTES);
    for (int separator = 0; separator <= 1; separator++) {
        hmac(g->k, g->k, g->v, separator, seed, sizeof seed);
        hmac(g->v, g->k, g->v, -1, NULL, 0);
    }
    OPENSSL_cleanse(seed, sizeof seed);
}

static void nonces_next(struct nonces *g, unsigned char out[KEY_BYTES])
{
    hmac(g->v, g->k, g->v, -1, NULL, 0);
    memcpy(out, g->v, KEY_BYTES);
    hmac(g->k, g->k, g->v, 0, NULL, 0);
    hmac(g->v, g->k, g->v, -1, NULL, 0);
}

/* r = x of k*G, s = (z + r*d)/k, all modulo the order; whether both are above 0. */
static bool sign_with(BIGNUM *r, BIGNUM *s, const BIGNUM *k, const BIGNUM *d, const BIGNUM *z,
                      const EC_GROUP *group)
{
    const BIGNUM *order = EC_GROUP_get0_order(group);
    AUTO(free_scratch) BN_CTX *ctx = BN_CTX_secure_new();
    AUTO(free_point) EC_POINT *point = EC_POINT_new(group);
    AUTO(free_number) BIGNUM *inverse = BN_secure_new();

    must(ctx && point && inverse && EC_POINT_mul(group, point, k, NULL, NULL, ctx) &&
         EC_POINT_get_affine_coordinates(group, point, r, NULL, ctx) &&
         BN_nnmod(r, r, order, ctx) && BN_mod_inverse(inverse, k, order, ctx) &&
         BN_mod_mul(s, r, d, order, ctx) && BN_mod_add(s, s, z, order, ctx) &&
         BN_mod_mul(s, s, inverse, order, ctx));
    return !BN_is_zero(r) && !BN_is_zero(s);
}

void key_sign(unsigned char r_out[KEY_BYTES], unsigned char s_out[KEY_BYTES],
              const unsigned char scalar[KEY_BYTES], const void *message, size_t n)
{
    AUTO(free_curve) EC_GROUP *group = curve();
    AUTO(free_number)
    BIGNUM *d = secret_number(scalar), *z = BN_new(), *r = BN_new(), *s = BN_new();
    AUTO(free_scratch) BN_CTX *ctx = BN_CTX_new();
    unsigned char hash[KEY_BYTES], nonce[KEY_BYTES];
    struct nonces nonces;
    bool done = false;

    must(z && r && s && ctx && EVP_Digest(message, n, hash, NULL, EVP_sha256(), NULL) &&
         BN_bin2bn(hash, KEY_BYTES, z) && BN_nnmod(z, z, EC_GROUP_get0_order(group), ctx) &&
         BN_bn2binpad(z, hash, KEY_BYTES) == KEY_BYTES);
    nonces_init(&nonces, scalar, hash);
    while (!done) {
        AUTO(free_number) BIGNUM *k = NULL;

        nonces_next(&nonces, nonce);
        if (!keys_in_range(nonce))
            continue;
        k = secret_number(nonce);
        done = sign_with(r, s, k, d, z, group);
    }
    must(BN_bn2binpad(r, r_out, KEY_BYTES) == KEY_BYTES &&
         BN_bn2binpad(s, s_out, KEY_BYTES) == KEY_BYTES);
    OPENSSL_cleanse(nonce, sizeof nonce);
    OPENSSL_cleanse(&nonces, sizeof nonces);
}

static void public_point(unsigned char out[POINT_BYTES], const unsigned char scalar[KEY_BYTES])
{
    AUTO(free_curve) EC_GROUP *group = curve();
    AUTO(free_number) BIGNUM *d = secret_number(scalar);
    AUTO(free_point) EC_POINT *point = EC_POINT_new(group);

    must(point && EC_POINT_mul(group, point, d, NULL, NULL, NULL) &&
         EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, out, POINT_BYTES, NULL) ==
             POINT_BYTES);
}

static EVP_PKEY *make_pkey(const unsigned char scalar[KEY_BYTES])
{
    AUTO(free_number) BIGNUM *d = secret_number(scalar);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    unsigned char point[POINT_BYTES];
    OSSL_PARAM *params;
    EVP_PKEY *key = NULL;

    public_point(point, scalar);
    must(build && ctx &&
         OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
         OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, d) &&
         OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, POINT_BYTES));
    params = OSSL_PARAM_BLD_to_param(build);
    must(params && EVP_PKEY_fromdata_init(ctx) == 1 &&
         EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_KEYPAIR, params) == 1);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

/* Everything but a signature that counts: this one has a random nonce. The name and the dates say
 * nothing, because whoever checks the certificate checks its key. */
static X509 *make_certificate(EVP_PKEY *key, const unsigned char scalar[KEY_BYTES])
{
    X509 *cert = X509_new();
    X509_NAME *name = X509_NAME_new();
    X509_EXTENSION *basic;
    unsigned char point[POINT_BYTES], hash[KEY_BYTES];
    AUTO(free_number) BIGNUM *serial = NULL;

    public_point(point, scalar);
    must(EVP_Digest(point, sizeof point, hash, NULL, EVP_sha256(), NULL));
    hash[0] = (hash[0] & 0x7f) | 0x40; /* positive, always 16 bytes */
    serial = BN_bin2bn(hash, 16, NULL);
    basic = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:FALSE");
    must(cert && name && serial && basic && X509_set_version(cert, X509_VERSION_3) &&
         BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert)) &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                    (const unsigned char *)"paceline.dev job", -1, -1, 0) &&
         X509_set_subject_name(cert, name) && X509_set_issuer_name(cert, name) &&
         ASN1_TIME_set_string_X509(X509_getm_notBefore(cert), "20200101000000Z") &&
         ASN1_TIME_set_string_X509(X509_getm_notAfter(cert), "99991231235959Z") &&
         X509_set_pubkey(cert, key) && X509_add_ext(cert, basic, -1) &&
         X509_sign(cert, key, EVP_sha256()));
    X509_EXTENSION_free(basic);
    X509_NAME_free(name);
    return cert;
}

/* The DER of an ECDSA signature; the caller frees it with OPENSSL_free. */
static int signature_der(unsigned char **out, const unsigned char scalar[KEY_BYTES],
                         const unsigned char *message, size_t n)
{
    unsigned char r[KEY_BYTES], s[KEY_BYTES];
    ECDSA_SIG *sig = ECDSA_SIG_new();
    int len;

    key_sign(r, s, scalar, message, n);
    must(sig && ECDSA_SIG_set0(sig, BN_bin2bn(r, KEY_BYTES, NULL), BN_bin2bn(s, KEY_BYTES, NULL)));
    len = i2d_ECDSA_SIG(sig, out);
    must(len > 0);
    ECDSA_SIG_free(sig);
    return len;
}

/* Certificate ::= SEQUENCE { tbsCertificate, ecdsa-with-SHA256, BIT STRING signature } */
static void add_certificate(X509 *cert, const unsigned char scalar[KEY_BYTES], struct buf *der)
{
    static const unsigned char algorithm[] = {0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86,
                                              0x48, 0xce, 0x3d, 0x04, 0x03, 0x02};
    unsigned char *tbs = NULL, *sig = NULL, head[8], *p = head;
    int tbs_len = i2d_re_X509_tbs(cert, &tbs), sig_len;

    must(tbs_len > 0);
    sig_len = signature_der(&sig, scalar, tbs, (size_t)tbs_len);
    ASN1_put_object(&p, 1,
                    tbs_len + (int)sizeof algorithm +
                        ASN1_object_size(0, sig_len + 1, V_ASN1_BIT_STRING),
                    V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL);
    buf_add(der, head, (size_t)(p - head));
    buf_add(der, tbs, (size_t)tbs_len);
    buf_add(der, algorithm, sizeof algorithm);
    p = head;
    ASN1_put_object(&p, 0, sig_len + 1, V_ASN1_BIT_STRING, V_ASN1_UNIVERSAL);
    buf_add(der, head, (size_t)(p - head));
    buf_add(der, "", 1); /* no unused bits */
    buf_add(der, sig, (size_t)sig_len);
    OPENSSL_free(tbs);
    OPENSSL_free(sig);
}

static void add_bio(BIO *bio, struct buf *out)
{
    char *text = NULL;
    long n = BIO_get_mem_data(bio, &text);

    buf_add(out, text, (size_t)n);
}

void key_pem(const unsigned char scalar[KEY_BYTES], struct buf *private_key,
             struct buf *certificate)
{
    AUTO(free_pkey) EVP_PKEY *key = make_pkey(scalar);
    AUTO(free_x509) X509 *cert = make_certificate(key, scalar);
    AUTO(keys_free_bio) BIO *key_text = BIO_new(BIO_s_mem()), *cert_text = BIO_new(BIO_s_mem());
    AUTO(buf_release) struct buf der;

    buf_init(&der, 0);
    add_certificate(cert, scalar, &der);
    must(key_text && cert_text &&
         PEM_write_bio_PKCS8PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL) &&
         PEM_write_bio(cert_text, PEM_STRING_X509, "", (const unsigned char *)der.data,
                       (long)der.len) > 0);
    add_bio(key_text, private_key);
    add_bio(cert_text, certificate);
}
