// LINK: common/err.c common/text.c common/mem.c worker/data/format/idx.c
#include "tests/test.h"
#include "tests/unit/idx_bytes.h"
#include "worker/data/format/idx.h"

static uint8_t payload[60000];

static void fill_payload(void)
{
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 7 + i / 251);
}

static void check_reads(struct idx_bytes file, int n_dims, size_t len)
{
    struct idx_file f;
    struct err err = {0};

    CHECK_INT(idx_open(&f, file.data, file.len, "images", n_dims, &err), 0);
    CHECK_INT(f.payload, len);
    uint8_t *out = xmalloc(f.header + f.payload);
    CHECK_INT(idx_unpack(&f, out, &err), 0);
    CHECK_BYTES(out + f.header, payload, len);
    CHECK_INT(err.code, ERR_NONE);
    free(out);
    free(file.data);
}

static void reads_plain_and_gzip(void)
{
    check_reads(idx_bytes(payload, 60000, 3, 100u, 20u, 30u), 3, 60000);
    check_reads(idx_gzip(idx_bytes(payload, 60000, 3, 100u, 20u, 30u)), 3, 60000);
    check_reads(idx_bytes(payload, 1, 1, 1u), 1, 1);
    check_reads(idx_gzip(idx_bytes(payload, 77, 1, 77u)), 1, 77);
}

/* Opening or unpacking fails with the sentence; the bytes are freed. */
static void check_refused(struct idx_bytes file, int n_dims, const char *sentence)
{
    struct idx_file f;
    struct err err = {0};
    int rc = idx_open(&f, file.data, file.len, "images", n_dims, &err);

    if (!rc) {
        uint8_t *out = xmalloc(f.header + f.payload);
        rc = idx_unpack(&f, out, &err);
        free(out);
    }
    CHECK_INT(rc, -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_STR(err.msg, sentence);
    free(file.data);
}

static struct idx_bytes changed(struct idx_bytes b, size_t at, int flip)
{
    b.data[at] ^= (uint8_t)flip;
    return b;
}

static struct idx_bytes resized(struct idx_bytes b, size_t len)
{
    b.data = xrealloc(b.data, len ? len : 1);
    if (len > b.len)
        memset(b.data + b.len, 0, len - b.len);
    b.len = len;
    return b;
}

static void refuses_bad_plain(void)
{
    check_refused(idx_bytes(payload, 10, 1, 10u), 3,
                  "images: magic number 0x00000801; 0x00000803 (unsigned bytes, 3 dimensions) is "
                  "needed");
    check_refused(changed(idx_bytes(payload, 10, 1, 10u), 2, 8 ^ 13), 1,
                  "images: magic number 0x00000d01; 0x00000801 (unsigned bytes, 1 dimension) is "
                  "needed");
    check_refused(resized(idx_bytes(payload, 0, 3, 1u, 1u, 1u), 0), 3,
                  "images: 0 bytes; an IDX file starts with 16 bytes of header");
    check_refused(resized(idx_bytes(payload, 0, 3, 1u, 1u, 1u), 15), 3,
                  "images: 15 bytes; an IDX file starts with 16 bytes of header");
    check_refused(idx_bytes(payload, 0, 3, 1u, 0u, 1u), 3,
                  "images: dimension 2 is 0; 1 to 65535 are allowed");
    check_refused(idx_bytes(payload, 0, 1, 0u), 1,
                  "images: dimension 1 is 0; 1 to 4294967295 are allowed");
    check_refused(idx_bytes(payload, 0, 3, 1u, 1u, 65536u), 3,
                  "images: dimension 3 is 65536; 1 to 65535 are allowed");
    check_refused(idx_bytes(payload, 9, 3, 65536u, 256u, 256u), 3,
                  "images: the dimensions need 4294967296 bytes or more; less than 4 GiB are "
                  "allowed");
    check_refused(idx_bytes(payload, 99, 2, 10u, 10u), 2,
                  "images: cut short: 99 bytes after the header, whose dimensions need 100");
    check_refused(idx_bytes(payload, 101, 2, 10u, 10u), 2,
                  "images: trailing bytes: 101 bytes after the header, whose dimensions need 100");
}

static void refuses_bad_gzip(void)
{
    struct idx_bytes good = idx_gzip(idx_bytes(payload, 60000, 1, 60000u));
    size_t len = good.len;
    char sentence[200];

    check_refused(changed(good, len / 2, 255), 1,
                  "images: the compressed data is damaged; it must inflate to 60008 bytes with the "
                  "right checksum");
    check_refused(changed(idx_gzip(idx_bytes(payload, 60000, 1, 60000u)), len - 8, 1), 1,
                  "images: the compressed data is damaged; it must inflate to 60008 bytes with the "
                  "right checksum");
    check_refused(changed(idx_gzip(idx_bytes(payload, 60000, 1, 60000u)), len - 4, 1), 1,
                  "images: the gzip trailer says 60009 bytes, the dimensions need 60008: the file "
                  "is cut short, damaged or has trailing bytes");
    check_refused(idx_gzip(idx_bytes(payload, 59999, 1, 60000u)), 1,
                  "images: the gzip trailer says 60007 bytes, the dimensions need 60008: the file "
                  "is cut short, damaged or has trailing bytes");
    check_refused(idx_gzip(resized(idx_bytes(payload, 10, 1, 10u), 6)), 1,
                  "images: 6 uncompressed bytes; an IDX file starts with 8 bytes of header");

    /* A second end that repeats the right size hides behind the first. */
    struct idx_bytes twice = idx_gzip(idx_bytes(payload, 60000, 1, 60000u));
    uint8_t size[4];
    memcpy(size, twice.data + twice.len - 4, 4);
    twice = resized(twice, twice.len + 8);
    memcpy(twice.data + twice.len - 4, size, 4);
    check_refused(twice, 1, "images: 8 trailing bytes after the compressed data");

    /* A bomb: 3 GB promised by header and trailer. */
    struct idx_bytes bomb = idx_gzip(idx_bytes(payload, 100, 1, 3000000000u));
    uint32_t need = 3000000008u;
    for (int i = 0; i < 4; i++)
        bomb.data[bomb.len - 4 + (size_t)i] = (uint8_t)(need >> 8 * i);
    snprintf(sentence, sizeof sentence,
             "images: %zu compressed bytes; they cannot hold the 3000000008 bytes of the "
             "dimensions",
             bomb.len);
    check_refused(bomb, 1, sentence);
}

/* Cut at any length and flipped at any bit, a file is refused and nothing is read beyond it. */
static void refuses_every_cut(void)
{
    for (int zip = 0; zip < 2; zip++) {
        struct idx_bytes whole = idx_bytes(payload, 300, 1, 300u);
        if (zip)
            whole = idx_gzip(whole);
        for (size_t len = 0; len < whole.len; len++) {
            struct idx_bytes cut = {xmalloc(len ? len : 1), len};
            struct idx_file f;
            struct err err;
            uint8_t out[308];
            memcpy(cut.data, whole.data, len);
            CHECK(idx_open(&f, cut.data, len, "x", 1, &err) || f.payload > 300 ||
                  idx_unpack(&f, out, &err));
            free(cut.data);
        }
        free(whole.data);
    }
}

int main(void)
{
    fill_payload();
    reads_plain_and_gzip();
    refuses_bad_plain();
    refuses_bad_gzip();
    refuses_every_cut();
    return test_result();
}
