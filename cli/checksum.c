#include "cli/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "paceline/mem.h"

#define LENGTH_AT 56 /* in the last block */

static uint32_t left(uint32_t x, int n) { return x << n | x >> (32 - n); }
static uint32_t right(uint32_t x, int n) { return left(x, 32 - n); }

/* The fractions of the first 64 primes' cube roots. */
static const uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha256_block(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], s[8];

    for (int i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | block[1] << 16 | block[2] << 8 | block[3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (right(a, 7) ^ right(a, 18) ^ a >> 3) + w[i - 7] +
               (right(b, 17) ^ right(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t a = s[0], e = s[4];
        uint32_t t1 = s[7] + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) +
                      ((e & s[5]) ^ (~e & s[6])) + sha256_k[i] + w[i];
        uint32_t t2 =
            (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

/* The sines of 1 to 64. */
static const uint32_t md5_k[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static void md5_block(uint32_t state[8], const uint8_t block[64])
{
    static const int turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t w[16], a = state[0], b = state[1], c = state[2], d = state[3];

    for (int i = 0; i < 16; i++, block += 4)
        w[i] = block[0] | block[1] << 8 | block[2] << 16 | (uint32_t)block[3] << 24;
    for (int i = 0; i < 64; i++) {
        const uint32_t f[4] = {(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)};
        const int word[4] = {i, 5 * i + 1, 3 * i + 5, 7 * i};
        uint32_t sum = a + f[i / 16] + md5_k[i] + w[word[i / 16] % 16];

        a = d;
        d = c;
        c = b;
        b += left(sum, turns[i / 16][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static const struct kind {
    uint32_t start[8];
    void (*block)(uint32_t state[8], const uint8_t block[64]);
    int words;
    bool big_endian; /* words, and the length at the end */
} kinds[] = {
    [CHECKSUM_SHA256] = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                          0x1f83d9ab, 0x5be0cd19},
                         sha256_block,
                         8,
                         true},
    [CHECKSUM_MD5] = {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, md5_block, 4, false},
};

void checksum_begin(struct checksum *c, enum checksum_kind kind)
{
    *c = (struct checksum){.kind = kind};
    memcpy(c->state, kinds[kind].start, sizeof c->state);
}

void checksum_add(struct checksum *c, const void *bytes, size_t n)
{
    const uint8_t *b = bytes;

    while (n) {
        size_t at = c->n % sizeof c->block, part = sizeof c->block - at;

        part = n < part ? n : part;
        memcpy(c->block + at, b, part);
        c->n += part;
        b += part;
        n -= part;
        if (at + part == sizeof c->block)
            kinds[c->kind].block(c->state, c->block);
    }
}

/* The i-th byte of a word's four, or of a length's eight. */
static uint8_t byte_of(uint64_t word, int i, int n, bool big_endian)
{
    return (uint8_t)(word >> 8 * (big_endian ? n - 1 - i : i));
}

struct checksum_text checksum_end(struct checksum *c)
{
    static const uint8_t padding[64] = {0x80};
    const struct kind *kind = &kinds[c->kind];
    uint64_t bits = 8 * c->n;
    size_t at = c->n % 64;
    struct checksum_text text = {{0}};
    uint8_t length[8];

    checksum_add(c, padding, at < LENGTH_AT ? LENGTH_AT - at : 64 + LENGTH_AT - at);
    for (int i = 0; i < 8; i++)
        length[i] = byte_of(bits, i, 8, kind->big_endian);
    checksum_add(c, length, sizeof length);
    for (int i = 0; i < 4 * kind->words; i++)
        snprintf(text.s + 2 * (size_t)i, 3, "%02x",
                 byte_of(c->state[i / 4], i % 4, 4, kind->big_endian));
    return text;
}

int checksum_file(struct checksum_text *out, enum checksum_kind kind, const char *path,
                  struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct checksum c;
    uint8_t chunk[65536];
    ssize_t n;

    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(errno));
    checksum_begin(&c, kind);
    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        checksum_add(&c, chunk, (size_t)n);
    }
    *out = checksum_end(&c);
    return 0;
}
