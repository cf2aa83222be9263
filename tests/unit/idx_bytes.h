/* IDX files made in memory, plain and gzip. */
#ifndef PACELINE_TEST_IDX_BYTES_H
#define PACELINE_TEST_IDX_BYTES_H

#include <libdeflate.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "paceline/mem.h"

struct idx_bytes {
    uint8_t *data; /* malloc'ed */
    size_t len;
};

/* Header of n_dims sizes and len bytes of payload (as many as the caller says, right or wrong). */
static inline struct idx_bytes idx_bytes(const uint8_t *payload, size_t len, int n_dims, ...)
{
    size_t header = 4 + 4 * (size_t)n_dims;
    struct idx_bytes b = {xcalloc(1, header + len), header + len};
    va_list dims;

    b.data[2] = 8;
    b.data[3] = (uint8_t)n_dims;
    va_start(dims, n_dims);
    for (int d = 0; d < n_dims; d++) {
        uint32_t size = va_arg(dims, uint32_t);
        for (int i = 0; i < 4; i++)
            b.data[4 + 4 * d + i] = (uint8_t)(size >> (24 - 8 * i));
    }
    va_end(dims);
    if (len)
        memcpy(b.data + header, payload, len);
    return b;
}

/* The gzip form; frees what it was given. */
static inline struct idx_bytes idx_gzip(struct idx_bytes plain)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    size_t room = libdeflate_gzip_compress_bound(c, plain.len);
    struct idx_bytes b = {xmalloc(room), 0};

    b.len = libdeflate_gzip_compress(c, plain.data, plain.len, b.data, room);
    libdeflate_free_compressor(c);
    free(plain.data);
    return b;
}

#endif
