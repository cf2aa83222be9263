// LINK: common/digest.c
// A digest tells apart what differs in one bit, in order, or in length.
#include "paceline/digest.h"

#include "tests/test.h"

int main(void)
{
    unsigned char bytes[41] = {0}, copy[42];

    for (size_t n = 0; n <= sizeof bytes; n++) {
        uint64_t want = digest_bytes(bytes, n);

        memcpy(copy + 1, bytes, n);
        CHECK(digest_bytes(copy + 1, n) == want); /* wherever it lies */
        for (size_t piece = 1; piece < 20; piece++) {
            struct digest d = digest_begin(n);

            for (size_t at = 0; at < n; at += piece)
                digest_add(&d, bytes + at, n - at < piece ? n - at : piece);
            CHECK(digest_end(&d) == want);
        }
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            CHECK(digest_bytes(bytes, n) != want);
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        CHECK(n == sizeof bytes || digest_bytes(bytes, n + 1) != want); /* one more zero */
    }
    for (unsigned char i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    memcpy(copy, bytes + 8, 8);
    memcpy(copy + 8, bytes, 8);
    CHECK(digest_bytes(copy, 16) != digest_bytes(bytes, 16));
    /* It is stored in files: this value is of the same formula in Python. */
    CHECK(digest_bytes(bytes, 41) == 0xc07000fd6d43d8e9u);
    return test_result();
}
