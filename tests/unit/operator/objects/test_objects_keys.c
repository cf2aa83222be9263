// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/* A job's key: the derivation, the signature against RFC 6979, a certificate that OpenSSL takes. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "operator/objects/keys.h"
#include "tests/unit/objects_job.h"

static void from_hex(unsigned char out[KEY_BYTES], const char *hex)
{
    CHECK_INT(strlen(hex), 2 * KEY_BYTES);
    for (size_t i = 0; i < KEY_BYTES; i++) {
        char byte[3] = {hex[2 * i], hex[2 * i + 1], 0};

        out[i] = (unsigned char)strtol(byte, NULL, 16);
    }
}

/* RFC 6979, A.2.5: ECDSA, 256 bits (prime field), with SHA-256. */
static void test_rfc_6979(void)
{
    static const struct {
        const char *message, *r, *s;
    } cases[] = {
        {"sample", "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
         "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"},
        {"test", "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
         "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"},
    };
    unsigned char scalar[KEY_BYTES], r[KEY_BYTES], s[KEY_BYTES], want[KEY_BYTES];

    from_hex(scalar, "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        key_sign(r, s, scalar, cases[i].message, strlen(cases[i].message));
        from_hex(want, cases[i].r);
        CHECK_BYTES(r, want, KEY_BYTES);
        from_hex(want, cases[i].s);
        CHECK_BYTES(s, want, KEY_BYTES);
    }
}

/* From Python: hmac.digest over RFC 5869's extract and expand. */
static void test_scalar(void)
{
    unsigned char got[KEY_BYTES], want[KEY_BYTES];

    key_scalar(got, test_config.master_key, TEST_UID);
    from_hex(want, "7be1f422bdf71ca6b88d3e46359a6d2f72af82eacb68bc73deb94d2c5e7a2473");
    CHECK_BYTES(got, want, KEY_BYTES);
    key_scalar(got, test_config.master_key, "another");
    CHECK(memcmp(got, want, KEY_BYTES) != 0);
    key_scalar(got, (const unsigned char *)"0123456789abcdef0123456789ABCDEf", TEST_UID);
    CHECK(memcmp(got, want, KEY_BYTES) != 0);
}

static void check_certificate(const char *text, EVP_PKEY *key)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);

    CHECK(cert);
    if (cert) {
        CHECK_INT(X509_verify(cert, key), 1);
        CHECK_INT(X509_check_private_key(cert, key), 1);
        CHECK_INT(X509_get_version(cert), X509_VERSION_3);
        CHECK_INT(X509_cmp_time(X509_get0_notBefore(cert), NULL), -1);
        CHECK_INT(X509_cmp_time(X509_get0_notAfter(cert), NULL), 1);
        CHECK(X509_NAME_cmp(X509_get_subject_name(cert), X509_get_issuer_name(cert)) == 0);
        CHECK_INT(X509_check_ca(cert), 0);
    }
    X509_free(cert);
    BIO_free(bio);
}

static void test_pem(void)
{
    unsigned char scalar[KEY_BYTES];
    char uid[32];

    for (int i = 0; i < 50; i++) { /* DER's lengths vary with the leading zeros of r and s */
        AUTO(buf_release) struct buf key_text, cert_text;
        BIO *bio;
        EVP_PKEY *key;

        buf_init(&key_text, 0);
        buf_init(&cert_text, 0);
        snprintf(uid, sizeof uid, "uid-%d", i);
        key_scalar(scalar, test_config.master_key, uid);
        key_pem(scalar, &key_text, &cert_text);
        bio = BIO_new_mem_buf(key_text.data, -1);
        key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
        CHECK(key && EVP_PKEY_is_a(key, "EC"));
        CHECK_CONTAINS(key_text.data, "-----BEGIN PRIVATE KEY-----");
        if (key)
            check_certificate(cert_text.data, key);
        EVP_PKEY_free(key);
        BIO_free(bio);
    }
}

/* The Secret is made again with the same bytes, and holds what key_pem makes. */
static void test_secret(void)
{
    AUTO(buf_release) struct buf first, again;
    struct err err;
    struct tj tj;

    test_tj_load(&tj, "tests/objects/builtin.yaml");
    buf_init(&first, 0);
    buf_init(&again, 0);
    CHECK_INT(owned_body(&test_config, &tj, OWNED_SECRET, &first, &err), 0);
    CHECK_INT(owned_body(&test_config, &tj, OWNED_SECRET, &again, &err), 0);
    CHECK_STR(first.data, again.data);
    CHECK_CONTAINS(first.data, "\"type\":\"kubernetes.io/tls\"");
    CHECK_CONTAINS(first.data, "\"immutable\":true");
    test_tj_release(&tj);
}

int main(void)
{
    test_rfc_6979();
    test_scalar();
    test_pem();
    test_secret();
    return test_result();
}
