/* libcrypto's checksums, loaded when a command needs them (library.h). */
#ifndef PACELINE_CLI_LIBCRYPTO_H
#define PACELINE_CLI_LIBCRYPTO_H

#include <openssl/evp.h>

#include "paceline/err.h"

/* Its functions under their own names without "EVP_". */
struct libcrypto {
    __typeof__(&EVP_MD_CTX_new) md_ctx_new;
    __typeof__(&EVP_MD_CTX_free) md_ctx_free;
    __typeof__(&EVP_get_digestbyname) get_digestbyname;
    __typeof__(&EVP_DigestInit_ex) digest_init;
    __typeof__(&EVP_DigestUpdate) digest_update;
    __typeof__(&EVP_DigestFinal_ex) digest_final;
};

/* As library_load. */
MUST_CHECK int libcrypto_load(struct libcrypto *c, struct err *err);

#endif
