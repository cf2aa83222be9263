#include "operator/objects/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#define SALT "paceline.dev/job-key/v2"
#define NAME_SALT "paceline.dev/job-key-name/v2"

static void hkdf(unsigned char out[KEY_BYTES], const unsigned char master[KEY_BYTES],
                 const char *salt, const char *info)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char[]){"SHA256"}, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)master, KEY_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (char *)salt, strlen(salt)),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (char *)info, strlen(info)),
        OSSL_PARAM_construct_end(),
    };

    /* It fails without memory only, or when libcrypto is not the one we were built for. */
    if (!ctx || EVP_KDF_derive(ctx, out, KEY_BYTES, params) != 1)
        abort();
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
}

void key_derive(unsigned char out[KEY_BYTES], const unsigned char master[KEY_BYTES],
                const char *uid)
{
    hkdf(out, master, SALT, uid);
}

void key_digits(char out[KEY_DIGITS_SIZE], const unsigned char master[KEY_BYTES], const char *uid)
{
    unsigned char bytes[KEY_BYTES];

    hkdf(bytes, master, NAME_SALT, uid);
    snprintf(out, KEY_DIGITS_SIZE, "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
}
