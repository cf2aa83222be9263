/*
 * IDX: a big-endian magic number (0, 0, type, number of dimensions), one 32-bit size per
 * dimension, then the values. Only unsigned bytes (type 8) are read; the file may be gzip'ed.
 * Nothing is allocated here, and a file is never inflated beyond what its header allows.
 */
#ifndef PACELINE_IDX_H
#define PACELINE_IDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

#define IDX_MAX_DIMS 4

struct idx_file {
    const char *name; /* for messages; the caller's */
    const uint8_t *bytes;
    size_t len;
    bool gzip;
    int n_dims;
    uint32_t dims[IDX_MAX_DIMS];
    size_t header, payload; /* bytes of the file when inflated: header, then payload */
};

/*
 * Reads the header and checks it against the length of the file; bytes and name must outlive f.
 * ERR_DAMAGED: not the wanted number of dimensions, not unsigned bytes, an empty or oversized
 * dimension, a file that is cut short or has trailing bytes.
 */
MUST_CHECK int idx_open(struct idx_file *f, const uint8_t *bytes, size_t len, const char *name,
                        int want_dims, struct err *err);

/* Writes header and payload, f->header + f->payload bytes, to out. ERR_DAMAGED: damaged gzip. */
MUST_CHECK int idx_unpack(const struct idx_file *f, uint8_t *out, struct err *err);

#endif
