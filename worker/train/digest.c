#include "worker/train/digest.h"

#include <string.h>

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

uint64_t digest_bytes(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = mix(0x9E3779B97F4A7C15u, n), word;

    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        h = mix(h, word);
    }
    word = 0;
    if (n)
        memcpy(&word, p, n);
    return mix(h, word);
}
