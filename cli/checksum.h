/* SHA-256 (FIPS 180-4) and MD5 (RFC 1321), which some publishers give instead. */
#ifndef PACELINE_CLI_CHECKSUM_H
#define PACELINE_CLI_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

enum checksum_kind { CHECKSUM_SHA256, CHECKSUM_MD5 };

/* Of bytes that come in pieces. */
struct checksum {
    enum checksum_kind kind;
    uint32_t state[8];
    uint64_t n; /* bytes so far */
    uint8_t block[64];
};

struct checksum_text {
    char s[65]; /* hex digits, small letters */
};

void checksum_begin(struct checksum *c, enum checksum_kind kind);
void checksum_add(struct checksum *c, const void *bytes, size_t n);
struct checksum_text checksum_end(struct checksum *c);

/* Of a file. Fails (ERR_NOT_FOUND, ERR_IO) when it cannot be read. */
MUST_CHECK int checksum_file(struct checksum_text *out, enum checksum_kind kind, const char *path,
                             struct err *err);

#endif
