#include "cli/data/libcrypto.h"

#include "cli/data/library.h"
#include "paceline/mem.h"

#define TEXT_OF(number) #number
#define LIBRARY_OF(version) "libcrypto.so." TEXT_OF(version)
#define LIBRARY LIBRARY_OF(OPENSSL_SHLIB_VERSION) /* what the headers are of */

int libcrypto_load(struct libcrypto *c, struct err *err)
{
    const struct library_function functions[] = {
        {"EVP_MD_CTX_new", &c->md_ctx_new},
        {"EVP_MD_CTX_free", &c->md_ctx_free},
        {"EVP_get_digestbyname", &c->get_digestbyname},
        {"EVP_DigestInit_ex", &c->digest_init},
        {"EVP_DigestUpdate", &c->digest_update},
        {"EVP_DigestFinal_ex", &c->digest_final},
    };

    return library_load(LIBRARY, "libssl3", functions, ARRAY_LEN(functions), err);
}
