// LINK: cli/data/checksum.c cli/data/libcrypto.c cli/data/library.c common/err.c common/text.c
// LINK: common/mem.c
/* Checksums against the examples of their standards, and of files against coreutils. */
#include <stdlib.h>

#include "cli/data/checksum.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

static struct checksum_text of(enum checksum_kind kind, const char *text, size_t n, size_t piece)
{
    AUTO(checksum_release) struct checksum c = {0};
    struct err err = {.msg = ""};

    if (checksum_begin(&c, kind, &err) < 0) {
        CHECK_STR(err.msg, "");
        return (struct checksum_text){""};
    }
    for (size_t at = 0; at < n; at += piece)
        checksum_add(&c, text + at, n - at < piece ? n - at : piece);
    return checksum_end(&c);
}

/* FIPS 180-2, appendix B; RFC 1321, A.5. */
static void test_standards(void)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    CHECK_STR(of(CHECKSUM_SHA256, "abc", 3, 3).s,
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_STR(of(CHECKSUM_SHA256, two_blocks, 56, 56).s,
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK_STR(of(CHECKSUM_MD5, "", 0, 1).s, "d41d8cd98f00b204e9800998ecf8427e");
    CHECK_STR(of(CHECKSUM_MD5, "message digest", 14, 14).s, "f96b697d7cb7938d525a2f31aaf161d0");
}

static void read_sum(const char *program, const char *path, char sum[65])
{
    AUTO(auto_free) char *command = xasprintf("%s < %s", program, path);
    FILE *f = popen(command, "r");

    memset(sum, 0, 65);
    CHECK(f && fscanf(f, "%64[0-9a-f]", sum) == 1);
    CHECK(f && pclose(f) == 0);
}

/* Every length around a block's end, in pieces of every kind. */
static void test_lengths(void)
{
    static const char *const programs[] = {"sha256sum", "md5sum"};
    static const size_t lengths[] = {0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 200000};
    char *folder = scratch_make();
    AUTO(auto_free) char *path = xasprintf("%s/file", folder);
    AUTO(auto_free) char *text = xmalloc(200000);
    struct checksum_text file;
    struct err err = {0};

    for (size_t i = 0; i < 200000; i++)
        text[i] = (char)(i * i + i / 251);
    for (size_t k = 0; k < ARRAY_LEN(lengths); k++)
        for (int kind = 0; kind < 2; kind++) {
            char want[65];

            scratch_write(folder, "file", text, lengths[k]);
            read_sum(programs[kind], path, want);
            CHECK(checksum_file(&file, (enum checksum_kind)kind, path, &err) == 0);
            CHECK_STR(file.s, want);
            CHECK_STR(of((enum checksum_kind)kind, text, lengths[k], 7).s, want);
        }
    scratch_remove(folder);
    CHECK(checksum_file(&file, CHECKSUM_MD5, "/nowhere/file", &err) < 0);
    CHECK_INT(err.code, ERR_NOT_FOUND);
}

int main(void)
{
    test_standards();
    test_lengths();
    return test_result();
}
