/* A digest of bytes that tells whether two copies are equal: against accidents, not attacks. */
#ifndef PACELINE_DIGEST_H
#define PACELINE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The same on every machine of one byte order. */
uint64_t digest_bytes(const void *bytes, size_t n);

#endif
