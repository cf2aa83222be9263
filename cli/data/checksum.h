/* SHA-256, and MD5, which some publishers give instead. */
#ifndef PACELINE_CLI_CHECKSUM_H
#define PACELINE_CLI_CHECKSUM_H

#include <stddef.h>

#include "cli/data/libcrypto.h"
#include "paceline/err.h"

enum checksum_kind { CHECKSUM_SHA256, CHECKSUM_MD5 };

/* Of bytes that come in pieces. */
struct checksum {
    struct libcrypto crypto;
    EVP_MD_CTX *context;
};

struct checksum_text {
    char s[65]; /* hex digits, small letters */
};

/* ERR_NOT_FOUND: libcrypto is not on this machine, or has no such sum. */
MUST_CHECK int checksum_begin(struct checksum *c, enum checksum_kind kind, struct err *err);
void checksum_add(struct checksum *c, const void *bytes, size_t n);
struct checksum_text checksum_end(const struct checksum *c);
void checksum_release(struct checksum *c); /* also fit for AUTO, and of an all-zero struct */

/* Of a file. Fails (ERR_NOT_FOUND, ERR_IO) when it cannot be read, or as checksum_begin. */
MUST_CHECK int checksum_file(struct checksum_text *out, enum checksum_kind kind, const char *path,
                             struct err *err);

#endif
