#include "worker/data/format/idx.h"

#define ZLIB_CONST /* zlib does not write to its input */

#include <libdeflate.h>
#include <limits.h>
#include <zlib.h>

#define IDX_UNSIGNED_BYTES 8u
#define IDX_MAX_SIDE 65535u
#define GZIP_MIN_BYTES 18
#define GZIP_WITH_HEADER (15 + 16) /* zlib: the largest window, gzip format */
#define DEFLATE_MAX_RATIO 1032     /* no deflate stream inflates to more */

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t idx_little_endian(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* The first n bytes of a gzip file's contents; how many there were. */
static size_t gzip_peek(const uint8_t *bytes, size_t len, uint8_t *out, size_t n)
{
    z_stream z = {.next_in = bytes,
                  .avail_in = len > UINT_MAX ? UINT_MAX : (uInt)len,
                  .next_out = out,
                  .avail_out = (uInt)n};

    if (inflateInit2(&z, GZIP_WITH_HEADER) != Z_OK)
        return 0;
    inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return n - z.avail_out;
}

static int check_magic(const struct idx_file *f, uint32_t magic, int want_dims, struct err *err)
{
    uint32_t want = IDX_UNSIGNED_BYTES << 8 | (uint32_t)want_dims;

    if (magic == want)
        return 0;
    return err_set(err, ERR_DAMAGED,
                   "%s: magic number 0x%08x; 0x%08x (unsigned bytes, %d dimension%s) is needed",
                   f->name, magic, want, want_dims, want_dims == 1 ? "" : "s");
}

/* Fills the dimensions and sizes; the product of the dimensions stays below 4 GiB. */
static int read_dims(struct idx_file *f, const uint8_t *head, struct err *err)
{
    uint64_t payload = 1;

    for (int i = 0; i < f->n_dims; i++) {
        uint32_t dim = big_endian(head + 4 + 4 * i), max = i ? IDX_MAX_SIDE : UINT32_MAX;
        if (dim < 1 || dim > max)
            return err_set(err, ERR_DAMAGED, "%s: dimension %d is %u; 1 to %u are allowed", f->name,
                           i + 1, dim, max);
        f->dims[i] = dim;
        payload *= dim; /* below 2^32 before, so below 2^64 now */
        if (payload > UINT32_MAX - f->header)
            return err_set(err, ERR_DAMAGED,
                           "%s: the dimensions need %llu bytes or more; less "
                           "than 4 GiB are allowed",
                           f->name, (unsigned long long)payload);
    }
    f->payload = (size_t)payload;
    return 0;
}

static int check_plain_length(const struct idx_file *f, struct err *err)
{
    size_t found = f->len - f->header;

    if (found == f->payload)
        return 0;
    return err_set(err, ERR_DAMAGED,
                   "%s: %s: %zu bytes after the header, whose dimensions need %zu", f->name,
                   found < f->payload ? "cut short" : "trailing bytes", found, f->payload);
}

static int check_gzip_length(const struct idx_file *f, struct err *err)
{
    size_t need = f->header + f->payload;
    uint32_t announced = idx_little_endian(f->bytes + f->len - 4);

    if (announced != need)
        return err_set(err, ERR_DAMAGED,
                       "%s: the gzip trailer says %u bytes, the dimensions need %zu: the file is "
                       "cut short, damaged or has trailing bytes",
                       f->name, announced, need);
    if (need / DEFLATE_MAX_RATIO > f->len)
        return err_set(err, ERR_DAMAGED,
                       "%s: %zu compressed bytes; they cannot hold the %zu bytes of the dimensions",
                       f->name, f->len, need);
    return 0;
}

int idx_open(struct idx_file *f, const uint8_t *bytes, size_t len, const char *name, int want_dims,
             struct err *err)
{
    uint8_t plain[4 + 4 * IDX_MAX_DIMS];
    const uint8_t *head = bytes;
    size_t found = len;

    *f = (struct idx_file){.name = name, .bytes = bytes, .len = len, .n_dims = want_dims};
    f->header = 4 + 4 * (size_t)want_dims;
    f->gzip = len >= GZIP_MIN_BYTES && bytes[0] == 0x1f && bytes[1] == 0x8b;
    if (f->gzip) {
        head = plain;
        found = gzip_peek(bytes, len, plain, f->header);
    }
    if (found >= 4 && check_magic(f, big_endian(head), want_dims, err))
        return -1;
    if (found < f->header)
        return err_set(err, ERR_DAMAGED,
                       "%s: %zu%s bytes; an IDX file starts with %zu bytes of "
                       "header",
                       name, found, f->gzip ? " uncompressed" : "", f->header);
    if (read_dims(f, head, err))
        return -1;
    return f->gzip ? check_gzip_length(f, err) : check_plain_length(f, err);
}

int idx_unpack(const struct idx_file *f, uint8_t *out, struct err *err)
{
    size_t need = f->header + f->payload, used = 0;
    struct libdeflate_decompressor *inflater;
    enum libdeflate_result result;

    if (!f->gzip) {
        memcpy(out, f->bytes, need);
        return 0;
    }
    inflater = libdeflate_alloc_decompressor();
    if (!inflater)
        return err_set(err, ERR_IO, "%s: no memory to inflate it", f->name);
    result = libdeflate_gzip_decompress_ex(inflater, f->bytes, f->len, out, need, &used, NULL);
    libdeflate_free_decompressor(inflater);
    if (result != LIBDEFLATE_SUCCESS)
        return err_set(err, ERR_DAMAGED,
                       "%s: the compressed data is damaged; it must inflate to %zu bytes with the "
                       "right checksum",
                       f->name, need);
    if (used != f->len)
        return err_set(err, ERR_DAMAGED, "%s: %zu trailing bytes after the compressed data",
                       f->name, f->len - used);
    return 0;
}
