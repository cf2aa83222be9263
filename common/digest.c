#include "paceline/digest.h"

#include <string.h>

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

struct digest digest_begin(size_t n) { return (struct digest){.h = mix(0x9E3779B97F4A7C15u, n)}; }

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    while (n) {
        const size_t room = sizeof d->word - d->filled, more = n < room ? n : room;

        if (more == sizeof d->word) /* a length that the compiler knows */
            memcpy(&d->word, p, sizeof d->word);
        else
            memcpy((unsigned char *)&d->word + d->filled, p, more);
        d->filled += more;
        p += more;
        n -= more;
        if (d->filled < sizeof d->word)
            return;
        d->h = mix(d->h, d->word);
        d->word = d->filled = 0;
    }
}

/* The rest, filled up with zeros, or a word of zeros. */
uint64_t digest_end(const struct digest *d) { return mix(d->h, d->word); }

uint64_t digest_bytes(const void *bytes, size_t n)
{
    struct digest d = digest_begin(n);

    digest_add(&d, bytes, n);
    return digest_end(&d);
}
