/* A digest of bytes that tells whether two copies are equal: against accidents, not attacks. */
#ifndef PACELINE_DIGEST_H
#define PACELINE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The same on every machine of one byte order. */
uint64_t digest_bytes(const void *bytes, size_t n);

/* The same of bytes that come in pieces: n of them in all. */
struct digest {
    uint64_t h, word;
    size_t filled; /* bytes of word */
};
struct digest digest_begin(size_t n);
void digest_add(struct digest *d, const void *bytes, size_t n);
uint64_t digest_end(const struct digest *d);

#endif
